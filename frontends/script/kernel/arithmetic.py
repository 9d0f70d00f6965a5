"""Arithmetic on a kernel's values: of two literals in Python, otherwise as ops of arith and math at the insertion point."""

from typing import Any

from legato.core.mlir import arith, ir, math
from legato.frontends.script.kernel.values import BITS, INT, Scalar, condition, constant, dtype_of, meet, number_of
from legato.frontends.script.language.source import Misuse

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
BITWISE = ("<<", ">>", "&", "|", "^")
CONTRACTED = ("+", "-", "*")  # carry the flag contract, so that LLVM may form fused multiply-adds


def binary(op: str, a: Any, b: Any) -> Any:
    """``a op b``, of two literals in Python, otherwise on SSA values."""
    if not isinstance(a, Scalar) and not isinstance(b, Scalar) and op in PYTHON:
        for x in (a, b):
            dtype_of(x)  # Misuse for anything but a number
        if op in ("**", "<<") and isinstance(b, int) and abs(b) > 1024:
            raise Misuse(f"{a} {op} {b} is no number that a kernel has")
        try:
            return PYTHON[op](a, b)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise Misuse(str(error)) from None
    if op in ("==", "!=", "<", "<=", ">", ">="):
        return compare(op, a, b)
    if op == "/":
        return divide(a, b)
    if op == "**":
        return power(a, b)
    a, b = of_one_width(a, b) if op in BITWISE else meet(a, b)
    if op in ("//", "%"):
        return floor_divide(a, b) if op == "//" else floor_modulo(a, b)
    simple = simplified(op, a, b)
    if simple is not None:
        return simple
    floats, signed, unsigned = OPS[op]
    build = floats if a.is_float else unsigned if a.is_unsigned else signed
    if build is None or (a.dtype == "bool" and op not in ("&", "|", "^")):
        raise Misuse(f"'{op}' does not work on {a.dtype}")
    if a.is_float and op in CONTRACTED:
        return Scalar(build(a.value, b.value, fastmath=arith.FastMathFlags.contract).result, a.dtype)
    return Scalar(build(a.value, b.value).result, a.dtype)


def of_one_width(a: Any, b: Any) -> tuple[Scalar, Scalar]:
    """Operands of an op on bits: those of one type, which a literal takes from the other."""
    if isinstance(a, Scalar) and a.dtype in BITS and dtype_of(b) == INT:
        return a, constant(b, a.dtype, is_mask=True)
    if isinstance(b, Scalar) and b.dtype in BITS and dtype_of(a) == INT:
        return constant(a, b.dtype, is_mask=True), b
    return meet(a, b)


def simplified(op: str, a: Scalar, b: Scalar) -> Scalar | None:
    """Folds constants, ``x + 0`` and ``x * 1`` of indices, so that analyses read plain index expressions; None where nothing folds."""
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
    """``a / b``: true division of floats, C's truncating division of integers."""
    a, b = meet(a, b)
    if a.is_float:
        return Scalar(arith.DivFOp(a.value, b.value).result, a.dtype)
    return binary("truncdiv", a, b)


def floor_divide(a: Scalar, b: Scalar) -> Scalar:
    """``a // b`` of two values of one type."""
    if a.is_float:
        return Scalar(math.FloorOp(arith.DivFOp(a.value, b.value).result).result, a.dtype)
    if a.is_unsigned:
        return Scalar(arith.DivUIOp(a.value, b.value).result, a.dtype)
    return simplified("//", a, b) or Scalar(arith.FloorDivSIOp(a.value, b.value).result, a.dtype)


def floor_modulo(a: Scalar, b: Scalar) -> Scalar:
    """``a % b``, with the sign of ``b``, of two values of one type."""
    if a.is_unsigned:
        return Scalar(arith.RemUIOp(a.value, b.value).result, a.dtype)
    return binary("-", a, binary("*", floor_divide(a, b), b))


def power(a: Any, b: Any) -> Scalar:
    """``a ** b``: repeated multiplication for an integer base and a literal exponent, else ``math.powf``."""
    if isinstance(a, Scalar) and not a.is_float and isinstance(b, int) and 0 < b <= 64:
        total = a
        for _ in range(b - 1):
            total = binary("*", total, a)
        return total
    a, b = meet(a, b)
    if not a.is_float:
        raise Misuse("a power of an integer has an exponent that is a number, 1 to 64; else cast to a float")
    return Scalar(math.PowFOp(a.value, b.value).result, a.dtype)


def compare(op: str, a: Any, b: Any) -> Scalar:
    """A comparison; floats compare ordered, but for ``!=``."""
    a, b = meet(a, b)
    if a.is_float:
        names = {"==": "OEQ", "!=": "UNE", "<": "OLT", "<=": "OLE", ">": "OGT", ">=": "OGE"}
        return Scalar(arith.CmpFOp(getattr(arith.CmpFPredicate, names[op]), a.value, b.value).result, "bool")
    names = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
    name = names[op] if op in ("==", "!=") else ("u" if a.is_unsigned else "s") + names[op]
    return Scalar(arith.CmpIOp(getattr(arith.CmpIPredicate, name), a.value, b.value).result, "bool")


def logical(op: str, a: Any, b: Any) -> Any:
    """``a and b`` or ``a or b`` (``op``); both operands are evaluated."""
    if isinstance(a, bool) and isinstance(b, bool):
        return (a and b) if op == "and" else (a or b)
    build = arith.AndIOp if op == "and" else arith.OrIOp
    return Scalar(build(condition(a), condition(b)).result, "bool")


def negate(a: Any) -> Any:
    """``-a``."""
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
    """``not a``."""
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
