"""Ops of ``com.microsoft`` on images: crops, and ops of ONNX whose channels are the last axis."""
from collections.abc import Sequence

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops import integers, pool
from legato.frontends.onnx.ops.sampling import Extents, Tap, linear_taps, number
from legato.frontends.onnx.problems import Malformed

_DOMAIN = "com.microsoft"


def channels_first(x: ir.Value) -> ir.Value:
    """An image whose last axis has the channels, with these as its second axis."""
    rank = x.type.rank
    return relax.permute_dims(x, axes=[0, rank - 1, *range(1, rank - 1)])


def channels_last(x: ir.Value) -> ir.Value:
    """An image whose second axis has the channels, with these as its last axis."""
    return relax.permute_dims(x, axes=[0, *range(2, x.type.rank), 1])


@op("NhwcMaxPool", 1, domain=_DOMAIN)
def nhwc_max_pool(node):
    """MaxPool of an image whose last axis has the channels."""
    if node.rank() < 3:
        raise Malformed(f"its image has the shape {list(node.dims())}; it has a batch, spatial axes and channels")
    return channels_last(pool.max_pool.build(node.with_inputs(channels_first(node.x())).of_version(12)))


@op("QLinearConv", 1, domain=_DOMAIN)
def qlinear_conv(node):
    """QLinearConv as ONNX's; ``channels_last``: the last axis of the image and of the result has the channels."""
    if not node.flag("channels_last"):
        return integers.qlinear_conv.build(node.of_version(10))
    others = [node.value(index) if node.given(index) else None for index in range(1, len(node))]
    return channels_last(integers.qlinear_conv.build(node.with_inputs(channels_first(node.x()), *others).of_version(10)))


@op("CropAndResize", 1, domain=_DOMAIN)
def crop_and_resize(node):
    """Regions of images, resized to one size: its corners [y, x, y, x], from 0 to 1, are those of the result's pixels. Places beyond the
    image have a number of their own."""
    linear = node.text("mode", "bilinear", "nearest") == "bilinear"
    batch, channels, *sizes = node.dims(0, rank=4)
    regions = node.dims(1, rank=2)[0]
    node.require_shape(1, "rois", [regions, 4])
    node.require_shape(2, "batch_indices", [regions])
    crop: Sequence[Size] = node.sizes(3, "crop_size") if not node.by_data(3) else run_time.symbols(
        node, run_time.integers(node, 3, "sizes"), "size")
    if len(crop) != 2:
        raise Malformed(f"its crop_size has {len(crop)} numbers, must have two")
    extents = Extents(node, sizes)
    image = relax.astype(node.x(2), dtype=extents.index_dtype)
    index: ir.Value | None = None
    weight: ir.Value | None = None
    inside: ir.Value | None = None
    for axis, (size, count) in enumerate(zip(sizes, crop)):
        place = _places(node, extents, axis, size, count)       # [regions, count]
        within = relax.logical_and(relax.greater_equal(place, number(place, 0)), relax.less_equal(place, extents.number(place, size - 1)))
        taps = linear_taps(extents, place, size) if linear else [_nearest(extents, place, size)]
        places, weights = (_taps([tap[part] for tap in taps], axis) for part in (0, 1))      # [regions, taps, rows, columns]
        base = relax.reshape(image, shape=[regions, 1, 1, 1]) if index is None else index
        at = relax.multiply(base, extents.number(base, size))
        index = _each(at, places, relax.add)
        weight = weights if weight is None else _each(weight, weights, relax.multiply)
        within = relax.expand_dims(within, axis=[2 - axis, 3])
        inside = within if inside is None else relax.logical_and(inside, within)
    assert index is not None and weight is not None and inside is not None
    pixels, taps_count, places = relax.dims.product([batch, *sizes]), relax.TensorType.of(index.type).dims[1], relax.dims.product(crop)
    flat = relax.reshape(relax.permute_dims(node.x(), axes=[0, 2, 3, 1]), shape=[1, pixels, channels])

    def listed(x: ir.Value) -> ir.Value:
        """[regions, taps, rows, columns] as [1, taps, regions x rows x columns]."""
        return relax.reshape(relax.permute_dims(x, axes=[1, 0, 2, 3]), shape=[1, taps_count, regions * places])

    made = relax.reshape(relax.gather_weighted(flat, listed(index), listed(weight)), shape=[regions, *crop, channels])
    made = relax.where(inside, made, node.literal(node.number("extrapolation_value", 0.0), node.dtype()))
    return relax.permute_dims(made, axes=[0, 3, 1, 2])


def _places(node, extents: Extents, axis: int, size: Size, count: Size) -> ir.Value:
    """The coordinates of the result's pixels along an axis of the image, in its pixels: [regions, count]."""
    first, last = (relax.take(node.x(1), node.literal([at]), axis=1) for at in (axis, 2 + axis))
    reach = extents.number(first, size - 1)
    start, span = relax.multiply(first, reach), relax.multiply(relax.subtract(last, first), reach)
    step = relax.astype(run_time.counted(count), dtype=node.dtype(1))
    steps = relax.maximum(extents.number(first, count - 1), number(first, 1))
    place = relax.add(start, relax.multiply(step, relax.divide(span, steps)))
    middle = relax.multiply(relax.multiply(number(first, 0.5), relax.add(first, last)), reach)
    alone = relax.equal(extents.number(first, count), number(first, 1))
    return relax.where(alone, middle, place)


def _nearest(extents: Extents, place: ir.Value, size: Size) -> Tap:
    """The pixel next to a coordinate, the later one of two."""
    nearest = relax.floor(relax.add(place, number(place, 0.5)))
    return relax.astype(extents.inside(nearest, size), dtype=extents.index_dtype), relax.broadcast_to(
        number(place, 1), shape=relax.TensorType.of(place.type).dims)


def _taps(parts: list, axis: int) -> ir.Value:
    """[regions, count] of each tap as [regions, taps, count, 1] or, of the second axis, [regions, taps, 1, count]."""
    stacked = relax.concat([relax.expand_dims(part, axis=[1]) for part in parts], axis=1) if len(parts) > 1 else relax.expand_dims(
        parts[0], axis=[1])
    return relax.expand_dims(stacked, axis=[3 - axis])


def _each(first: ir.Value, second: ir.Value, combine) -> ir.Value:
    """Each of the taps of ``first`` with each of those of ``second``."""
    made = combine(relax.expand_dims(first, axis=[2]), relax.expand_dims(second, axis=[1]))
    regions, a, b, *places = relax.TensorType.of(made.type).dims
    return relax.reshape(made, shape=[regions, a * b, *places])


ENTRIES = (nhwc_max_pool, qlinear_conv, crop_and_resize)
