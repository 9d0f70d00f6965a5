"""Slices, paddings and parts whose places are computed at run time."""
from collections.abc import Sequence

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size
from legato.frontends.onnx import run_time
from legato.frontends.onnx.problems import Malformed, Refused


def slice_by_data(node) -> ir.Value:
    """Slice with starts, ends, axes or steps that are data: ONNX's clipping as arithmetic on vectors, with one element for each axis."""
    rank, given = node.rank(), node.dims()
    starts, ends = run_time.integers(node, 1, "starts"), run_time.integers(node, 2, "ends")
    length = run_time.count(starts)
    if run_time.count(ends) != length or any(node.given(i) and node.dims(i) != (length,) for i in (3, 4)):
        raise Malformed(f"its starts, ends, axes and steps must have one length, have {[node.dims(i) for i in range(1, len(node))]}")
    if not length:
        return node.x()
    one, zero = run_time.literal(1), run_time.literal(0)
    steps = run_time.integers(node, 4, "steps") if node.given(4) else run_time.literal([1] * length)
    is_forward = not node.given(4) or (not node.by_data(4) and set(node.ints(4, "steps")) == {1})
    valid = run_time.all_of(relax.not_equal(steps, zero))
    if node.given(3) and node.by_data(3):
        axes, listed = run_time.integers(node, 3, "axes"), range(rank)
        flags, exist = run_time.marked(axes, rank)
        rows, valid = run_time.rows_of(run_time.counted_from_front(axes, rank)[0], rank), relax.logical_and(valid, exist)
        starts, ends, steps = (run_time.spread(rows, values) for values in (starts, ends, steps))
        ends = relax.where(flags, ends, run_time.literal(np.iinfo(np.int64).max))
        steps = relax.where(flags, steps, one)
        sizes = run_time.vector(node, given)
    else:
        listed = node.axes(node.ints(3, "axes") if node.given(3) else range(length), rank)
        sizes = run_time.vector(node, [given[axis] for axis in listed])
    steps = relax.where(relax.equal(steps, zero), one, relax.maximum(steps, run_time.literal(-np.iinfo(np.int64).max)))  # to be negated
    backwards = relax.less(steps, zero)
    last = relax.subtract(sizes, one)
    lowest, highest = relax.where(backwards, run_time.literal(-1), zero), relax.where(backwards, last, sizes)
    starts, ends = (relax.where(relax.less(places, zero), relax.add(places, sizes), places) for places in (starts, ends))
    starts = run_time.clamped(starts, zero, highest)      # a start before the axis is its first element, also backwards
    ends = run_time.clamped(ends, lowest, highest)
    distance, stride = (relax.where(backwards, relax.negative(x), x) for x in (relax.subtract(ends, starts), steps))
    counts = relax.maximum(relax.negative(relax.floor_divide(relax.negative(distance), stride)), zero)
    counts = run_time.valid_or_negative(counts, valid)
    if is_forward:
        both = run_time.symbols(node, run_time.joined(relax.maximum(starts, zero), counts), "slice")
        begins, taken = both[:len(listed)], both[len(listed):]
        return relax.strided_slice(node.x(), begin=begins, end=[a + b for a, b in zip(begins, taken)], axes=list(listed))
    x = node.x()
    for number, (axis, size) in enumerate(zip(listed, run_time.symbols(node, counts, "slice"))):
        start, step = (relax.strided_slice(values, begin=[number], end=[number + 1]) for values in (starts, steps))
        x = relax.take(x, run_time.counted(size, start, step), axis=axis)
    return x


def split_by_data(node, used: Sequence[bool]) -> tuple[ir.Value, ...]:
    """Split into parts whose sizes are data; together they must be the axis. Those that are not used are not built."""
    axis, x = node.axis(node.integer("axis", 0), node.rank()), node.x()
    node.ignore("num_outputs")
    sizes = run_time.integers(node, 1, "sizes")
    if run_time.count(sizes) != len(used):
        raise Malformed(f"its split has {run_time.count(sizes)} sizes, for {len(used)} outputs")
    parts = run_time.symbols(node, sizes, "part")
    total: Size = 0
    results = []
    for part, is_used in zip(parts, used):
        results.append(relax.strided_slice(x, begin=[total], end=[total + part], axes=[axis]) if is_used else x)
        total = total + part
    node.require_equal(total, node.dims()[axis], f"the sizes of its parts, {total}, to be {node.dims()[axis]}, that of its axis {axis}")
    return tuple(results)


def pad_by_data(node, mode: str, value: ir.Value) -> ir.Value:
    """Pad with amounts or axes that are data: what negative ones cut off is cut off first, then the axes are padded one by one."""
    rank, given, x = node.rank(), node.dims(), node.x()
    pads, zero = run_time.integers(node, 1, "pads"), run_time.literal(0)
    length, valid = run_time.count(pads) // 2, None
    before, behind = (relax.strided_slice(pads, begin=[i * length], end=[(i + 1) * length]) for i in (0, 1))
    if node.version >= 18 and node.given(3):
        axes = run_time.integers(node, 3, "axes")
        if run_time.count(axes) != length or run_time.count(pads) != 2 * length:
            raise Malformed(f"it has {run_time.count(pads)} pads for {run_time.count(axes)} axes")
        _, valid = run_time.marked(axes, rank)
        rows = run_time.rows_of(run_time.counted_from_front(axes, rank)[0], rank)
        before, behind = run_time.spread(rows, before), run_time.spread(rows, behind)
    elif run_time.count(pads) != 2 * rank:
        raise Malformed(f"it has {run_time.count(pads)} pads for an input of rank {rank}: expected {2 * rank}")
    if not rank:
        return x
    cut, cut_behind = (relax.maximum(relax.negative(p), zero) for p in (before, behind))
    kept = relax.subtract(relax.subtract(run_time.vector(node, given), cut), cut_behind)
    numbers = [cut, kept, relax.maximum(before, zero), relax.maximum(behind, zero)]
    numbers = run_time.joined(*numbers)
    found = run_time.symbols(node, numbers if valid is None else run_time.valid_or_negative(numbers, valid), "pad")
    begins, low, high = (found[i * rank:(i + 1) * rank] for i in (0, 2, 3))
    sizes: list[Size] = [*found[rank:2 * rank]]
    x = relax.strided_slice(x, begin=begins, end=[a + b for a, b in zip(begins, sizes)])
    for axis in range(rank):
        if mode == "constant":
            around = [relax.broadcast_to(value, shape=[*sizes[:axis], amount, *sizes[axis + 1:]]) for amount in (low[axis], high[axis])]
            x = relax.concat([around[0], x, around[1]], axis=axis)
        else:
            x = read_around(node, x, axis, low[axis], high[axis], mode)
        sizes[axis] = low[axis] + sizes[axis] + high[axis]
    return x


def read_around(node, x: ir.Value, axis: int, low: Size, high: Size, mode: str) -> ir.Value:
    """Pads an axis by elements from inside of it."""
    size = relax.TensorType.of(x.type).dims[axis]
    places = run_time.counted(low + size + high, start=run_time.vector(node, [-low]))
    return relax.take(x, _folded(places, run_time.vector(node, [size]), mode), axis=axis)


def _folded(places: ir.Value, size: ir.Value, mode: str) -> ir.Value:
    """Places outside of an axis of a size ([1]), mapped into it by ``mode``."""
    zero, one = run_time.literal(0), run_time.literal(1)
    if mode == "edge":
        return run_time.clamped(places, zero, relax.subtract(size, one))
    if mode == "wrap":
        return relax.mod(places, relax.maximum(size, one))
    if mode != "reflect":
        raise Refused(f"mode = '{mode}' is not supported with pads that are computed at run time")
    last = relax.subtract(size, one)
    period = relax.maximum(relax.multiply(last, run_time.literal(2)), one)
    around = relax.mod(places, period)
    return relax.minimum(around, relax.subtract(period, around))
