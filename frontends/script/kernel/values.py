"""Scalar values of a kernel: literals are Python numbers until an operation gives them a type, then SSA values with the script's types.

Loop variables, axes and sizes are of type ``index``. In arithmetic with an integer of 32 bits or more they take its type, and so do
literals that it can represent; narrower integers are computed in int32 with them, as in C and in TVM.
"""

from dataclasses import dataclass
from typing import Any, SupportsFloat

from legato.core.mlir import arith, ir
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import FLOAT8, value_type

FLOATS = (*FLOAT8, "float16", "bfloat16", "float32", "float64")
BITS = {f"{sign}int{width}": width for sign in ("", "u") for width in (8, 16, 32, 64)}
INT, FLOAT = "int", "float"  # the types of literals
UNKNOWN_TRUTH = "whether a value of the kernel holds is known at run time only: use T.if_then_else or T.Select"


class KernelValue:
    """A value of a kernel, or several lanes. python_calls.py adds Python's operators, which build expressions."""

    def __bool__(self) -> bool:
        raise TypeError(UNKNOWN_TRUTH)


@dataclass(frozen=True)
class Scalar(KernelValue):
    """An SSA value and its type in the script (``uint8`` where the SSA value is of type i8)."""

    value: ir.Value
    dtype: str

    @property
    def is_float(self) -> bool:
        """Whether the type is one of floats."""
        return self.dtype in FLOATS

    @property
    def is_unsigned(self) -> bool:
        """Whether integer ops on the value are unsigned; booleans count as unsigned."""
        return self.dtype.startswith("uint") or self.dtype == "bool"


def dtype_of(x: Any) -> str:
    """The type of a value; INT or FLOAT for a Python number. Misuse for anything else."""
    if isinstance(x, Scalar):
        return x.dtype
    if isinstance(x, bool):
        return "bool"
    if isinstance(x, int):
        return INT
    if isinstance(x, float):
        return FLOAT
    raise Misuse(f"a number is wanted here, not {describe(x)}")


def describe(x: Any) -> str:
    """A value in the words of an error."""
    return f"a value of type {x.dtype}" if isinstance(x, Scalar) else f"{x!r}" if isinstance(x, (int, float, str)) else type(x).__name__


def constant(number: Any, dtype: str, is_mask: bool = False) -> Scalar:
    """A literal as a value of a type. Misuse where the type cannot represent it. ``is_mask``: a signed integer takes as many bits, too."""
    type_ = value_type(dtype)
    if not isinstance(number, SupportsFloat):
        raise Misuse(f"a number is wanted here, not {describe(number)}")
    if dtype in FLOATS:
        return Scalar(arith.ConstantOp(type_, float(number)).result, dtype)
    if isinstance(number, float) and number != int(number):
        raise Misuse(f"{number} is no value of type {dtype}")
    number = int(number)
    if dtype != "bool":
        width = 64 if dtype == "index" else type_.width
        low = 0 if dtype.startswith("uint") else -(2 ** (width - 1))
        high = 2 ** (width if is_mask or dtype.startswith("uint") else width - 1) - 1
        if not low <= number <= high:
            raise Misuse(f"{number} is no value of type {dtype}")
        number = number - 2**width if number >= 2 ** (width - 1) else number
    return Scalar(arith.ConstantOp(type_, ir.IntegerAttr.get(type_, number)).result, dtype)


def as_scalar(x: Any, dtype: str | None = None) -> Scalar:
    """``x`` as a value; a literal takes the type ``dtype``, or int32 or float32."""
    if isinstance(x, Scalar):
        return x
    found = dtype_of(x)
    return constant(x, dtype or {INT: "int32", FLOAT: "float32", "bool": "bool"}[found])


def as_index(x: Any) -> ir.Value:
    """An integer as an SSA value of type index. Misuse for a float."""
    if isinstance(x, (int, float)) and not isinstance(x, bool):
        return constant(x, "index").value
    if not isinstance(x, Scalar) or x.is_float:
        raise Misuse(f"an index is wanted here, not {describe(x)}")
    return cast(x, "index").value


def index_value(value: ir.Value) -> Scalar:
    """An SSA value of type index as a value of the script."""
    return Scalar(value, "index")


def condition(x: Any) -> ir.Value:
    """A condition as an SSA value of type i1: whether a number is not 0."""
    x = as_scalar(x, "bool") if not isinstance(x, Scalar) else x
    return x.value if x.dtype == "bool" else nonzero(x).value


def nonzero(x: Scalar) -> Scalar:
    """Whether x is not 0."""
    zero = constant(0, x.dtype)
    if x.is_float:
        return Scalar(arith.CmpFOp(arith.CmpFPredicate.UNE, x.value, zero.value).result, "bool")
    return Scalar(arith.CmpIOp(arith.CmpIPredicate.ne, x.value, zero.value).result, "bool")


def number_of(x: Scalar) -> int | None:
    """The number that an integer constant is; None for any other value."""
    owner = x.value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant" or x.is_float:
        return None
    return owner.attributes["value"].value


def common(a: Any, b: Any) -> str:
    """The type of an operation on two operands."""
    left, right = dtype_of(a), dtype_of(b)
    if left == right:
        return left
    rank = {"bool": 0, INT: 1, "index": 2, FLOAT: 20}
    for x, other in ((a, right), (b, left)):
        if dtype_of(x) in (INT, "index") and other in BITS:
            return max((other, integer_type(x)), key=BITS.__getitem__)
    order = {d: rank.get(d, 30 if d in FLOATS else 10) for d in (left, right)}
    if order[left] != order[right]:
        high, low = (left, right) if order[left] > order[right] else (right, left)
        if high == FLOAT:
            return "float32" if low != INT else FLOAT
        return high
    if left in FLOATS:
        width = {**dict.fromkeys(FLOAT8, 8), "float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}
        return left if width[left] > width[right] else right if width[left] < width[right] else "float32"
    return max((left, right), key=lambda d: (BITS[d], d.startswith("u")))


def integer_type(x: Any) -> str:
    """The type of a literal, or of an index, beside an integer of a type."""
    if isinstance(x, Scalar) or -(2**31) <= x < 2**31:
        return "int32"
    return "int64" if x < 2**63 else "uint64"


def without_literals(dtype: str) -> str:
    """The type of a value: int32 and float32 in place of the types of literals."""
    return {INT: "int32", FLOAT: "float32"}.get(dtype, dtype)


def meet(a: Any, b: Any) -> tuple[Scalar, Scalar]:
    """Two operands converted to one type. Misuse for floats of 8 bits, in which kernels do not compute."""
    dtype = without_literals(common(a, b))
    if dtype in FLOAT8:
        raise Misuse(f"kernels do not compute in {dtype}: convert it by T.Cast(\"float32\", ...)")
    return convert(a, dtype), convert(b, dtype)


def convert(x: Any, dtype: str) -> Scalar:
    """A value converted to another type; Misuse for a literal that the type cannot represent."""
    return cast(x, dtype) if isinstance(x, Scalar) else constant(x, dtype)


def cast(x: Any, dtype: str) -> Scalar:
    """The value as one of another type: floats to integers by truncation."""
    if not isinstance(x, Scalar):
        if dtype in FLOATS or not isinstance(x, float):
            return constant(x, dtype)
        return constant(int(x), dtype)
    if x.dtype == dtype:
        return x
    type_, source = value_type(dtype), x.value.type
    if (dtype in FLOAT8 and x.dtype != "float32") or (x.dtype in FLOAT8 and dtype != "float32"):
        return cast(cast(x, "float32"), dtype)
    if dtype == "bool":
        return nonzero(x)
    if "index" in (dtype, x.dtype):
        if dtype in FLOATS or x.is_float:
            return cast(cast(x, "int64"), dtype)
        op = arith.IndexCastUIOp if x.is_unsigned or dtype.startswith("uint") else arith.IndexCastOp
        return Scalar(op(type_, x.value).result, dtype)
    if dtype in FLOATS:
        if x.is_float:
            op = arith.ExtFOp if type_.width > source.width else arith.TruncFOp
            if type_.width == source.width:
                return cast(cast(x, "float32"), dtype)
        else:
            op = arith.UIToFPOp if x.is_unsigned else arith.SIToFPOp
    elif x.is_float:
        op = arith.FPToUIOp if dtype.startswith("uint") else arith.FPToSIOp
    elif type_.width == source.width:
        return Scalar(x.value, dtype)
    elif type_.width < source.width:
        op = arith.TruncIOp
    else:
        op = arith.ExtUIOp if x.is_unsigned else arith.ExtSIOp
    return Scalar(op(type_, x.value).result, dtype)
