"""The intrinsic rules of CPUs: elementary functions of f32 as polynomials, since LLVM would call libm for each lane; maxima,
reductions, remainders and dot products of bytes in fewer instructions."""
from collections.abc import Callable
from typing import Any

from legato.core.errors import Refusal
from legato.core.ir_helpers import defining_op
from legato.core.mlir import arith, ir, math
from legato.core.user_code import source_of
from legato.dialects.tir.markers import WEIGHS
from legato.targets.cpu import segments
from legato.targets.cpu.avx512 import fills_registers, scale_by_power
from legato.targets.cpu.byte_tables import RULES as BYTE_TABLES
from legato.targets.cpu.dot_products import RULES as DOT_PRODUCTS
from legato.targets.cpu.quantization import RULES as QUANTIZATION
from legato.targets.cpu.remainders import exact_remainder
from legato.targets.cpu.vector_math import EXPANSIONS
from legato.targets.intrinsics import polynomials as f32
from legato.targets.intrinsics import wide, wide_inverse
from legato.targets.intrinsics.builder import Builder
from legato.targets.intrinsics.generic import cos, expression, polynomial, sin
from legato.targets.rule import Rule, intrinsic

SEGMENTS = {"math.tanh": segments.TANH, "math.erf": segments.ERF}
ROUNDINGS = ("math.ceil", "math.floor", "math.roundeven", "math.trunc")
ONE_BY_ONE = {"math.tanh": f32.tanh, "math.erf": f32.erf}


@intrinsic("math.exp", dtypes=("f32",))
def exp(op, x):
    """e^x. Vectors are scaled by AVX-512's instruction, if available."""
    scale = scale_by_power if op.machine.has("avx512f") and fills_registers(x.type) else None
    return (f32.weight if WEIGHS in op.op.attributes else f32.exp)(Builder(x.type), x, scale)


@intrinsic("math.tanh", "math.erf", dtypes=("f32",))
def odd_function(op, x):
    """tanh and erf. With AVX-512, vectors look up the coefficients of many short polynomials."""
    if op.machine.has("avx512f") and fills_registers(x.type, shorter=False):
        return SEGMENTS[op.name](x)
    return ONE_BY_ONE[op.name](Builder(x.type), x)


@intrinsic("arith.remf", dtypes=("f32",))
def remainder(op, x, y):
    """C's fmod. LLVM would call it for each lane."""
    if not op.machine.has("fma"):
        return Refusal("its products are exact in fused multiply-adds only, which the CPU does not have")
    if isinstance(x.type, ir.VectorType) and x.type.rank != 1:
        return Refusal("it waits for vectors of rank 1")
    return exact_remainder(x, y)


@intrinsic("math.fma", dtypes=("f16", "bf16"))
def half_fma(op, a, b, c):
    """In f32, where the product is exact; LLVM would use f64 and call a function that not every system has."""
    wide = op.promoted()
    return arith.TruncFOp(op.output_types[0], math.fma(*wide.operands)).result


@intrinsic("arith.truncf", dtypes=("f32",))
def rounded_half(op, x):
    """A vector of halves that was extended, and rounded to integers. LLVM takes that for a rounding of halves, which CPUs without
    AVX512-FP16 do one by one; with the sign that it has already, taken from where it is, it is left in f32."""
    rounding = defining_op(x)
    extended = None if rounding is None or rounding.name not in ROUNDINGS else defining_op(rounding.operands[0])
    if extended is None or extended.name != "arith.extf" or not isinstance(x.type, ir.VectorType) or op.machine.has("avx512fp16"):
        return Refusal("LLVM does as well")
    return arith.TruncFOp(op.output_types[0], math.copysign(x, extended.results[0])).result


def _expansion(op: str, expand: Callable[..., Any]) -> Rule:
    def legalize(op: Any, *operands: ir.Value) -> Any:
        value = expand(op.op, op.machine)
        return Refusal("LLVM does as well") if value is None else value

    return Rule(op, "intrinsic", legalize, op.replace(".", "_"), source_of(expand))


RULES = (
    exp,
    *odd_function,
    remainder,
    half_fma,
    rounded_half,
    *DOT_PRODUCTS,
    *BYTE_TABLES,
    *QUANTIZATION,
    *(polynomial(f"math.{function.__name__}", function) for function in (f32.expm1, f32.log, f32.log1p, sin, cos)),
    *(expression(f"math.{function.__name__}", function, ("f32",)) for function in (*wide.MATH, *wide_inverse.MATH)),
    *(expression(f"tir.{function.__name__}", function, ("f32",)) for function in wide.TIR),
    *(_expansion(op, expand) for op, expand in EXPANSIONS.items()),
)
