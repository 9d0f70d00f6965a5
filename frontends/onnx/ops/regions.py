"""Regions of images, and images assembled from regions: RoiAlign, MaxRoiPool, Col2Im, DeformConv."""
import math

import numpy as np

from legato.dialects import relax
from legato.dialects.relax.dims import Size, floor_divide, product
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.sampling import Extents, linear_taps, summed
from legato.frontends.onnx.ops.windows import auto_padding, check_kernel, read_steps
from legato.frontends.onnx.problems import Malformed, Refused


@op("RoiAlign", 10, 16, 22)
def roi_align(node):
    """RoiAlign: each region is divided into bins, and each bin sampled between the pixels at several points."""
    aligned = node.version >= 16 and node.text("coordinate_transformation_mode", "half_pixel", "output_half_pixel") == "half_pixel"
    image = relax.permute_dims(node.x(), axes=[0, 2, 3, 1])     # all channels of a region are read at the same points
    made = relax.roi_align(image, node.x(1), node.x(2), size=[node.integer(f"output_{side}", 1) for side in ("height", "width")],
                           scale=node.number("spatial_scale", 1.0), sampling=max(node.integer("sampling_ratio", 0), 0), aligned=aligned,
                           mode=node.text("mode", "avg", "max"), channels_last=True)
    return relax.permute_dims(made, axes=[0, 3, 1, 2])


@op("MaxRoiPool", 1, 22)
def max_roi_pool(node):
    """MaxRoiPool: each region is divided into bins; a bin is the greatest of its pixels. A row has the number of its image, and corners."""
    size = node.integers("pooled_shape")
    if len(size) != 2 or min(size) < 1:
        raise Malformed(f"attribute 'pooled_shape' is {list(size)}, expected two numbers of bins, 1 or more")
    node.require_shape(1, "rois", [node.dims(1, rank=2)[0], 5])
    numbers, corners = (relax.strided_slice(node.x(1), begin=[begin], end=[end], axes=[1]) for begin, end in ((0, 1), (1, 5)))
    images = relax.astype(relax.squeeze(numbers, axis=[1]), dtype="int64")
    image = relax.permute_dims(node.x(), axes=[0, 2, 3, 1])     # all channels of a region have the same bins
    made = relax.roi_pool(image, corners, images, size=size, scale=node.number("spatial_scale", 1.0), channels_last=True)
    return relax.permute_dims(made, axes=[0, 3, 1, 2])


@op("Col2Im", 18)
def col2im(node):
    """Col2Im: elements of an image are the sums of those of the blocks that cover them."""
    image, block = (_sizes_of(node, index, what) for index, what in ((1, "image_shape"), (2, "block_shape")))
    rank = len(image)
    strides, dilations = read_steps(node, "strides", rank), read_steps(node, "dilations", rank)
    pads = node.integers("pads", [0] * (2 * rank))
    if len(block) != rank or len(pads) != 2 * rank:
        raise Malformed(f"image_shape {image}, block_shape {block} and pads {pads} do not fit")
    taken = [dilation * (k - 1) + 1 for dilation, k in zip(dilations, block)]
    counts = [floor_divide(size + (begin + end) - most, stride) + 1
              for size, begin, end, most, stride in zip(image, pads, pads[rank:], taken, strides)]
    batch, rows, columns = node.dims(0, rank=3)
    elements, blocks = product(block), product(counts)
    is_known = all(isinstance(size, int) for size in (rows, columns, *image, *block))
    if is_known and (any(isinstance(count, int) and count < 1 for count in counts) or columns != blocks or rows % elements):
        raise Malformed(f"blocks of {block} stand at {counts} places of the image, but the input has the shape {list(node.dims())}")
    if not is_known:
        node.require_equal(columns, blocks, f"{columns} columns to be {blocks}, one for each of {counts} places of a block in the image")
    x = relax.reshape(node.x(), shape=[batch, floor_divide(rows, elements), *block, *counts])
    return relax.col2im(x, size=image, strides=strides, padding=pads, dilations=dilations)


def _sizes_of(node, index: int, what: str) -> list[Size]:
    """The sizes that an input lists, which may be data."""
    if node.by_data(index):
        return list(run_time.symbols(node, run_time.integers(node, index, what), what))
    return node.sizes(index, f"the {what}")


@op("DeformConv", 19, 22)
def deform_conv(node):
    """DeformConv: every tap is sampled between the pixels at a position of its own; then a matrix product."""
    batch, channels, *sizes = node.dims()
    outputs, inputs, *kernel = node.dims(1)
    groups, moved = node.integer("group", 1), node.integer("offset_group", 1)
    if node.rank() != 4:
        raise Refused(f"an input of shape {list(node.dims())} is not supported, only images")
    if groups < 1 or moved < 1:
        raise Malformed(f"group = {groups} and offset_group = {moved}: expected 1 or more")
    kernel = check_kernel(node, kernel)
    fits = f"{channels} channels in {groups} groups and {moved} offset groups to fit weights of {list(node.dims(1))}"
    for found, wanted in ((channels, inputs * groups), (outputs, outputs // groups * groups), (channels, channels // moved * moved)):
        if isinstance(found, int) and isinstance(wanted, int) and found != wanted:
            raise Malformed(f"it needs {fits}")
        if found != wanted:
            node.require_equal(found, wanted, fits)
    channels = channels if isinstance(channels, int) else inputs * groups
    strides, dilations = read_steps(node, "strides", 2), read_steps(node, "dilations", 2)
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
            steps = relax.astype(run_time.counted(out[axis], step=strides[axis]), dtype=node.dtype())
            steps = relax.reshape(steps, shape=[1, 1, out[0], 1] if axis == 0 else [1, 1, 1, out[1]])
            place = relax.add(relax.add(offset, node.literal(base, node.dtype())), steps)
            places.append(linear_taps(Extents(node, sizes), relax.reshape(place, shape=[batch, taps * product(out)]), sizes[axis]))
        count = channels // moved
        part = relax.strided_slice(node.x(), begin=[group * count], end=[(group + 1) * count], axes=[1])
        read = summed(Extents(node, sizes), relax.reshape(part, shape=[batch, count, product(sizes)]), sizes, places)
        if mask is not None:
            weight = relax.strided_slice(mask, begin=[group], end=[group + 1], axes=[1])
            read = relax.multiply(read, relax.squeeze(weight, axis=[1]))
        columns.append(read)
    every = columns[0] if moved == 1 else relax.concat(columns, axis=1)
    every = relax.reshape(every, shape=[batch, groups, inputs * taps, product(out)])
    weights = relax.reshape(node.x(1), shape=[groups, outputs // groups, inputs * taps])
    y = relax.reshape(relax.matmul(weights, every), shape=[batch, outputs, *out])
    return relax.add(y, relax.expand_dims(node.x(3), axis=[1, 2])) if node.given(3) else y


ENTRIES = (roi_align, max_roi_pool, col2im, deform_conv)
