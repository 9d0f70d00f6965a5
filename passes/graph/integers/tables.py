"""Gathers from constant tables that a graph dequantizes, such as embeddings: what is gathered is dequantized, from integers in their
bits."""
from __future__ import annotations

import math

import numpy as np

from legato.core.ir_helpers import defining_op
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.relax.dims import UNKNOWN, dims, product
from legato.passes.graph.functions import CONSTANT, Constants, graph_ops, replace_uses
from legato.passes.graph.integers.quantized import BYTES

LARGE = 1 << 14   # elements of tables for which this pays
BINARY = {"relax.multiply": relax.multiply, "relax.subtract": relax.subtract, "relax.add": relax.add}


def rewrite_gathers(function: func.FuncOp, constants: Constants) -> None:
    """Rewrites the gathers of one function."""
    for op in graph_ops(function):
        if op.name == "relax.take" and _takes(op):
            with ir.InsertionPoint(op), op.location:
                found = _of_rows(op, constants)
                if found is not None:
                    replace_uses(op.results[0], found)
    for op in graph_ops(function):
        if op.name == "relax.take" and _takes(op):
            with ir.InsertionPoint(op), op.location:
                found = _of_few_bits(op, constants)
                if found is not None:
                    replace_uses(op.results[0], found)


def _takes(op: ir.Operation) -> bool:
    """Whether a gather reads a large table at indices that are no constants."""
    table, indices = op.operands
    maker = defining_op(indices)
    return (table.type.has_static_shape and math.prod(table.type.shape) >= LARGE and UNKNOWN not in dims(indices.type)
            and (maker is None or maker.name != CONSTANT))


# --- what is gathered is dequantized, not the table ---


def _of_rows(op: ir.Operation, constants: Constants) -> ir.Value | None:
    """A gather of rows of a table that elementwise ops compute from constants: these ops on rows of the constants."""
    table, indices = op.operands
    rank = table.type.rank
    if relax.attributes_of(op)["axis"] % rank or not _is_computed(table, rank, constants):
        return None
    rows = relax.reshape(indices, [product(dims(indices.type))]) if indices.type.rank != 1 else indices
    found = _gathered(table, rows, rank)
    return found if indices.type.rank == 1 else relax.reshape(found, [*dims(indices.type), *dims(found.type)[1:]])


def _is_computed(value: ir.Value, rank: int, constants: Constants, depth: int = 0) -> bool:
    """Whether a value is made from constants by ops that compute each row from rows; ``rank``: that of a tensor with rows. Not a constant
    itself, at the outermost."""
    op = defining_op(value)
    if op is None:
        return False
    if op.name == CONSTANT:
        return depth > 0
    if op.name in BINARY or op.name == "relax.astype":
        return all(_is_computed(operand, rank, constants, depth + 1) for operand in op.operands)
    if op.name == "relax.expand_dims" and value.type.rank == rank:
        axes = [axis % rank for axis in relax.attributes_of(op)["axis"]]
        return 0 not in axes and _is_computed(op.operands[0], rank - len(axes), constants, depth + 1)
    if op.name == "relax.take" and value.type.rank == op.operands[0].type.rank == rank:
        along = relax.attributes_of(op)["axis"] % rank
        return along > 0 and constants.array(op.operands[1]) is not None and _is_computed(op.operands[0], rank, constants, depth + 1)
    return False


def _gathered(value: ir.Value, rows: ir.Value, rank: int) -> ir.Value:
    """Rows of a value for which ``_is_computed`` holds; what is the same for all rows stays as it is."""
    op = defining_op(value)
    assert op is not None
    if value.type.rank < rank or value.type.shape[0] == 1:
        return value
    if op.name == CONSTANT:
        return relax.take(value, rows, axis=0)
    attributes = relax.attributes_of(op)
    if op.name in BINARY:
        return BINARY[op.name](*(_gathered(operand, rows, rank) for operand in op.operands))
    if op.name == "relax.astype":
        return relax.astype(_gathered(op.operands[0], rows, rank), **attributes)
    if op.name == "relax.expand_dims":
        return relax.expand_dims(_gathered(op.operands[0], rows, rank - len(attributes["axis"])), **attributes)
    return relax.take(_gathered(op.operands[0], rows, rank), op.operands[1], **attributes)


# --- integers of few bits ---


def _of_few_bits(op: ir.Operation, constants: Constants) -> ir.Value | None:
    """A gather from a constant table of bytes that need 2 or 4 bits: it stays packed, several elements of the last axis to a byte."""
    table, indices = op.operands
    axis, last = relax.attributes_of(op)["axis"] % table.type.rank, table.type.rank - 1
    array = constants.array(table)
    if array is None or array.dtype not in BYTES or axis == last:
        return None
    low, high = int(array.min()), int(array.max())
    bits, least = next(((bits, least) for bits in (2, 4) for least in [0 if low >= 0 else -(1 << (bits - 1))]
                        if least <= low and high < least + (1 << bits)), (8, 0))
    per = 8 // bits
    if per == 1 or array.shape[-1] % per:
        return None
    codes = (array.astype(np.int16) - least).astype(np.uint8).reshape(*array.shape[:-1], -1, per)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    packed = np.bitwise_or.reduce(codes << shifts, axis=-1).astype(np.uint8)
    found = relax.take(constants.build(packed, f"{constants.name_of(table, default='table')}.packed"), indices, axis=axis)
    parts = relax.right_shift(relax.expand_dims(found, axis=[found.type.rank]), relax.constant(shifts))
    values = relax.bitwise_and(parts, relax.constant(np.uint8((1 << bits) - 1)))
    values = relax.reshape(values, [*dims(found.type)[:-1], array.shape[-1]])
    if array.dtype == np.uint8:
        return values
    values = relax.astype(values, dtype=np.dtype(np.int8))
    return relax.add(values, relax.constant(np.int8(least))) if least else values
