"""``x % n`` in the IR: ``x - x // n * n``, whose product and quotient are not printed separately."""

from typing import Any

from legato.core.mlir import ir
from legato.dialects.tir.loops import constant_of


def parts_of_remainder(op: ir.Operation) -> tuple[ir.Operation, ir.Operation] | None:
    """The product and the quotient of a remainder whose subtraction is ``op``; None for other ops."""
    if op.name != "arith.subi" or isinstance(op.operands[1].owner, ir.Block):
        return None
    product = op.operands[1].owner.operation
    if product.name != "arith.muli" or isinstance(product.operands[0].owner, ir.Block) or len(list(product.results[0].uses)) != 1:
        return None
    quotient = product.operands[0].owner.operation
    fits = quotient.name == "arith.floordivsi" and quotient.operands[0] == op.operands[0] and (
        quotient.operands[1] == product.operands[1] or same_constant(quotient.operands[1], product.operands[1]))
    return (product, quotient) if fits else None


def is_inside_remainder(op: ir.Operation) -> bool:
    """Whether an op is used only as the product or quotient of remainders."""
    if op.name not in ("arith.muli", "arith.floordivsi"):
        return False
    for use in op.results[0].uses:
        user = use.owner.operation
        outer = user if op.name == "arith.muli" else next((u.owner.operation for u in user.results[0].uses), None) if (
            user.name == "arith.muli") else None
        found = parts_of_remainder(outer) if outer is not None else None
        if found is None or op not in found:
            return False
    return bool(list(op.results[0].uses))


def is_written(use: Any) -> bool:
    """Whether a use of a value is printed: of the uses of n in ``x % n``, by quotient and product, only the product's is."""
    user = use.owner.operation
    return not is_inside_remainder(user) or (user.name == "arith.muli" and use.operand_number == 1)


def same_constant(a: ir.Value, b: ir.Value) -> bool:
    """Whether two values are the same integer constant."""
    number: Any = constant_of(a)
    return number is not None and number == constant_of(b)
