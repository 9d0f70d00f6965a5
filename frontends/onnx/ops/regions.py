"""Regions of images, and images assembled from regions: RoiAlign, Col2Im, DeformConv."""
import itertools
import math
from dataclasses import dataclass

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size, floor_divide, product
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.sampling import Extents, linear_taps, number, summed
from legato.frontends.onnx.ops.windows import auto_padding
from legato.frontends.onnx.problems import Malformed, Refused


@op("RoiAlign", 10, 16, 22)
def roi_align(node):
    """RoiAlign. Each region is divided into bins, and each bin sampled between the pixels at several points: their mean, or maximum.

    A sampling_ratio of 0 takes as many points along an axis as pixels are in a bin: of each region its own number, of the greatest that
    are computed.
    """
    mode, ratio = node.text("mode", "avg", "max"), node.integer("sampling_ratio", 0)
    half = node.version >= 16 and node.text("coordinate_transformation_mode", "half_pixel", "output_half_pixel") == "half_pixel"
    scale, bins = node.number("spatial_scale", 1.0), [node.integer(f"output_{side}", 1) for side in ("height", "width")]
    images, channels, *sizes = node.dims()
    extents = Extents(node)
    regions = node.dims(1)[0]
    rois = relax.subtract(relax.multiply(node.x(1), number(node.x(1), scale)), number(node.x(1), 0.5 if half else 0.0))
    corner = lambda i: relax.strided_slice(rois, begin=[i], end=[i + 1], axes=[1])  # noqa: E731
    axes, points = [], []
    for axis, (size, count) in enumerate(zip(sizes, bins)):
        start, end = corner(1 - axis), corner(3 - axis)
        length = relax.subtract(end, start)
        length = length if half else relax.maximum(length, number(length, 1))
        points.append(_fixed_points(node, count, ratio) if ratio > 0 else _points_by_pixels(node, length, count))
        place = relax.add(start, relax.multiply(length, points[-1].steps))
        axes.append([(relax.expand_dims(index, axis=[2 - axis]), relax.expand_dims(weight, axis=[2 - axis]))
                     for index, weight in _clamped_taps(extents, place, size)])  # [regions, places, 1], [regions, 1, places]
    image = relax.reshape(relax.permute_dims(node.x(), axes=[1, 0, 2, 3]), shape=[channels, relax.dims.product([images, *sizes])])
    first = relax.multiply(relax.astype(node.x(2), dtype=np.int64), run_time.vector(node, [product(sizes)]))
    first = relax.expand_dims(first, axis=[1, 2])
    combine, found = relax.add if mode == "avg" else relax.maximum, None
    for (row, height), (column, width) in itertools.product(*axes):
        index = relax.add(first, relax.add(relax.multiply(row, extents.number(row, sizes[1])), column))
        value = relax.multiply(relax.take(image, index, axis=1), relax.multiply(height, width))
        found = value if found is None else combine(found, value)
    found = relax.reshape(found, shape=[channels, regions, bins[0], points[0].most, bins[1], points[1].most])
    found = _of_bins(found, mode, *points)
    return relax.permute_dims(found, axes=[1, 0, 2, 3])


@dataclass(frozen=True)
class _Points:
    """Where the bins of regions are sampled along an axis: ``steps``, in parts of a region's length ([1 or regions, bins * most]), ``most``
    for each bin. ``count``: how many of them a region has ([regions, 1]); None for all."""

    steps: ir.Value
    most: Size
    count: ir.Value | None = None


def _fixed_points(node, bins: int, ratio: int) -> _Points:
    steps = (np.arange(bins)[:, None] + (np.arange(ratio) + 0.5) / ratio).reshape(1, -1) / bins
    return _Points(node.literal(steps, node.dtype()), ratio)


def _points_by_pixels(node, length: ir.Value, bins: int) -> _Points:
    """A point for each pixel along a bin. ``length``: of the regions, [regions, 1]."""
    count = relax.ceil(relax.divide(length, number(length, bins)))
    none = relax.broadcast_to(number(length, 0), shape=[1, 1])
    greatest = relax.max(relax.concat([none, count], axis=0), axis=[0])
    (most,) = run_time.symbols(node, relax.astype(greatest, dtype=np.int64), "points")
    place = relax.add(relax.astype(run_time.counted(most), dtype=node.dtype(1)), number(length, 0.5))
    inside = relax.expand_dims(relax.divide(place, relax.maximum(count, number(count, 1))), axis=[1])   # [regions, 1, most]
    steps = relax.divide(relax.add(node.literal(np.arange(bins)[:, None], node.dtype(1)), inside), number(length, bins))
    return _Points(relax.reshape(steps, shape=[node.dims(1)[0], bins * most]), most, count)


def _of_bins(values: ir.Value, mode: str, rows: _Points, columns: _Points) -> ir.Value:
    """The mean or maximum of each bin: of [channels, regions, bins, points, bins, points]; 0 where a region has no points."""
    if rows.count is None or columns.count is None:
        return relax.mean(values, axis=[3, 5]) if mode == "avg" else relax.max(values, axis=[3, 5])
    keeps = [relax.less(relax.astype(run_time.counted(points.most), dtype=relax.TensorType.of(points.count.type).dtype), points.count)
             for points in (rows, columns)]     # [regions, points]
    keep = relax.logical_and(relax.expand_dims(keeps[0], axis=[1, 3, 4]), relax.expand_dims(keeps[1], axis=[1, 2, 3]))
    number_of = relax.expand_dims(relax.multiply(*(relax.maximum(points.count, number(points.count, 0)) for points in (rows, columns))),
                                  axis=[2])     # [regions, 1, 1]
    if mode == "avg":
        total = relax.sum(relax.where(keep, values, number(values, 0)), axis=[3, 5])
        return relax.divide(total, relax.maximum(number_of, number(number_of, 1)))
    greatest = relax.max(relax.where(keep, values, number(values, -np.inf)), axis=[3, 5])
    return relax.where(relax.greater(number_of, number(number_of, 0)), greatest, number(greatest, 0))


def _clamped_taps(extents: Extents, place: ir.Value, size: Size) -> list[tuple[ir.Value, ir.Value]]:
    """The two neighbours of a point and their weights: clamped up to one pixel outside, 0 beyond."""
    inside = relax.logical_and(relax.greater_equal(place, number(place, -1)), relax.less_equal(place, extents.number(place, size)))
    place = extents.inside(place, size)
    low = relax.floor(place)
    high, rest = relax.minimum(relax.add(low, number(low, 1)), extents.number(low, size - 1)), relax.subtract(place, low)
    weights = [relax.where(inside, weight, number(rest, 0)) for weight in (relax.subtract(number(rest, 1), rest), rest)]
    return [(relax.astype(index, dtype=np.int64), weight) for index, weight in zip((low, high), weights)]


@op("Col2Im", 18)
def col2im(node):
    """Col2Im: blocks are added up at their positions in the padded image, by a scatter."""
    image, block = (_sizes_of(node, index, what) for index, what in ((1, "image_shape"), (2, "block_shape")))
    rank = len(image)
    strides, dilations = node.integers("strides", [1] * rank), node.integers("dilations", [1] * rank)
    pads = node.integers("pads", [0] * (2 * rank))
    if not len(block) == len(strides) == len(dilations) == rank or len(pads) != 2 * rank:
        raise Malformed(f"image_shape {image}, block_shape {block}, strides {strides}, dilations {dilations} and pads {pads} do not fit")
    padded = [size + pads[a] + pads[rank + a] for a, size in enumerate(image)]
    taken = [dilation * (k - 1) + 1 for dilation, k in zip(dilations, block)]
    counts = [floor_divide(size - most, stride) + 1 for size, most, stride in zip(padded, taken, strides)]
    batch, rows, columns = node.dims(0, rank=3)
    elements, blocks = product(block), product(counts)
    is_known = all(isinstance(size, int) for size in (rows, columns, *image, *block))
    if is_known and (any(isinstance(count, int) and count < 1 for count in counts) or columns != blocks or rows % elements):
        raise Malformed(f"blocks of {block} stand at {counts} places of the image, but the input has the shape {list(node.dims())}")
    if not is_known:
        node.require_equal(columns, blocks, f"{columns} columns to be {blocks}, one for each of {counts} places of a block in the image")
    channels = floor_divide(rows, elements)
    flat = relax.reshape(node.x(), shape=[product([batch, channels]), elements * blocks])
    index = _block_places(node, padded, block, dilations, counts, strides, is_known)
    index = relax.broadcast_to(index, shape=[product([batch, channels]), elements * blocks])
    zeros = relax.broadcast_to(node.literal(0, node.dtype()), shape=[product([batch, channels]), product(padded)])
    made = relax.reshape(relax.scatter_elements(zeros, index, flat, axis=1, reduction="add"), shape=[batch, channels, *padded])
    begin, end = pads[:rank], [pads[a] + size for a, size in enumerate(image)]
    return relax.strided_slice(made, begin=begin, end=end, axes=list(range(2, rank + 2))) if any(pads) else made


def _sizes_of(node, index: int, what: str) -> list[Size]:
    """The sizes that an input lists, which may be data."""
    if node.by_data(index):
        return list(run_time.symbols(node, run_time.integers(node, index, what), what))
    return node.sizes(index, f"the {what}")


def _block_places(node, padded, block, dilations, counts, strides, is_known: bool) -> ir.Value:
    """The places of the elements of all blocks in the flat image: [1, elements * blocks]."""
    if is_known:
        known = np.zeros((1, 1), np.int64)
        for size, k, dilation, count, stride in zip(padded, block, dilations, counts, strides):
            along = np.arange(k)[:, None] * dilation + np.arange(count) * stride
            known = (known[:, None, :, None] * size + along[None, :, None, :]).reshape(len(known) * k, -1)
        return node.literal(known.reshape(1, -1))
    places, rows, columns = run_time.literal([[0]]), 1, 1
    for size, k, dilation, count, stride in zip(padded, block, dilations, counts, strides):
        inside = relax.multiply(relax.expand_dims(run_time.counted(k), axis=[1]), run_time.literal(dilation))
        along = relax.expand_dims(relax.add(inside, relax.multiply(run_time.counted(count), run_time.literal(stride))), axis=[1])
        outer = relax.multiply(relax.expand_dims(places, axis=[1, 3]), run_time.vector(node, [size]))
        rows, columns = rows * k, columns * count
        places = relax.reshape(relax.add(outer, along), shape=[rows, columns])      # [rows, k, columns, count]
    return relax.reshape(places, shape=[1, rows * columns])


@op("DeformConv", 19, 22)
def deform_conv(node):
    """DeformConv: every tap is sampled between the pixels at a position of its own; then a matrix product."""
    batch, channels, *sizes = node.dims()
    outputs, inputs, *kernel = node.dims(1)
    groups, moved = node.integer("group", 1), node.integer("offset_group", 1)
    if node.rank() != 4 or not all(isinstance(size, int) for size in kernel):
        raise Refused(f"an input of shape {list(node.dims())} with weights of {list(node.dims(1))} is not supported, only images and "
                      "a kernel of a size known at import")
    fits = f"{channels} channels in {groups} groups and {moved} offset groups to fit weights of {list(node.dims(1))}"
    for found, wanted in ((channels, inputs * groups), (outputs, outputs // groups * groups), (channels, channels // moved * moved)):
        if isinstance(found, int) and isinstance(wanted, int) and found != wanted:
            raise Malformed(f"it needs {fits}")
        if found != wanted:
            node.require_equal(found, wanted, fits)
    channels = channels if isinstance(channels, int) else inputs * groups
    node.integers("kernel_shape", kernel)
    strides, dilations = node.integers("strides", [1, 1]), node.integers("dilations", [1, 1])
    pads = auto_padding(node, sizes, kernel, strides, dilations)
    taps, out = math.prod(kernel), list(node.dims(2)[2:])
    offsets = relax.reshape(node.x(2), shape=[batch, moved, taps, 2, *out])
    mask = relax.reshape(node.x(4), shape=[batch, moved, 1, taps * product(out)]) if node.given(4) else None
    columns = []
    for group in range(moved):
        places = []
        for axis in range(2):
            offset = relax.strided_slice(offsets, begin=[group, axis], end=[group + 1, axis + 1], axes=[1, 3])
            offset = relax.reshape(offset, shape=[batch, taps, *out])
            along = np.arange(kernel[axis]) * dilations[axis] - pads[axis]
            base = np.broadcast_to(along[:, None] if axis == 0 else along, kernel).reshape(1, taps, 1, 1)
            steps = relax.multiply(relax.astype(run_time.counted(out[axis]), dtype=node.dtype()), node.literal(strides[axis], node.dtype()))
            steps = relax.reshape(steps, shape=[1, 1, out[0], 1] if axis == 0 else [1, 1, 1, out[1]])
            place = relax.add(relax.add(offset, node.literal(base, node.dtype())), steps)
            places.append(linear_taps(Extents(node), relax.reshape(place, shape=[batch, taps * product(out)]), sizes[axis]))
        count = channels // moved
        part = relax.strided_slice(node.x(), begin=[group * count], end=[(group + 1) * count], axes=[1])
        read = summed(Extents(node), relax.reshape(part, shape=[batch, count, product(sizes)]), sizes, places)
        if mask is not None:
            weight = relax.strided_slice(mask, begin=[group], end=[group + 1], axes=[1])
            read = relax.multiply(read, relax.squeeze(weight, axis=[1]))
        columns.append(read)
    every = columns[0] if moved == 1 else relax.concat(columns, axis=1)
    every = relax.reshape(every, shape=[batch, groups, inputs * taps, product(out)])
    weights = relax.reshape(node.x(1), shape=[groups, outputs // groups, inputs * taps])
    y = relax.reshape(relax.matmul(weights, every), shape=[batch, outputs, *out])
    return relax.add(y, relax.expand_dims(node.x(3), axis=[1, 2])) if node.given(3) else y


ENTRIES = (roi_align, col2im, deform_conv)
