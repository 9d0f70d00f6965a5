"""Inverses of matrices, by Gauss-Jordan elimination with pivots."""
from legato.core.mlir import ir
from legato.dialects import relax
from legato.frontends.onnx import regions, run_time
from legato.frontends.onnx.elimination import square_matrices
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.node import OnnxNode
from legato.frontends.onnx.ops.halves import in_32_bits


@op("Inverse", 1, domain="com.microsoft")
def inverse(node):
    """The inverses of square matrices. Elements of those that have none are infinite or NaN."""
    x, batch, rows = square_matrices(node)
    return relax.reshape(in_32_bits(_inverses)(x, node), shape=[*batch, rows, rows])


def _inverses(x: ir.Value, node: OnnxNode) -> ir.Value:
    """The inverses of [matrices, rows, rows]: what turns them into unit matrices turns these into them."""
    count, rows, _ = relax.TensorType.of(x.type).dims
    place = run_time.counted(rows)
    unit = relax.astype(relax.equal(relax.expand_dims(place, axis=[1]), place), dtype=relax.TensorType.of(x.type).dtype)
    unit = relax.broadcast_to(relax.expand_dims(unit, axis=[1]), shape=[rows, count, rows])
    states = [relax.concat([relax.permute_dims(x, axes=[2, 0, 1]), unit], axis=0)]     # [columns, matrices, rows]

    def turn(at: regions.Turn, before: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        return [_step(at, before[0])], []

    (states, _) = regions.loop(node.emitter, rows, states, turn)
    return relax.permute_dims(relax.strided_slice(states[0], begin=[rows], end=[rows + rows], axes=[0]), axes=[1, 2, 0])


def _step(at: regions.Turn, x: ir.Value) -> ir.Value:
    """Makes a column that of a unit matrix: the row of its greatest element from the diagonal on comes to the diagonal, divided by that."""
    shape = relax.TensorType.of(x.type).dims
    row = relax.expand_dims(run_time.counted(shape[2]), axis=[0])                                     # [1, rows]
    column = regions.slice_at(x, at.index)                                                            # [matrices, rows]
    order = _pivot_order(row, column, at)
    x = relax.gather_elements(x, relax.broadcast_to(order, shape=shape), axis=2)
    column = relax.gather_elements(column, order, axis=1)
    on_diagonal = relax.equal(row, at.number)
    pivots = relax.gather_elements(x, relax.broadcast_to(at.number, shape=[*shape[:2], 1]), axis=2)   # [columns, matrices, 1]
    pivot = relax.gather_elements(column, relax.broadcast_to(at.number, shape=[shape[1], 1]), axis=1)
    scaled = relax.divide(pivots, pivot)
    return relax.where(on_diagonal, scaled, relax.subtract(x, relax.multiply(scaled, column)))


def _pivot_order(row: ir.Value, column: ir.Value, at: regions.Turn) -> ir.Value:
    """The rows of each matrix, [matrices, rows], in the order in which the step's own row, and the one from there on whose element in a
    column is the greatest, have changed places. ``row``: the rows' numbers, [1, rows]; ``column``: [matrices, rows]."""
    minus = relax.constant(relax.TensorType.of(column.type).dtype.type(-1))
    best = relax.argmax(relax.where(relax.less(row, at.number), minus, relax.abs(column)), axis=1)
    best = relax.expand_dims(best, axis=[1])
    return relax.where(relax.equal(row, best), at.number, relax.where(relax.equal(row, at.number), best, row))


ENTRIES = (inverse,)
