"""Determinants, by Gaussian elimination with pivots."""
import numpy as np

from legato.core.ir_helpers import index
from legato.core.mlir import arith, ir
from legato.dialects import relax
from legato.frontends.onnx import regions, run_time
from legato.frontends.onnx.elimination import square_matrices
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.node import OnnxNode

UNROLLED = 4   # columns up to which each step is code of its own, on what is left of the matrix
PARTS, LEAST_PART = 4, 8    # of the columns: a loop for each works on what is left, and has so many steps at least
BLOCKED, BLOCK = 64, 16     # columns from which on a part's are cleared alone, and the others behind it by a product; a part's then, at
MOST_PARTS = 8              # least, where parts are more than PARTS: each is code of its own


@op("Det", 11, 22)
def det(node):
    """Det: the product of the pivots, with the sign of the exchanges of rows."""
    x, batch, rows = square_matrices(node)
    found = relax.broadcast_to(node.literal(1, node.dtype()), shape=[relax.dims.product(batch)])
    if isinstance(rows, int) and rows <= UNROLLED:
        return relax.reshape(_unrolled(node, x, found, rows), shape=batch)
    # the column of a step comes first: a matrix and its transpose have the same determinant
    x = relax.permute_dims(x, axes=[2, 0, 1])
    left = relax.broadcast_to(relax.constant(np.True_), shape=list(relax.TensorType.of(x.type).dims[1:]))

    states = [x, found, left]
    if not isinstance(rows, int):
        return relax.reshape(_cleared(node, rows, states)[1], shape=batch)
    part = _part(rows)
    for done in range(0, rows, part):
        if done:    # the columns that are cleared are read no more
            states[0] = relax.strided_slice(states[0], begin=[part], end=[rows - done + part], axes=[0])
        is_block = rows >= BLOCKED and done + part < rows
        states = _block(node, part, states) if is_block else _cleared(node, min(part, rows - done), states)
    return relax.reshape(states[1], shape=batch)


def _part(columns: int) -> int:
    """The columns of a part: an even number where it is cleared alone."""
    parts = max(PARTS, min(MOST_PARTS, columns // BLOCK))
    part = max(LEAST_PART, -(-columns // parts))
    return part + part % 2 if columns >= BLOCKED else part


def _block(node: OnnxNode, steps: int, states: list[ir.Value]) -> list[ir.Value]:
    """The states after the steps of the first columns: these are cleared alone. In the others the rows of the pivots, each less what the
    pivots before it take off, times the factors of the steps are taken off at once."""
    x, found, left = states
    columns, matrices, rows = relax.TensorType.of(x.type).dims
    panel = relax.strided_slice(x, begin=[0], end=[steps], axes=[0])
    kind, place = relax.TensorType.of(left.type), relax.TensorType.of(run_time.counted(rows).type)
    slices = [kind.with_dtype(relax.TensorType.of(x.type).dtype), place.with_dims((matrices, 1))]

    def two_steps(at: regions.Turn, states: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        first = arith.MulIOp(at.index, index(2)).result
        *states, factor, best = _step_with_factor(node, first, *states)
        *states, second, other = _step_with_factor(node, arith.AddIOp(first, index(1)).result, *states)
        return states, [factor, best, second, other]

    (panel, found, left), stacks = regions.loop(node.emitter, steps // 2, [panel, found, left], two_steps, stacked=slices * 2,
                                                backwards=[False] * 4)
    factors, places = (relax.reshape(relax.concat([relax.expand_dims(one, axis=[1]) for one in both], 1),
                                     [steps, *relax.TensorType.of(both[0].type).dims[1:]]) for both in (stacks[::2], stacks[1::2]))
    factors, places = relax.permute_dims(factors, axes=[1, 0, 2]), relax.permute_dims(relax.squeeze(places, axis=[2]), axes=[1, 0])
    others = relax.permute_dims(relax.strided_slice(x, begin=[steps], end=[columns], axes=[0]), axes=[1, 0, 2])
    wanted = relax.expand_dims(places, axis=[1])     # [matrices, 1, steps]
    pivots = relax.gather_elements(others, relax.broadcast_to(wanted, shape=[matrices, columns - steps, steps]), axis=2)
    taken = relax.gather_elements(factors, relax.broadcast_to(wanted, shape=[matrices, steps, steps]), axis=2)   # by a step off a pivot's
    pivots, taken = relax.permute_dims(pivots, axes=[2, 0, 1]), relax.permute_dims(taken, axes=[1, 0, 2])

    def less(states: list[ir.Value], place: ir.Value) -> list[ir.Value]:
        row = relax.expand_dims(regions.slice_at(states[0], place), axis=[0])          # [1, matrices, columns]
        by = relax.expand_dims(relax.permute_dims(regions.slice_at(taken, place), axes=[1, 0]), axis=[2])     # [steps, matrices, 1]
        return [relax.subtract(states[0], relax.multiply(row, by))]

    def two_less(at: regions.Turn, states: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        first = arith.MulIOp(at.index, index(2)).result
        return less(less(states, first), arith.AddIOp(first, index(1)).result), []

    (pivots,), _ = regions.loop(node.emitter, steps // 2, [pivots], two_less)
    others = relax.subtract(others, relax.matmul(relax.permute_dims(pivots, axes=[1, 2, 0]), factors))
    others = relax.permute_dims(others, axes=[1, 0, 2])
    return [relax.concat([panel, others], 0), found, left]


def _cleared(node: OnnxNode, steps: relax.dims.Size, states: list[ir.Value]) -> list[ir.Value]:
    """The states after so many steps, two at a time: the second one writes the matrices where the first one read them, and a loop of single
    ones would copy them."""
    def two_steps(at: regions.Turn, states: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        first = arith.MulIOp(at.index, index(2)).result
        return _step(node, arith.AddIOp(first, index(1)).result, *_step(node, first, *states)), []

    def last_step(at: regions.Turn, states: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        last = relax.dims.materialize(steps - 1, node.emitter.function)
        return _step(node, last, *states), []

    if steps != 1:
        states, _ = regions.loop(node.emitter, steps // 2, states, two_steps)
    if isinstance(steps, int) and steps % 2:
        return _step(node, index(steps - 1), *states)
    return states if isinstance(steps, int) else regions.loop(node.emitter, steps % 2, states, last_step)[0]


def _step(node: OnnxNode, place: ir.Value, x: ir.Value, found: ir.Value, left: ir.Value) -> list[ir.Value]:
    """The states after the step that clears the column at a place."""
    return _step_with_factor(node, place, x, found, left)[:3]


def _step_with_factor(node: OnnxNode, place: ir.Value, x: ir.Value, found: ir.Value, left: ir.Value) -> list[ir.Value]:
    """Clears the column at a place, x [columns, matrices, rows], in the rows that are ``left`` but for its pivot's, and multiplies what is
    found by the pivot. Rows stay where they are: the pivot's would change places with those in front of it that are left, each of which
    changes the sign."""
    one, minus, zero = (node.literal(value, node.dtype()) for value in (1, -1, 0))
    shape = relax.TensorType.of(x.type).dims
    row = relax.expand_dims(run_time.counted(shape[2]), axis=[0])         # [1, rows]
    column = regions.slice_at(x, place)
    best = relax.argmax(relax.where(left, relax.abs(column), minus), axis=1, keepdims=True)       # [matrices, 1]
    pivot = relax.gather_elements(column, best, axis=1)
    in_front = relax.logical_and(left, relax.less(row, best))
    sign = relax.prod(relax.where(in_front, minus, one), axis=[1])
    left = relax.logical_and(left, relax.not_equal(row, best))
    factor = relax.where(left, relax.divide(column, relax.where(relax.equal(pivot, zero), one, pivot)), zero)
    pivots = relax.gather_elements(x, relax.broadcast_to(best, shape=[*shape[:2], 1]), axis=2)
    x = relax.subtract(x, relax.multiply(pivots, relax.expand_dims(factor, axis=[0])))
    return [x, relax.multiply(found, relax.multiply(relax.squeeze(pivot, axis=[1]), sign)), left, factor, best]


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
