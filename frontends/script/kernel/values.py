"""Scalar values of a kernel's script: Python numbers until an operation needs them in a type, and MLIR values with the script's types.

Loop variables, axes and sizes are of type ``index``; in arithmetic with an integer of a type they take that type.
"""

from dataclasses import dataclass
from typing import Any

from legato.core.mlir import arith, ir, math
from legato.frontends.script.kernel.operators import Operators
from legato.frontends.script.language.source import Problem
from legato.frontends.script.language.types import value_type

FLOATS = ("float16", "bfloat16", "float32", "float64")
INT, FLOAT = "int", "float"  # the types of literals


@dataclass(frozen=True)
class Scalar(Operators):
    """A value of a type of the script."""

    value: ir.Value
    dtype: str

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def is_unsigned(self) -> bool:
        return self.dtype.startswith("uint") or self.dtype == "bool"


def dtype_of(x: Any) -> str:
    if isinstance(x, Scalar):
        return x.dtype
    if isinstance(x, bool):
        return "bool"
    if isinstance(x, int):
        return INT
    if isinstance(x, float):
        return FLOAT
    raise Problem(f"a number is wanted here, not {describe(x)}")


def describe(x: Any) -> str:
    return f"a value of type {x.dtype}" if isinstance(x, Scalar) else f"{x!r}" if isinstance(x, (int, float, str)) else type(x).__name__


def constant(number: Any, dtype: str) -> Scalar:
    """A literal as a value of a type."""
    type_ = value_type(dtype)
    if dtype in FLOATS:
        return Scalar(arith.ConstantOp(type_, float(number)).result, dtype)
    if isinstance(number, float) and number != int(number):
        raise Problem(f"{number} is no value of type {dtype}")
    number = int(number)
    if dtype not in ("index", "bool"):
        width = type_.width
        low, high = (0, 2**width - 1) if dtype.startswith("uint") else (-(2 ** (width - 1)), 2**width - 1)
        if not low <= number <= high:
            raise Problem(f"{number} is no value of type {dtype}")
        number = number - 2**width if number >= 2 ** (width - 1) else number
    return Scalar(arith.ConstantOp(type_, ir.IntegerAttr.get(type_, number)).result, dtype)


def as_scalar(x: Any, dtype: str | None = None) -> Scalar:
    """``x`` as a value; a literal takes the type ``dtype``, or int32 or float32."""
    if isinstance(x, Scalar):
        return x
    found = dtype_of(x)
    return constant(x, dtype or {INT: "int32", FLOAT: "float32", "bool": "bool"}[found])


def as_index(x: Any) -> ir.Value:
    if isinstance(x, (int, float)) and not isinstance(x, bool):
        return constant(x, "index").value
    if not isinstance(x, Scalar) or x.is_float:
        raise Problem(f"an index is wanted here, not {describe(x)}")
    return cast(x, "index").value


def condition(x: Any) -> ir.Value:
    """The value of a condition."""
    x = as_scalar(x, "bool") if not isinstance(x, Scalar) else x
    return x.value if x.dtype == "bool" else compare("!=", x, 0).value


def common(a: Any, b: Any) -> str:
    """The type in which two operands meet."""
    left, right = dtype_of(a), dtype_of(b)
    if left == right:
        return left
    rank = {"bool": 0, INT: 1, "index": 2, FLOAT: 20}
    order = {d: rank.get(d, 30 if d in FLOATS else 10) for d in (left, right)}
    if order[left] != order[right]:
        high, low = (left, right) if order[left] > order[right] else (right, left)
        if high == FLOAT:
            return "float32" if low != INT else FLOAT
        return high
    if left in FLOATS:
        width = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}
        return left if width[left] > width[right] else right if width[left] < width[right] else "float32"
    bits = {d: int(d.removeprefix("u")[3:]) for d in (left, right)}
    return max((left, right), key=lambda d: (bits[d], d.startswith("u")))


def meet(a: Any, b: Any) -> tuple[Scalar, Scalar]:
    """Two operands in one type."""
    dtype = common(a, b)
    dtype = {INT: "int32", FLOAT: "float32"}.get(dtype, dtype)
    return convert(a, dtype), convert(b, dtype)


def convert(x: Any, dtype: str) -> Scalar:
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
    if dtype == "bool":
        return compare("!=", x, 0)
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


# --- arithmetic ---

PYTHON = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b, "%": lambda a, b: a % b,
    "/": lambda a, b: a / b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b, "&": lambda a, b: a & b, "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b, "**": lambda a, b: a**b, "max": max, "min": min,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}
# op: (floats, signed integers, unsigned integers)
OPS: dict[str, tuple[Any, Any, Any]] = {
    "+": (arith.AddFOp, arith.AddIOp, arith.AddIOp), "-": (arith.SubFOp, arith.SubIOp, arith.SubIOp),
    "*": (arith.MulFOp, arith.MulIOp, arith.MulIOp),
    "max": (arith.MaximumFOp, arith.MaxSIOp, arith.MaxUIOp), "min": (arith.MinimumFOp, arith.MinSIOp, arith.MinUIOp),
    "truncdiv": (None, arith.DivSIOp, arith.DivUIOp), "truncmod": (arith.RemFOp, arith.RemSIOp, arith.RemUIOp),
    "<<": (None, arith.ShLIOp, arith.ShLIOp), ">>": (None, arith.ShRSIOp, arith.ShRUIOp),
    "&": (None, arith.AndIOp, arith.AndIOp), "|": (None, arith.OrIOp, arith.OrIOp), "^": (None, arith.XOrIOp, arith.XOrIOp),
}
CONTRACTED = ("+", "-", "*")  # may be rounded once, together: LLVM then makes fused multiply-adds


def binary(op: str, a: Any, b: Any) -> Any:
    """``a op b``: on two literals in Python, else on values."""
    if not isinstance(a, Scalar) and not isinstance(b, Scalar) and op in PYTHON:
        for x in (a, b):
            dtype_of(x)  # Problem for what is no number
        if op in ("**", "<<") and isinstance(b, int) and abs(b) > 1024:
            raise Problem(f"{a} {op} {b} is no number that a kernel has")
        try:
            return PYTHON[op](a, b)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise Problem(str(error)) from None
    if op in ("==", "!=", "<", "<=", ">", ">="):
        return compare(op, a, b)
    if op == "/":
        return divide(a, b)
    if op == "**":
        return power(a, b)
    a, b = meet(a, b)
    if op in ("//", "%"):
        return floor_divide(a, b) if op == "//" else floor_modulo(a, b)
    simple = simplified(op, a, b)
    if simple is not None:
        return simple
    floats, signed, unsigned = OPS[op]
    build = floats if a.is_float else unsigned if a.is_unsigned else signed
    if build is None or (a.dtype == "bool" and op not in ("&", "|", "^")):
        raise Problem(f"'{op}' does not work on {a.dtype}")
    if a.is_float and op in CONTRACTED:
        return Scalar(build(a.value, b.value, fastmath=arith.FastMathFlags.contract).result, a.dtype)
    return Scalar(build(a.value, b.value).result, a.dtype)


def number_of(x: Scalar) -> int | None:
    owner = x.value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant" or x.is_float:
        return None
    return owner.attributes["value"].value


def simplified(op: str, a: Scalar, b: Scalar) -> Scalar | None:
    """What adding 0 and multiplying by 1 come to, on indices: they are read by analyses."""
    if a.dtype != "index":
        return None
    left, right = number_of(a), number_of(b)
    if left is not None and right is not None and op in PYTHON:
        return constant(PYTHON[op](left, right), "index")
    if (op in ("+", "-") and right == 0) or (op == "*" and right == 1):
        return a
    if (op == "+" and left == 0) or (op == "*" and left == 1):
        return b
    return None


def divide(a: Any, b: Any) -> Scalar:
    a, b = meet(a, b)
    if a.is_float:
        return Scalar(arith.DivFOp(a.value, b.value).result, a.dtype)
    return binary("truncdiv", a, b)


def floor_divide(a: Scalar, b: Scalar) -> Scalar:
    if a.is_float:
        return Scalar(math.FloorOp(arith.DivFOp(a.value, b.value).result).result, a.dtype)
    if a.is_unsigned:
        return Scalar(arith.DivUIOp(a.value, b.value).result, a.dtype)
    return simplified("//", a, b) or Scalar(arith.FloorDivSIOp(a.value, b.value).result, a.dtype)


def floor_modulo(a: Scalar, b: Scalar) -> Scalar:
    if a.is_unsigned:
        return Scalar(arith.RemUIOp(a.value, b.value).result, a.dtype)
    return binary("-", a, binary("*", floor_divide(a, b), b))


def power(a: Any, b: Any) -> Scalar:
    if isinstance(a, Scalar) and not a.is_float and isinstance(b, int) and 0 < b <= 64:
        total = a
        for _ in range(b - 1):
            total = binary("*", total, a)
        return total
    a, b = meet(a, b)
    if not a.is_float:
        raise Problem("a power of an integer has an exponent that is a number, 1 to 64; else cast to a float")
    return Scalar(math.PowFOp(a.value, b.value).result, a.dtype)


def compare(op: str, a: Any, b: Any) -> Scalar:
    a, b = meet(a, b)
    if a.is_float:
        names = {"==": "OEQ", "!=": "UNE", "<": "OLT", "<=": "OLE", ">": "OGT", ">=": "OGE"}
        return Scalar(arith.CmpFOp(getattr(arith.CmpFPredicate, names[op]), a.value, b.value).result, "bool")
    names = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
    name = names[op] if op in ("==", "!=") else ("u" if a.is_unsigned else "s") + names[op]
    return Scalar(arith.CmpIOp(getattr(arith.CmpIPredicate, name), a.value, b.value).result, "bool")


def logical(op: str, a: Any, b: Any) -> Any:
    if isinstance(a, bool) and isinstance(b, bool):
        return (a and b) if op == "and" else (a or b)
    build = arith.AndIOp if op == "and" else arith.OrIOp
    return Scalar(build(condition(a), condition(b)).result, "bool")


def negate(a: Any) -> Any:
    if not isinstance(a, Scalar):
        return -a
    if a.is_float:
        return Scalar(arith.NegFOp(a.value).result, a.dtype)
    return binary("-", constant(0, a.dtype), a)


def invert(a: Any) -> Any:
    """Bitwise not."""
    if not isinstance(a, Scalar):
        return ~a
    if a.dtype == "bool":
        return logical_not(a)
    return Scalar(arith.XOrIOp(a.value, constant(-1 if not a.is_unsigned else 2 ** a.value.type.width - 1, a.dtype).value).result, a.dtype)


def logical_not(a: Any) -> Any:
    if isinstance(a, bool):
        return not a
    true = arith.ConstantOp(ir.IntegerType.get_signless(1), 1).result
    return Scalar(arith.XOrIOp(condition(a), true).result, "bool")


def select(c: Any, a: Any, b: Any) -> Any:
    """``a`` where ``c``, else ``b``; both are computed."""
    if isinstance(c, bool):
        return a if c else b
    a, b = meet(a, b)
    return Scalar(arith.SelectOp(condition(c), a.value, b.value).result, a.dtype)
