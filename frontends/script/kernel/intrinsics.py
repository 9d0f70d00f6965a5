"""The functions of a kernel's script that are values: T.exp, T.max, T.cast, T.if_then_else is a statement of its own."""

from collections.abc import Callable
from typing import Any

from legato.core.mlir import arith, math
from legato.dialects.tir.intrinsics import build as tir_intrinsic
from legato.frontends.script.kernel import values
from legato.frontends.script.kernel.values import FLOATS, Scalar, as_scalar, binary, cast, dtype_of
from legato.frontends.script.language.source import Problem
from legato.frontends.script.language.types import DTYPES, value_type

UNARY_FLOAT = {
    "exp": math.ExpOp, "exp2": math.Exp2Op, "log": math.LogOp, "log2": math.Log2Op, "log10": math.Log10Op, "log1p": math.Log1pOp,
    "sqrt": math.SqrtOp, "rsqrt": math.RsqrtOp, "sin": math.SinOp, "cos": math.CosOp, "tan": math.TanOp, "asin": math.AsinOp,
    "acos": math.AcosOp, "atan": math.AtanOp, "sinh": math.SinhOp, "cosh": math.CoshOp, "tanh": math.TanhOp, "asinh": math.AsinhOp,
    "acosh": math.AcoshOp, "atanh": math.AtanhOp, "erf": math.ErfOp, "floor": math.FloorOp, "ceil": math.CeilOp, "trunc": math.TruncOp,
    "expm1": math.ExpM1Op,
    "round": math.RoundOp, "nearbyint": math.RoundEvenOp,
}
BINARY_FLOAT = {"pow": math.PowFOp, "atan2": math.Atan2Op, "copysign": math.CopySignOp, "fmod": arith.RemFOp}
BINARY = {
    "max": "max", "min": "min", "floordiv": "//", "floormod": "%", "truncdiv": "truncdiv", "truncmod": "truncmod", "shift_left": "<<",
    "shift_right": ">>", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "Add": "+", "Sub": "-", "Mul": "*", "Div": "/",
    "FloorDiv": "//", "FloorMod": "%", "Max": "max", "Min": "min", "EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=",
    "add": "+", "subtract": "-", "multiply": "*", "div": "/", "indexdiv": "//", "indexmod": "%",
}


def unary_float(build: Callable, x: Any) -> Scalar:
    x = as_scalar(x, "float32")
    if not x.is_float:
        raise Problem(f"a float is wanted here, not {x.dtype}: cast it first")
    return Scalar(build(x.value).result, x.dtype)


def binary_float(build: Callable, a: Any, b: Any) -> Scalar:
    a, b = values.meet(a, b)
    if not a.is_float:
        raise Problem(f"floats are wanted here, not {a.dtype}: cast first")
    return Scalar(build(a.value, b.value).result, a.dtype)


def of_tir(name: str) -> Callable[..., Scalar]:
    """An intrinsic that math lacks, on floats."""
    def call(*operands: Any) -> Scalar:
        first, *rest = operands
        for other in rest:
            first, _ = values.meet(first, other)
        first = as_scalar(first, "float32")
        if not first.is_float:
            raise Problem(f"floats are wanted here, not {first.dtype}: cast first")
        return Scalar(tir_intrinsic(name, first.value, *(values.convert(x, first.dtype).value for x in rest)), first.dtype)

    return call


def ldexp(x: Any, n: Any) -> Scalar:
    x = as_scalar(x, "float32")
    if not x.is_float:
        raise Problem(f"a float is wanted here, not {x.dtype}: cast it first")
    return Scalar(tir_intrinsic("ldexp", x.value, values.convert(n, "int32").value), x.dtype)


def count_bits(build: Callable) -> Callable[[Any], Scalar]:
    def count(x: Any) -> Scalar:
        x = as_scalar(x)
        if x.is_float or x.dtype in ("bool", "index"):
            raise Problem(f"an integer of a number of bits is wanted here, not {x.dtype}: cast it first")
        return Scalar(build(x.value).result, x.dtype)

    return count


def fused_multiply_add(a: Any, b: Any, c: Any) -> Scalar:
    a, b = values.meet(a, b)
    if not a.is_float:
        raise Problem(f"floats are wanted here, not {a.dtype}: cast first")
    return Scalar(math.FmaOp(a.value, b.value, values.convert(c, a.dtype).value).result, a.dtype)


def is_infinite(x: Any) -> Scalar:
    x = as_scalar(x, "float32")
    return values.compare("==", absolute(x), float("inf")) if x.is_float else values.constant(0, "bool")


def is_finite(x: Any) -> Scalar:
    x = as_scalar(x, "float32")
    return values.compare("<", absolute(x), float("inf")) if x.is_float else values.constant(1, "bool")


def absolute(x: Any) -> Any:
    if not isinstance(x, Scalar):
        return abs(x)
    if x.is_unsigned:
        return x
    return Scalar((math.AbsFOp if x.is_float else math.AbsIOp)(x.value).result, x.dtype)


def power(a: Any, b: Any) -> Any:
    return binary("**", a, b)


def sigmoid(x: Any) -> Scalar:
    x = as_scalar(x, "float32")
    return binary("/", values.constant(1, x.dtype), binary("+", 1, unary_float(math.ExpOp, values.negate(x))))


def cast_to(x: Any, dtype: str) -> Any:
    return cast(x, check_dtype(dtype))


def cast_from(dtype: str, x: Any) -> Any:
    """The older order: ``T.Cast("float32", x)``."""
    return cast(x, check_dtype(dtype))


def reinterpret(first: Any, second: Any) -> Scalar:
    """The bits of a value as another type; both orders of arguments are in use."""
    x, dtype = (second, first) if isinstance(first, str) else (first, second)
    x = as_scalar(x)
    type_ = value_type(check_dtype(dtype))
    if type_.width != x.value.type.width:
        raise Problem(f"{x.dtype} and {dtype} have different widths")
    return Scalar(x.value if type_ == x.value.type else arith.BitcastOp(type_, x.value).result, dtype)


def check_dtype(dtype: Any) -> str:
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise Problem(f"{dtype!r} is no type of elements; there are {', '.join(DTYPES)}")
    return dtype


def typed_constant(dtype: str) -> Callable:
    def make(x: Any = 0) -> Any:
        if isinstance(x, str):
            if x not in ("inf", "-inf", "nan") or dtype not in FLOATS:
                raise Problem(f"{x!r} is no value of type {dtype}")
            x = float(x)
        return cast(x, dtype) if isinstance(x, Scalar) else values.constant(x, dtype)

    return make


def ceil_divide(a: Any, b: Any) -> Any:
    return binary("//", binary("-", binary("+", a, b), 1), b)


def lowest(dtype: str, high: bool = False) -> Scalar:
    if check_dtype(dtype) in FLOATS:
        largest = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38,
                   "float64": 1.7976931348623157e308}
        return values.constant(largest[dtype] if high else -largest[dtype], dtype)
    width = value_type(dtype).width
    if dtype.startswith("u") or dtype == "bool":
        return values.constant(2**width - 1 if high else 0, dtype)
    return values.constant(2 ** (width - 1) - 1 if high else -(2 ** (width - 1)), dtype)


def infinity(dtype: str) -> Scalar:
    return values.constant(float("inf"), check_dtype(dtype))


def is_nan(x: Any) -> Scalar:
    x = as_scalar(x, "float32")
    return values.compare("!=", x, x) if x.is_float else values.constant(0, "bool")


def reduce_by(op: str) -> Callable:
    def fold(*operands: Any) -> Any:
        total = operands[0]
        for x in operands[1:]:
            total = values.logical(op, total, x)
        return total

    return fold


def likely(x: Any) -> Any:
    dtype_of(x)
    return x


def assume(x: Any) -> None:
    """What the kernel's writer promises: nothing is made of it."""
    dtype_of(x)


FUNCTIONS: dict[str, Callable] = {
    "abs": absolute, "fabs": absolute, "sigmoid": sigmoid, "cast": cast_to, "Cast": cast_from, "reinterpret": reinterpret,
    "Select": values.select, "ceildiv": ceil_divide, "min_value": lowest, "max_value": lambda d: lowest(d, True), "infinity": infinity,
    "isnan": is_nan, "isinf": is_infinite, "isfinite": is_finite, "fma": fused_multiply_add, "ldexp": ldexp, "assume": assume,
    "exp10": lambda x: binary_float(math.PowFOp, values.convert(10.0, as_scalar(x, "float32").dtype), as_scalar(x, "float32")),
    "hypot": of_tir("hypot"), "nextafter": of_tir("nextafter"), "clz": count_bits(math.CountLeadingZerosOp),
    "popcount": count_bits(math.CtPopOp),
    "Not": values.logical_not, "bitwise_not": values.invert, "likely": likely,
    "And": reduce_by("and"), "Or": reduce_by("or"), "all": reduce_by("and"), "any": reduce_by("or"),
    **{name: (lambda x, op=op: unary_float(op, x)) for name, op in UNARY_FLOAT.items()},
    **{name: (lambda a, b, op=op: binary_float(op, a, b)) for name, op in BINARY_FLOAT.items()},
    **{name: (lambda a, b, op=op: binary(op, a, b)) for name, op in BINARY.items()},
    **{dtype: typed_constant(dtype) for dtype in DTYPES}, "boolean": typed_constant("bool"),
    "pow": power, "power": power,
}
