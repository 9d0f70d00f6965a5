"""The operands of an attention's products, as tiles take them."""
from __future__ import annotations

from math import isfinite

from legato.analysis.block_attention import number
from legato.analysis.products import maker, multiplied_as
from legato.core.mlir import ir
from legato.dialects.tir.loops import BlockOp


def unscaled(factor: ir.Value) -> tuple[ir.Value, float]:
    """What a query or a key is before it is widened, and before it is multiplied by a constant, in its own type or rounded to it; and the
    constant, 1 for none."""
    narrow = multiplied_as(factor)[0]
    rounded = maker(narrow, "arith.truncf")
    product = maker(narrow if rounded is None else rounded.operands[0], "arith.mulf")
    for value, constant in () if product is None else (tuple(product.operands), tuple(product.operands)[::-1]):
        found, plain = number(constant), value if rounded is None else multiplied_as(value)[0]
        if found is not None and isfinite(found) and plain.type == narrow.type:
            return plain, found
    return narrow, 1.0


def loads_of(value: ir.Value, block: BlockOp) -> list[ir.Operation]:
    """The loads in a block's body that a value is computed from."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.block != block.block:
        return []
    op = value.owner.operation
    return [op] if op.name == "memref.load" else [load for operand in op.operands for load in loads_of(operand, block)]


def copied(value: ir.Value, mapping: dict[ir.Value, ir.Value], block: BlockOp) -> ir.Value:
    """A value in a block's body computed at the insertion point, with other values for some; what is computed outside of it stays."""
    if value in mapping:
        return mapping[value]
    if isinstance(value.owner, ir.Block) or value.owner.operation.block != block.block:
        return value
    operands = [copied(operand, mapping, block) for operand in value.owner.operation.operands]
    new = value.owner.operation.clone()
    for place, operand in enumerate(operands):
        new.operands[place] = operand
    mapping[value] = new.results[0]
    return new.results[0]
