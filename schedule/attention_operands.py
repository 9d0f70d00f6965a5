"""The operands of an attention's products, as tiles take them."""
from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from legato.analysis.block_attention import number
from legato.analysis.products import maker, multiplied_as
from legato.core.mlir import arith, ir
from legato.dialects.tir.loops import BlockOp

WIDENED = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.negf", "arith.select", "arith.maximumf", "arith.minimumf",
           "arith.maxnumf", "arith.minnumf", "math.tanh")


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


def scaling(value: ir.Value, products: Sequence[ir.Value]) -> float | None:
    """The constant by which a product is multiplied for a value, which may be rounded on the way; None for any other value."""
    narrow = multiplied_as(value)[0]
    rounded = maker(narrow, "arith.truncf")
    if rounded is not None:
        return scaling(rounded.operands[0], products)
    if narrow in products:
        return 1.0
    product = maker(narrow, "arith.mulf")
    for other, constant in () if product is None else (tuple(product.operands), tuple(product.operands)[::-1]):
        factor, inner = number(constant), scaling(other, products)
        if factor is not None and inner is not None:
            return factor * inner
    return None


def widened(value: ir.Value, wide: dict[ir.Value, ir.Value], mapping: dict[ir.Value, ir.Value], block: BlockOp) -> ir.Value:
    """As ``copied``, but float arithmetic is of f32, and nothing is rounded on the way. ``wide``: values in f32 for some, ``mapping``:
    values of their own types."""
    f32 = ir.F32Type.get()
    if value in wide:
        return wide[value]
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if op is not None and op.name in ("arith.extf", "arith.truncf"):
        wide[value] = widened(op.operands[0], wide, mapping, block)
    elif op is not None and op.name in WIDENED and op.block == block.block:
        operands = [widened(one, wide, mapping, block) if isinstance(one.type, ir.FloatType) else copied(one, mapping, block)
                    for one in op.operands]
        wide[value] = ir.Operation.create(op.name, [f32], operands, {name: op.attributes[name] for name in op.attributes}).results[0]
    elif (constant := number(value)) is not None:
        wide[value] = arith.ConstantOp(f32, ir.FloatAttr.get(f32, constant)).result
    else:
        plain = copied(value, mapping, block)
        wide[value] = plain if plain.type == f32 else arith.extf(f32, plain)
    return wide[value]
