"""Rules of relax-convert-layout: how each graph op is rebuilt on values held in another layout.

A rule gets the converter and the op, with the insertion point before it, and returns whether it has rebuilt the op. If not, or if there is
no rule, the op gets its operands in their own order. Elementwise ops need no entry of their own.
"""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

from legato.analysis.structured.column_convolution import LANES, gains_by_columns
from legato.analysis.structured.pool import is_quick
from legato.analysis.structured.window import axes_of
from legato.core.ir_helpers import defining_op, present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import UNKNOWN, dims
from legato.dialects.relax.sizes import product
from legato.passes.graph.functions import is_constant, permutation_of, replace_uses
from legato.passes.graph.layout import layout
from legato.passes.graph.layout.blocks import moved_blocks
from legato.passes.graph.layout.normalization import ReshapedNorm, normalized, takes_layout
from legato.passes.graph.layout.one_element import as_product, read_elements
from legato.passes.graph.layout.row_mixing import exchanges_rows, is_exchanged, is_matrix, mixes_rows

if TYPE_CHECKING:
    from legato.passes.graph.layout.convert_layout import Converter

Rule = Callable[["Converter", ir.Operation], bool]


def _build(op: ir.Operation, operands: list[ir.Value], attrs: dict[str, Any]) -> ir.Value:
    return present(relax.op_class(op)).build(*operands, **attrs)


def convolution(converter: Converter, op: ir.Operation) -> bool:
    """conv1d, conv2d, conv3d, conv2d_integer: image and kernel in the wanted layouts."""
    attrs = relax.attributes_of(op)
    by_rows = op.name == "relax.conv2d_integer" and not _is_depthwise(op.operands[1], attrs)    # of the depth, which depthwise ones lack
    of_kernel = converter.integer_kernel_layout if by_rows else converter.kernel_layout
    wanted = attrs | {
        "data_layout": layout.for_axes(converter.data_layout, attrs["data_layout"]),
        "kernel_layout": layout.for_axes(of_kernel, attrs["kernel_layout"]),
    }
    data, kernel = (layout.between(attrs[name], wanted[name]) for name in ("data_layout", "kernel_layout"))
    if layout.is_identity(data) and layout.is_identity(kernel):
        return False
    image, weight = op.operands
    if converter.columns and is_faster_by_columns(op, attrs, converter.perm_of(image) is not None):
        return False
    if converter.perm_of(image) is None and op.name != "relax.conv2d_integer" and not any(attrs["padding"]):
        if converter.in_place:
            image, wanted["strides"] = read_elements(image, weight, attrs)
        alone = converter.products and not _feeds_images(op.results[0])
        made = as_product(image, weight, wanted["strides"], attrs) if alone else None
        if made is not None:
            replace_uses(op.results[0], made)
            return True
    result = _build(op, [converter.place(image, data), converter.place(weight, kernel)], wanted)
    converter.hold(op.results[0], result, data)
    return True


def _is_depthwise(weight: ir.Value, attrs: dict[str, Any]) -> bool:
    """Whether each channel has a filter of its own."""
    features, inputs = (dims(weight.type)[attrs["kernel_layout"].index(letter)] for letter in "OI")
    return inputs == 1 and features == attrs["groups"] > 1


def is_faster_by_columns(op: ir.Operation, attrs: dict[str, Any], is_held: bool) -> bool:
    """Whether a convolution of channels-first images of f32, of known sizes, depthwise or of few features, is faster with vectors of
    columns. ``is_held``: the image would have to be permuted to channels first."""
    image, weight = op.operands
    sizes, counts = (dims(value.type)[2:] for value in (image, op.results[0]))
    channels, plain = dims(image.type)[1], attrs["data_layout"].startswith("NC") and attrs["kernel_layout"].startswith("OI")
    if not plain or not isinstance(image.type.element_type, ir.F32Type) or not isinstance(channels, int):
        return False
    features, _, *taps = weight.type.shape
    is_depthwise = _is_depthwise(weight, attrs)
    if (attrs["groups"] > 1 and not is_depthwise) or (is_held and not (is_depthwise and features < LANES)):
        return False
    known = all(isinstance(size, int) for size in (*sizes, *counts))
    axes = axes_of(sizes, counts, taps, attrs["padding"][:len(taps)], attrs["strides"], attrs["dilations"]) if known else None
    alone = is_depthwise and not is_held and not _feeds_images(op.results[0])
    return axes is not None and gains_by_columns(features, 0 if is_depthwise else channels, axes, alone)


def _feeds_images(value: ir.Value) -> bool:
    """Whether convolutions or pools read a value, or what elementwise ops make of it."""
    seen, left = set(), [value]
    while left:
        for use in left.pop().uses:
            op = use.owner.operation
            if RULES.get(op.name) in ON_IMAGES:
                return True
            cls = relax.op_class(op)
            if cls is not None and cls.ELEMENTWISE and op not in seen:
                seen.add(op)
                left.append(op.results[0])
    return False


def pool(converter: Converter, op: ir.Operation) -> bool:
    """Pools over one, two or three axes: images in the wanted layout; those that stay as they are have vectors of columns."""
    attrs = relax.attributes_of(op)
    stays = converter.in_place and converter.perm_of(op.operands[0]) is None
    if stays and attrs["layout"].startswith("NC") and _has_columns(op, attrs):
        return False
    wanted = layout.for_axes(converter.data_layout, attrs["layout"])
    perm = layout.between(attrs["layout"], wanted)
    if layout.is_identity(perm):
        return False
    result = _build(op, [converter.place(op.operands[0], perm)], attrs | {"layout": wanted})
    converter.hold(op.results[0], result, perm)
    return True


def _has_columns(op: ir.Operation, attrs: dict[str, Any]) -> bool:
    """Whether a pool of channels-first images is one of floats, or a maximum of integers, of which vectors of columns take few steps."""
    type_, is_max = op.operands[0].type, op.name.startswith("relax.max_pool")
    element, channels = type_.element_type, dims(type_)[1]
    plain = isinstance(element, ir.FloatType) or (isinstance(element, ir.IntegerType) and is_max)
    if not plain or not 8 <= element.width <= 32 or not isinstance(channels, int):
        return False
    return is_quick(attrs["strides"][-1], attrs["dilations"][-1], element)


def elementwise(converter: Converter, op: ir.Operation) -> bool:
    """Ops that broadcast: all operands in the layout of most of them, unless fewer elements move to their own order."""
    rank = op.results[0].type.rank
    perm = converter.common_perm(op.operands, rank)
    if perm is None or _outweigh(converter, list(op.operands), perm):
        return False
    operands = [converter.place_broadcast(operand, perm) for operand in op.operands]
    converter.hold(op.results[0], _build(op, operands, relax.attributes_of(op)), perm)
    return True


def _outweigh(converter: Converter, operands: list[ir.Value], perm: layout.Perm) -> bool:
    """Whether operands in their own order, which would move to a layout, have more elements than those held in one: an outer product
    with the columns of an image, say. Constants move at compile time, and values of one column as they are."""
    moved, held = 0, 0
    for value in set(operands):
        if value.type.rank != len(perm) or layout.moves_only_ones(perm, dims(value.type)) or is_constant(value):
            continue
        if not value.type.has_static_shape:
            return False
        if converter.perm_of(value) is None:
            moved += prod(value.type.shape)
        else:
            held += prod(value.type.shape)
    return moved > held


def concat(converter: Converter, op: ir.Operation) -> bool:
    """tensor.concat, with its axis translated."""
    perm = converter.common_perm(op.operands, op.results[0].type.rank)
    if perm is None:
        return False
    operands = [converter.place(operand, perm) for operand in op.operands]
    converter.hold(op.results[0], relax.concat(operands, perm.index(relax.attributes_of(op)["axis"])), perm)
    return True


def along_axis(converter: Converter, op: ir.Operation) -> bool:
    """Ops along one axis that keep the others: softmax, cumsum, topk, lrn, batch_norm (whose parameters have one axis). Rows of
    neighbouring elements stay such."""
    tensor, perm = converter.held(op.operands[0])
    attrs = relax.attributes_of(op)
    last = len(perm) - 1
    if layout.is_identity(perm) or (attrs["axis"] % len(perm) == last and perm[last] != last):
        return False
    others = [converter.plain(operand) for operand in list(op.operands)[1:]]
    attrs["axis"] = perm.index(attrs["axis"] % len(perm))
    converter.hold(op.results[0], _build(op, [tensor, *others], attrs), perm)
    return True


def reduction(converter: Converter, op: ir.Operation) -> bool:
    """Reductions and argmax, with their axes translated; the remaining dimensions keep their order."""
    tensor, perm = converter.held(op.operands[0])
    if layout.is_identity(perm):
        return False
    attrs = relax.attributes_of(op)
    axis = attrs["axis"]
    axes = list(range(len(perm))) if axis is None else [a % len(perm) for a in (axis if isinstance(axis, list) else [axis])]
    there = sorted(perm.index(a) for a in axes)
    attrs["axis"] = there[0] if isinstance(axis, int) else there
    result = _build(op, [tensor], attrs)
    converter.hold(op.results[0], result, perm if attrs["keepdims"] else layout.after_reduction(perm, axes))
    return True


def norm(converter: Converter, op: ir.Operation) -> bool:
    """layer_norm and rms_norm over one axis."""
    tensor, perm = converter.held(op.operands[0])
    attrs = relax.attributes_of(op)
    if layout.is_identity(perm) or len(attrs["axes"]) != 1:
        return False
    others = [converter.plain(operand) for operand in list(op.operands)[1:]]
    attrs["axes"] = [perm.index(attrs["axes"][0] % len(perm))]
    converter.hold(op.results[0], _build(op, [tensor, *others], attrs), perm)
    return True


def group_norm(converter: Converter, op: ir.Operation) -> bool:
    """group_norm and instance_norm, as several ops."""
    tensor, perm = converter.held(op.operands[0])
    attrs, sizes = relax.attributes_of(op), dims(op.operands[0].type)
    groups = attrs.get("num_groups", sizes[1])
    if not converter.norms or not takes_layout(perm, sizes, groups):
        return False
    parameters = [converter.plain(operand) for operand in list(op.operands)[1:]]
    converter.hold(op.results[0], normalized(tensor, perm, groups, parameters, attrs["epsilon"]), perm)
    return True


def pad(converter: Converter, op: ir.Operation) -> bool:
    """pad, with its amounts permuted, those of the begins and those of the ends."""
    tensor, perm = converter.held(op.operands[0])
    if layout.is_identity(perm):
        return False
    attrs = relax.attributes_of(op)
    amounts, rank = attrs["pads"], len(perm)
    attrs["pads"] = [*layout.apply(perm, amounts[:rank]), *layout.apply(perm, amounts[rank:])]
    converter.hold(op.results[0], _build(op, [tensor], attrs), perm)
    return True


def strided_slice(converter: Converter, op: ir.Operation) -> bool:
    """strided_slice, with its axes translated."""
    tensor, perm = converter.held(op.operands[0])
    if layout.is_identity(perm):
        return False
    attrs = relax.attributes_of(op)
    axes = range(len(attrs["begin"])) if attrs["axes"] is None else attrs["axes"]
    attrs["axes"] = [perm.index(axis % len(perm)) for axis in axes]
    converter.hold(op.results[0], _build(op, [tensor], attrs), perm)
    return True


def take(converter: Converter, op: ir.Operation) -> bool:
    """take of a held value at one list of places along an axis, which is translated."""
    source, places = op.operands
    tensor, perm = converter.held(source)
    attrs = relax.attributes_of(op)
    if layout.is_identity(perm) or places.type.rank != 1:
        return False
    attrs["axis"] = perm.index(attrs["axis"] % len(perm))
    converter.hold(op.results[0], _build(op, [tensor, converter.plain(places)], attrs), perm)
    return True


def blocks(converter: Converter, op: ir.Operation) -> bool:
    """depth_to_space and space_to_depth: of images with their channels last, whatever layout they are held in."""
    perm, last = converter.held(op.operands[0])[1], (0, 2, 3, 1)
    if layout.is_identity(perm) or UNKNOWN in (*dims(op.operands[0].type), *dims(op.results[0].type)):
        return False
    converter.hold(op.results[0], moved_blocks(op, converter.place(op.operands[0], last)), last)
    return True


def matmul(converter: Converter, op: ir.Operation) -> bool:
    """matmul of a held image and a constant matrix: along the dimension that its rows or columns are in the
    layout, with the dimensions behind that as one. Of rank 3, values are sequences as often as images, and matrices linear layers, but
    where values are transposed in front of it, or results behind it."""
    first, second = op.operands
    matrix, value = (second, first) if second.type.rank == 2 and first.type.rank > 2 else (first, second)
    tensor, perm = converter.held(value)
    mixed = converter.mixes and matrix == second and (exchanges_rows(defining_op(value)) or is_exchanged(op.results[0]))
    if layout.is_identity(perm) or (len(perm) < 4 and not mixed) or not is_matrix(matrix):
        return False
    summed = perm.index(len(perm) - (1 if matrix == second else 2))
    sizes = [*dims(tensor.type)]
    if UNKNOWN in sizes:
        return False
    if summed == len(perm) - 1:
        columns = matrix if matrix == second else relax.permute_dims(matrix, [1, 0])
        converter.hold(op.results[0], relax.matmul(tensor, columns), perm)
        return True
    rows = relax.permute_dims(matrix, [1, 0]) if matrix == second else matrix
    before, behind = sizes[:summed], sizes[summed + 1:]
    whole = tensor if len(behind) == 1 else relax.reshape(tensor, [*before, sizes[summed], product(behind)])
    made = relax.matmul(rows, whole)
    if len(behind) > 1:
        made = relax.reshape(made, [*before, dims(rows.type)[0], *behind])
    converter.hold(op.results[0], made, perm)
    return True


def permute_dims(converter: Converter, op: ir.Operation) -> bool:
    """permute_dims of a held value, or of one with channels last to channels first: the same tensor in another layout."""
    tensor, perm = converter.held(op.operands[0])
    axes = permutation_of(op)
    if layout.is_identity(perm) and not converter.is_wanted(layout.invert(axes)) and not (converter.mixes and mixes_rows(op)):
        return False
    converter.hold(op.results[0], tensor, tuple(axes.index(axis) for axis in perm))
    return True


def reshape(converter: Converter, op: ir.Operation) -> bool:
    """reshape, expand_dims, squeeze: in the held layout if the dimensions that merge are adjacent there."""
    groups = ReshapedNorm.of(op) if converter.norms else None
    if groups is not None:
        converter.hold(op.results[0], groups.build(), groups.perm)
        return True
    perm = converter.held(op.operands[0])[1]
    old, new = dims(op.operands[0].type), dims(op.results[0].type)
    if layout.is_identity(perm) or UNKNOWN in new:
        return False
    how = layout.reshape(perm, old, new)
    if how is None:
        return False
    result = relax.reshape(converter.place(op.operands[0], how.before), layout.apply(how.after, new))
    converter.hold(op.results[0], result, how.after)
    return True


ON_IMAGES = (convolution, pool)
_BY_RULE: dict[Rule, str] = {
    convolution: "conv1d conv2d conv3d conv2d_integer",
    pool: "max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d",
    along_axis: "softmax log_softmax cumsum cumprod topk lrn batch_norm",
    reduction: "sum mean prod max min argmax argmin",
    norm: "layer_norm rms_norm",
    group_norm: "group_norm instance_norm",
    pad: "pad",
    strided_slice: "strided_slice",
    take: "take",
    blocks: "depth_to_space space_to_depth",
    matmul: "matmul",
    permute_dims: "permute_dims",
    reshape: "reshape expand_dims squeeze",
}
RULES: dict[str, Rule] = {f"relax.{name}": rule for rule, names in _BY_RULE.items() for name in names.split()} | {"tensor.concat": concat}
