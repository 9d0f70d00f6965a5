"""Where a pool's elements lie: MaxPool's second output, and MaxUnpool, which takes it."""
from collections.abc import Sequence

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size, product
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.windows import Window, read_steps
from legato.frontends.onnx.problems import Malformed


def numbered_elements(node, places: ir.Value, pooled: ir.Value, window: Window, by_columns: bool) -> ir.Value:
    """The numbers of elements in the node's whole input, of their numbers among the spatial axes of ``pooled``: the input, or what
    ``shifted`` made of it. ``by_columns``: the first spatial axis is that of neighbours in memory, and the last the outermost."""
    sizes, inner = node.dims()[2:], relax.TensorType.of(pooled.type).dims[2:]
    if by_columns or any(window.shifts):
        at = _coordinates(node, places, inner)
        for axis, shift in enumerate(window.shifts):
            if shift is not None:   # where all elements of a window are the lowest, as is what pads it, its first one counts
                here = relax.add(at[axis], run_time.vector(node, [shift.begin - window.padding[axis]]))
                inside = relax.mod(here, run_time.literal([window.dilations[axis]]))
                at[axis] = relax.where(relax.less(here, run_time.literal(0)), inside, here)
        places = _number(node, at[::-1], sizes[::-1]) if by_columns else _number(node, at, sizes)
    planes = relax.reshape(run_time.counted(node.dims()[0] * node.dims()[1]), shape=[*node.dims()[:2], *[1] * len(sizes)])
    return relax.add(relax.multiply(planes, run_time.vector(node, [product(sizes)])), places)


def _coordinates(node, numbers: ir.Value, sizes: Sequence[Size]) -> list[ir.Value]:
    """The index along each axis of elements given by their numbers in row-major order."""
    found = []
    for size in reversed(sizes[1:]):
        extent = run_time.vector(node, [size])
        found.append(relax.mod(numbers, extent))
        numbers = relax.floor_divide(numbers, extent)
    return [numbers, *reversed(found)]


def _number(node, at: Sequence[ir.Value], sizes: Sequence[Size]) -> ir.Value:
    """The numbers in row-major order of elements given by their index along each axis."""
    numbers = at[0]
    for index, size in zip(at[1:], sizes[1:]):
        numbers = relax.add(relax.multiply(numbers, run_time.vector(node, [size])), index)
    return numbers


@op("MaxUnpool", 9, 11, 22)
def max_unpool(node):
    """MaxUnpool: zeros, with each element where its number says. Numbers count in the shape that the kernel, strides and pads give; an
    output_shape adds zeros behind it."""
    kernel, rank = node.integers("kernel_shape"), node.rank() - 2
    strides, pads = read_steps(node, "strides", len(kernel)), node.integers("pads", [0] * (2 * len(kernel)))
    if len(kernel) != rank or min(kernel) < 1 or len(pads) != 2 * rank:
        raise Malformed(f"kernel_shape = {kernel} and pads = {pads} do not fit an input of rank {node.rank()}")
    inner = [(size - 1) * strides[axis] + kernel[axis] - pads[axis] - pads[rank + axis] for axis, size in enumerate(node.dims()[2:])]
    shape, numbers = [*node.dims()[:2], *inner], node.x(1)
    if node.given(2):
        wanted = _output_shape(node)
        for axis, (size, least) in enumerate(zip(wanted, shape)):
            node.require_at_least(size, least, f"output_shape[{axis}] = {size} to be {least} or more")
        numbers, shape = _number(node, _coordinates(node, numbers, shape), wanted), wanted
    zeros = relax.broadcast_to(node.literal(0, node.dtype()), shape=[product(shape)])
    filled = relax.scatter_elements(zeros, relax.reshape(numbers, shape=[-1]), relax.reshape(node.x(), shape=[-1]), axis=0)
    return relax.reshape(filled, shape=shape)


def _output_shape(node) -> list[Size]:
    if node.by_data(2):
        sizes: Sequence[Size] = run_time.symbols(node, run_time.integers(node, 2, "output sizes"), "size")
    else:
        sizes = node.sizes(2, "the output_shape")
    if len(sizes) != node.rank():
        raise Malformed(f"output_shape has {len(sizes)} sizes, its input {node.rank()}")
    return list(sizes)


ENTRIES = (max_unpool,)
