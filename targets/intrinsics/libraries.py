"""Intrinsics as library functions: C's libm on CPUs, CUDA's libdevice on NVIDIA GPUs, GLSL's extended instructions in SPIR-V."""
from typing import Any

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, llvm, math
from legato.dialects import tir
from legato.dialects.tir.markers import WEIGHS
from legato.targets.intrinsics import inverse
from legato.targets.intrinsics.builder import Builder
from legato.targets.intrinsics.generic import polynomial
from legato.targets.intrinsics.lanes import Lanes
from legato.targets.intrinsics.trigonometry import unfused_sine
from legato.targets.rule import Rule, intrinsic, make_rules

# op: C function for f64; for f32 with the suffix "f"
C_FUNCTIONS = {
    "math.acos": "acos", "math.acosh": "acosh", "math.asin": "asin", "math.asinh": "asinh", "math.atan": "atan", "math.atan2": "atan2",
    "math.atanh": "atanh", "math.cbrt": "cbrt", "math.cos": "cos", "math.cosh": "cosh", "math.erf": "erf", "math.erfc": "erfc",
    "math.exp": "exp", "math.exp2": "exp2", "math.expm1": "expm1", "math.log": "log", "math.log10": "log10", "math.log1p": "log1p",
    "math.log2": "log2", "math.powf": "pow", "math.sin": "sin", "math.sinh": "sinh", "math.tan": "tan", "math.tanh": "tanh",
    "arith.remf": "fmod", "tir.hypot": "hypot", "tir.fdim": "fdim", "tir.remainder": "remainder",
    "tir.ldexp": "ldexp", "tir.logb": "logb", "tir.tgamma": "tgamma", "tir.lgamma": "lgamma",
}
FLOATS = ("f32", "f64")


def library_call(prefix: str, name: str) -> Any:
    """The function of a rule that calls ``<prefix><name>[f]`` for each element."""
    def call(op: Any, *operands: ir.Value) -> ir.Value:
        symbol = prefix + name + ("f" if op.dtype == "f32" else "")

        def one(*scalars: ir.Value) -> ir.Value:
            return tir.call_extern(symbol, scalars, [scalars[0].type], pure=True)[0]

        return op.each(one)

    call.__name__ = f"{prefix}{name}"
    return call


def _functions(prefix: str, ops: dict[str, str]) -> tuple[Rule, ...]:
    return tuple(rule for op, name in ops.items()
                 for rule in make_rules((op,), "intrinsic", library_call(prefix, name), moment="lower", dtypes=FLOATS))


# LLVM lowers fmod itself; the exact, short expressions beat a call per lane; glibc's remainder has wrong signs of zeros
_NOT_LIBM = ("arith.remf", "tir.fdim", "tir.ldexp", "tir.logb", "tir.remainder")
_C = _functions("", {op: name for op, name in C_FUNCTIONS.items() if op not in _NOT_LIBM})


@intrinsic("math.cbrt", moment="lower", dtypes=("f64",), priority=1)
def cbrt(op, x):
    """C's cbrt, which errs by 3 ulp, and a step of Newton's method with the cube in two numbers: 0.51 ulp."""
    return op.each(_cube_root)


def _cube_root(x: ir.Value) -> ir.Value:
    e = Lanes.of(x.type)
    small = e.compare("lt", math.absf(x), e.const(2.0 ** -900))  # whose cube would lack bits
    scaled = arith.mulf(x, arith.select(small, e.const(2.0 ** 600), e.const(1)))
    y = tir.call_extern("cbrt", [scaled], [x.type], pure=True)[0]
    square = arith.mulf(y, y)
    over = e.fma(e.fma(y, y, arith.negf(square)), y, e.fma(square, y, arith.negf(scaled)))
    step = arith.divf(over, arith.mulf(square, e.const(-3)))
    better = arith.select(e.compare("lt", math.absf(step), e.const(float("inf"))), arith.addf(y, step), y)  # not of 0, infinity, NaN
    return arith.mulf(better, arith.select(small, e.const(2.0 ** -200), e.const(1)))


LIBM = (cbrt, *_C)
LIBDEVICE = (*_functions("__nv_", C_FUNCTIONS), *_functions("__nv_", {"math.rsqrt": "rsqrt"}))


# Called as intrinsics: upstream's convert-gpu-to-nvvm takes the ops llvm.intr.fabs, ceil, floor, sqrt for illegal, and lowers those of math
# to libdevice, which not every machine has
LLVM_INTRINSICS = {
    "math.fma": "fma", "math.absf": "fabs", "math.ceil": "ceil", "math.copysign": "copysign", "math.floor": "floor",
    "math.roundeven": "roundeven", "math.trunc": "trunc", "arith.maxnumf": "maxnum", "arith.minnumf": "minnum",
}


@intrinsic(*LLVM_INTRINSICS, moment="lower", dtypes=FLOATS, priority=1)
def instruction(op: Any, *operands: ir.Value) -> Any:
    """The device's instruction, by LLVM's intrinsic."""
    return op.each(lambda *scalars: _native(f"llvm.{LLVM_INTRINSICS[op.name]}", *scalars))


@intrinsic("math.absi", moment="lower")
def magnitude(op: Any, x: ir.Value) -> Any:
    """The absolute value, by LLVM's intrinsic; the least integer is unchanged. Upstream's convert-gpu-to-nvvm has none for it."""
    wraps = arith.ConstantOp(ir.IntegerType.get_signless(1), 0).result
    return op.each(lambda x: _native("llvm.abs", x, wraps))


@intrinsic("math.ctlz", "math.cttz", "math.ctpop", moment="lower")
def bits(op: Any, x: ir.Value) -> Any:
    """Counts of bits, by LLVM's intrinsics; of 0, the leading and trailing zeros are all bits."""
    name, given = f"llvm.{op.name.split('.')[1]}", []
    if op.name != "math.ctpop":
        given.append(arith.ConstantOp(ir.IntegerType.get_signless(1), 0).result)
    return op.each(lambda x: _native(name, x, *given))


@intrinsic("math.sqrt", moment="lower", dtypes=FLOATS)
def square_root(op: Any, x: ir.Value) -> Any:
    """The device's instruction, rounded correctly."""
    return op.each(lambda x: _native("llvm.sqrt", x))


def approximate(op: Any) -> Any:
    """A predicate: approximations are enabled on the target."""
    return op.machine.approx or "approximations were not asked for: nvvm{approx=true}"


def _native(symbol: str, *operands: ir.Value) -> ir.Value:
    return ir.Operation.create("llvm.call_intrinsic", [operands[0].type], list(operands), {
        "intrin": ir.StringAttr.get(symbol), "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0])}).results[0]


def _scaled(x: ir.Value, factor: float) -> ir.Value:
    return arith.mulf(x, arith.ConstantOp(x.type, factor).result)


@intrinsic("math.exp", moment="lower", dtypes=("f32",), priority=1, when=approximate)
def ex2_approx(op, x):
    """e^x as 2^(x log2 e) by the device's instruction: 2 ulp, plus the rounding of the product. Denormal numbers take three more
    instructions, which weights are spared."""
    name = "llvm.nvvm.ex2.approx.ftz" if WEIGHS in op.op.attributes else "llvm.nvvm.ex2.approx"
    return op.each(lambda x: _native(name, _scaled(x, 1.4426950408889634)))


def weighs(op: Any) -> Any:
    """A predicate: the value is a weight of a softmax."""
    return WEIGHS in op.op.attributes or "not every power of 2 is a weight"


@intrinsic("math.exp2", moment="lower", dtypes=("f32",), priority=2, when=weighs)
def ex2_of_weights(op, x):
    """2^x by the device's instruction, with relative errors of 2^-22; denormal results are 0."""
    return op.each(lambda x: _native("llvm.nvvm.ex2.approx.ftz", x))


@intrinsic("math.log", moment="lower", dtypes=("f32",), priority=1, when=approximate)
def lg2_approx(op, x):
    """log x as log2 x log 2 by the device's instruction."""
    return op.each(lambda x: _scaled(_native("llvm.nvvm.lg2.approx.f", x), 0.6931471805599453))


NATIVE_NAMES = {  # LLVM overloads the first for several types
    "math.exp2": "llvm.nvvm.ex2.approx", "math.log2": "llvm.nvvm.lg2.approx.f", "math.sin": "llvm.nvvm.sin.approx.f",
    "math.cos": "llvm.nvvm.cos.approx.f", "math.rsqrt": "llvm.nvvm.rsqrt.approx.f", "math.sqrt": "llvm.nvvm.sqrt.approx.f",
}


@intrinsic(*NATIVE_NAMES, moment="lower", dtypes=("f32",), priority=1, when=approximate)
def native_approx(op, x):
    """The device's approximating instruction for the function."""
    return op.each(lambda x: _native(NATIVE_NAMES[op.name], x))


@intrinsic("math.tanh", moment="lower", dtypes=("f32",), priority=1, when=approximate)
def tanh_approx(op, x):
    """The device's instruction, with relative errors of up to 2^-11. The wheel's LLVM has no intrinsic for it."""
    return op.each(lambda x: llvm.inline_asm(x.type, [x], "tanh.approx.f32 $0, $1;", "=f,f"))


NVVM_NATIVE = (*instruction, *bits, magnitude, square_root, ex2_approx, ex2_of_weights, lg2_approx, *native_approx, tanh_approx)

# GLSL.std.450, scalars and vectors of 2, 3, 4, 8 and 16. The other functions are left out: the specification of Vulkan allows errors of
# 2**-11 in Sin and Cos, and Mesa's Asin, Asinh, Tan have errors of 4e-4, wrong signs and infinities
GLSL_EXACT = {
    "math.ceil": "Ceil", "math.absf": "FAbs", "math.floor": "Floor", "math.fma": "Fma", "math.roundeven": "RoundEven", "math.sqrt": "Sqrt",
    "math.trunc": "Trunc",
}
GLSL_CLOSE = {"math.exp": "Exp", "math.rsqrt": "InverseSqrt"}    # not for f64
GLSL_NAMES = GLSL_EXACT | GLSL_CLOSE
GLSL_LENGTHS = (2, 3, 4, 8, 16)


def glsl(op: Any, *operands: ir.Value) -> Any:
    """The extended instruction of GLSL.std.450 for the function."""
    if op.shape is not None and (len(op.shape) != 1 or op.shape[0] not in GLSL_LENGTHS):
        return op.each(lambda *scalars: _glsl(op, scalars))
    return _glsl(op, operands)


def _glsl(op: Any, operands: Any) -> ir.Value:
    return ir.Operation.create(f"spirv.GL.{GLSL_NAMES[op.name]}", [operands[0].type], list(operands)).results[0]


# ops that upstream's math-to-spirv composes of the instructions above; listed so that rules of parents are not applied to them
BY_UPSTREAM = ("math.atan2", "math.copysign", "math.exp2", "math.log10", "math.log2")


@intrinsic("math.powf", dtypes=("f32",))
def power(op: Any, x: ir.Value, y: ir.Value) -> ir.Value:
    """By exp and log, with C's special cases; Vulkan's Pow has none."""
    return inverse.power(Builder(x.type), x, y)


def math_to_spirv(op: Any, *operands: ir.Value) -> Refusal:
    """Refused, so that the op is left to upstream's conversion."""
    return Refusal("upstream's convert-math-to-spirv lowers it")


def unfused_sin(b: Builder, v: ir.Value) -> ir.Value:
    """Sine, by multiply-adds that may be rounded twice."""
    return unfused_sine(b, v, 0)


def unfused_cos(b: Builder, v: ir.Value) -> ir.Value:
    """Cosine, likewise."""
    return unfused_sine(b, v, 1)


GLSL = (
    polynomial("math.sin", unfused_sin),
    polynomial("math.cos", unfused_cos),
    power,
    *(polynomial(f"math.{function.__name__}", function) for function in (
        inverse.tan, inverse.asin, inverse.acos, inverse.atan, inverse.sinh, inverse.cosh, inverse.asinh, inverse.acosh, inverse.atanh)),
    *make_rules(tuple(GLSL_EXACT), "intrinsic", glsl, moment="lower", dtypes=("f16", "f32", "f64")),
    *make_rules(tuple(GLSL_CLOSE), "intrinsic", glsl, moment="lower", dtypes=("f16", "f32")),
    *make_rules(BY_UPSTREAM, "intrinsic", math_to_spirv, moment="lower", dtypes=("f16", "f32")),
)
