"""The functions of a kernel's script on values; vocabulary.py has their names."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from legato.core.mlir import arith, math
from legato.dialects.tir.intrinsics import INTRINSICS
from legato.dialects.tir.intrinsics import build as tir_intrinsic
from legato.frontends.script.kernel import arithmetic
from legato.frontends.script.kernel.arithmetic import binary, compare, negate
from legato.frontends.script.kernel.values import BITS, FLOATS, Scalar, as_scalar, cast, common, constant, convert, dtype_of, meet
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import DTYPES, value_type


@dataclass(frozen=True)
class ScalarFunction:
    """A function of the script on scalars; on several lanes it is called for each.

    ``build`` takes Scalars and Python numbers and gives one; it raises Misuse for types that it does not take. ``ops``: the MLIR ops
    that the printer writes as a call of the function.
    """

    build: Callable[..., Any]
    ops: tuple[str, ...] = ()


def unary(op: Any) -> ScalarFunction:
    """An op of math on one float."""
    return ScalarFunction(lambda x: one_float(op, x), (op.OPERATION_NAME,))


def rounding(op: Any) -> ScalarFunction:
    """A function to whole numbers, on floats; integers are whole."""
    return ScalarFunction(lambda x: x if isinstance(x, Scalar) and not x.is_float else one_float(op, x), (op.OPERATION_NAME,))


def one_float(op: Any, x: Any) -> Scalar:
    """The result of an op on a float."""
    x = as_scalar(x, "float32")
    if not x.is_float:
        raise Misuse(f"a float is wanted here, not {x.dtype}: cast it first")
    return Scalar(op(x.value).result, x.dtype)


def of_two_floats(op: Any) -> ScalarFunction:
    """An op of math or arith on two floats."""
    return ScalarFunction(lambda a, b: two_floats(op, a, b), (op.OPERATION_NAME,))


def two_floats(op: Any, a: Any, b: Any) -> Scalar:
    """The result of an op on two floats, in the type in which they meet."""
    a, b = meet(a, b)
    if not a.is_float:
        raise Misuse(f"floats are wanted here, not {a.dtype}: cast first")
    return Scalar(op(a.value, b.value).result, a.dtype)


def operator(op: str, *ops: str) -> ScalarFunction:
    """A binary operator of arithmetic.py as a function."""
    return ScalarFunction(lambda a, b: binary(op, a, b), ops)


def of_tir(name: str) -> ScalarFunction:
    """An op of the tir dialect on floats, for what math lacks."""
    names = INTRINSICS[f"tir.{name}"].OPERANDS

    def build(*operands: Any) -> Scalar:
        if len(operands) != len(names):
            raise Misuse(f"T.{name} takes {len(names)} ({', '.join(names)}), not {len(operands)}")
        first, *rest = operands
        for other in rest:
            first, _ = meet(first, other)
        first = as_scalar(first, "float32")
        if not first.is_float:
            raise Misuse(f"floats are wanted here, not {first.dtype}: cast first")
        return Scalar(tir_intrinsic(name, first.value, *(convert(x, first.dtype).value for x in rest)), first.dtype)

    return ScalarFunction(build, (f"tir.{name}",))


def of_bits(op: Any) -> ScalarFunction:
    """An op of math that counts the bits of an integer; an index has 32, as in TVM."""
    def build(x: Any) -> Scalar:
        x = as_scalar(x)
        if x.is_float or x.dtype == "bool":
            raise Misuse(f"an integer of a number of bits is wanted here, not {x.dtype}: cast it first")
        x = cast(x, "int32") if x.dtype == "index" else x
        return Scalar(op(x.value).result, x.dtype)

    return ScalarFunction(build, (op.OPERATION_NAME,))


def folded(op: str) -> ScalarFunction:
    """``and`` or ``or`` of any number of conditions."""
    def build(*operands: Any) -> Any:
        total = operands[0]
        for x in operands[1:]:
            total = arithmetic.logical(op, total, x)
        return total

    return ScalarFunction(build)


def literal(dtype: str) -> ScalarFunction:
    """``T.float32(2)``, ``T.float32("inf")``, ``T.float32(x)``: a literal of a type, or a cast."""
    def build(x: Any = 0) -> Any:
        if isinstance(x, str):
            if x not in ("inf", "-inf", "nan") or dtype not in FLOATS:
                raise Misuse(f"{x!r} is no value of type {dtype}")
            x = float(x)
        return cast(x, dtype) if isinstance(x, Scalar) else constant(x, dtype)

    return ScalarFunction(build)


def ldexp(x: Any, n: Any) -> Scalar:
    """``x * 2**n`` of a float and an integer."""
    x = as_scalar(x, "float32")
    if not x.is_float:
        raise Misuse(f"a float is wanted here, not {x.dtype}: cast it first")
    return Scalar(tir_intrinsic("ldexp", x.value, convert(n, "int32").value), x.dtype)


def fused_multiply_add(a: Any, b: Any, c: Any) -> Scalar:
    """``a * b + c``, rounded once."""
    a, b = meet(a, b)
    if not a.is_float:
        raise Misuse(f"floats are wanted here, not {a.dtype}: cast first")
    return Scalar(math.FmaOp(a.value, b.value, convert(c, a.dtype).value).result, a.dtype)


def exp10(x: Any) -> Scalar:
    """``10 ** x`` of a float."""
    return two_floats(math.PowFOp, convert(10.0, as_scalar(x, "float32").dtype), as_scalar(x, "float32"))


def is_infinite(x: Any) -> Scalar:
    """Whether a number is an infinity; an integer never is."""
    x = as_scalar(x, "float32")
    return compare("==", absolute(x), float("inf")) if x.is_float else constant(0, "bool")


def is_finite(x: Any) -> Scalar:
    """Whether a number is neither an infinity nor NaN; an integer always is."""
    x = as_scalar(x, "float32")
    return compare("<", absolute(x), float("inf")) if x.is_float else constant(1, "bool")


def is_nan(x: Any) -> Scalar:
    """Whether a number is NaN; an integer never is."""
    x = as_scalar(x, "float32")
    return compare("!=", x, x) if x.is_float else constant(0, "bool")


def absolute(x: Any) -> Any:
    """The absolute value."""
    if not isinstance(x, Scalar):
        return abs(x)
    if x.is_unsigned:
        return x
    if x.dtype == "index":  # bounds of a maximum are known, and GPUs have no math.absi of one
        return binary("max", x, negate(x))
    return Scalar((math.AbsFOp if x.is_float else math.AbsIOp)(x.value).result, x.dtype)


def power(a: Any, b: Any) -> Any:
    """``a ** b``."""
    return binary("**", a, b)


def sigmoid(x: Any) -> Scalar:
    """``1 / (1 + exp(-x))``."""
    x = as_scalar(x, "float32")
    return binary("/", constant(1, x.dtype), binary("+", 1, one_float(math.ExpOp, negate(x))))


def cast_to(x: Any, dtype: str) -> Any:
    """``T.cast(x, "float32")``."""
    return cast(x, check_dtype(dtype))


def cast_from(dtype: str, x: Any) -> Any:
    """``T.Cast("float32", x)``, the older order of arguments."""
    return cast(x, check_dtype(dtype))


def reinterpret(first: Any, second: Any) -> Scalar:
    """The bits of a value as another type; both orders of arguments are in use."""
    x, dtype = (second, first) if isinstance(first, str) else (first, second)
    x = as_scalar(x)
    type_ = value_type(check_dtype(dtype))
    if type_.width != x.value.type.width:
        raise Misuse(f"{x.dtype} and {dtype} have different widths")
    return Scalar(x.value if type_ == x.value.type else arith.BitcastOp(type_, x.value).result, dtype)


def check_dtype(dtype: Any) -> str:
    """The name of an element type itself. Misuse for anything else."""
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise Misuse(f"{dtype!r} is no type of elements; there are {', '.join(DTYPES)}")
    return dtype


def ceil_divide(a: Any, b: Any) -> Any:
    """``a / b`` of integers, rounded up, for a positive ``b``."""
    dtype = common(a, b)
    return binary("//", binary("-", binary("+", a, b), constant(1, dtype) if dtype in BITS else 1), b)


def lowest(dtype: str, high: bool = False) -> Scalar:
    """The least finite number of a type, or the greatest."""
    if check_dtype(dtype) in FLOATS:
        largest = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0, "float16": 65504.0, "bfloat16": 3.3895313892515355e38,
                   "float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}
        return constant(largest[dtype] if high else -largest[dtype], dtype)
    width = value_type(dtype).width
    if dtype.startswith("u") or dtype == "bool":
        return constant(2**width - 1 if high else 0, dtype)
    return constant(2 ** (width - 1) - 1 if high else -(2 ** (width - 1)), dtype)


def highest(dtype: str) -> Scalar:
    """The greatest finite number of a type."""
    return lowest(dtype, high=True)


def infinity(dtype: str) -> Scalar:
    """The positive infinity of a type of floats."""
    return constant(float("inf"), check_dtype(dtype))


def likely(x: Any) -> Any:
    """The condition itself: a hint for branch prediction, which is not used."""
    dtype_of(x)
    return x


def assume(x: Any) -> None:
    """A promise of the kernel's author, which is not used."""
    dtype_of(x)
