"""Determinants, by Gaussian elimination with pivots."""
import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.frontends.onnx import regions, run_time
from legato.frontends.onnx.elimination import pivot_order, square_matrices
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.node import OnnxNode

UNROLLED = 4   # columns up to which each step is code of its own, on what is left of the matrix


@op("Det", 11, 22)
def det(node):
    """Det: the product of the pivots, with the sign of the exchanges of rows."""
    x, batch, rows = square_matrices(node)
    found = relax.broadcast_to(node.literal(1, node.dtype()), shape=[relax.dims.product(batch)])
    if isinstance(rows, int) and rows <= UNROLLED:
        return relax.reshape(_unrolled(node, x, found, rows), shape=batch)
    # the column of a step comes first: a matrix and its transpose have the same determinant
    states = [relax.permute_dims(x, axes=[2, 0, 1]), found]

    def turn(at: regions.Turn, before: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        return list(_step(node, at, *before)), []

    (_, found), _ = regions.loop(node.emitter, rows, states, turn)
    return relax.reshape(found, shape=batch)


def _step(node: OnnxNode, at: regions.Turn, x: ir.Value, found: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Clears a column below its pivot, x [columns, matrices, rows], and multiplies what is found by the pivot."""
    one, zero = (node.literal(value, node.dtype()) for value in (1, 0))
    row = relax.expand_dims(run_time.counted(relax.TensorType.of(x.type).dims[2]), axis=[0])         # [1, rows]
    column = regions.slice_at(x, at.index)
    best, order = pivot_order(row, column, at)
    column = relax.gather_elements(column, order, axis=1)
    place = relax.broadcast_to(at.number, shape=relax.TensorType.of(best.type).dims)
    pivot = relax.gather_elements(column, place, axis=1)                                             # [matrices, 1]
    factor = relax.divide(column, relax.where(relax.equal(pivot, zero), one, pivot))
    factor = relax.where(relax.greater(row, at.number), factor, zero)
    shape = relax.TensorType.of(x.type).dims
    x = relax.gather_elements(x, relax.broadcast_to(order, shape=shape), axis=2)
    pivots = relax.gather_elements(x, relax.broadcast_to(at.number, shape=[*shape[:2], 1]), axis=2)
    x = relax.subtract(x, relax.multiply(pivots, relax.expand_dims(factor, axis=[0])))
    flat = relax.squeeze(pivot, axis=[1])
    swaps = relax.not_equal(relax.squeeze(best, axis=[1]), at.number)
    return x, relax.multiply(found, relax.where(swaps, relax.negative(flat), flat))


def _unrolled(node: OnnxNode, x: ir.Value, found: ir.Value, rows: int) -> ir.Value:
    """The determinants of x [matrices, rows, rows], each step on what the one before left."""
    count, dtype = relax.TensorType.of(x.type).dims[0], node.dtype()
    one, zero = node.literal(1, dtype), node.literal(0, dtype)
    for left in range(rows, 0, -1):
        column = relax.squeeze(relax.strided_slice(x, begin=[0], end=[1], axes=[2]), axis=[2])
        best = relax.expand_dims(relax.argmax(relax.abs(column), axis=1), axis=[1])      # [matrices, 1]
        number = node.literal(np.arange(left))
        order = relax.where(relax.equal(number, best), node.literal(0), number)
        order = relax.where(relax.equal(number, node.literal(0)), best, order)          # the pivot's row and the first one change places
        order = relax.broadcast_to(relax.expand_dims(order, axis=[2]), shape=[count, left, left])
        x = relax.gather_elements(x, order, axis=1)
        pivot = relax.strided_slice(x, begin=[0, 0], end=[1, 1], axes=[1, 2])
        flat = relax.reshape(pivot, shape=[count])
        swaps = relax.not_equal(relax.squeeze(best, axis=[1]), node.literal(0))
        found = relax.multiply(found, relax.where(swaps, relax.negative(flat), flat))
        if left > 1:
            first = relax.strided_slice(x, begin=[0, 1], end=[1, left], axes=[1, 2])
            below = relax.strided_slice(x, begin=[1, 0], end=[left, 1], axes=[1, 2])
            factor = relax.divide(below, relax.where(relax.equal(pivot, zero), one, pivot))
            x = relax.subtract(relax.strided_slice(x, begin=[1, 1], end=[left, left], axes=[1, 2]), relax.multiply(factor, first))
    return found


ENTRIES = (det,)
