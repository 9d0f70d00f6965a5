"""Patterns of relax-canonicalize: ops that move elements or change shapes."""
from math import prod

from legato.core.errors import LegatoError
from legato.core.ir_helpers import defining_op, present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import UNKNOWN, Dim, dims, product
from legato.dialects.relax.types import broadcast
from legato.passes.graph.functions import has_one_use, permutation_of, sliced_axes
from legato.passes.graph.layout import layout
from legato.passes.graph.rewriter import GraphRewriter, attributes

NEAR = 8    # ops that are looked at for a product


def same_shape(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """A reshape, broadcast, squeeze or expand_dims to the shape of its operand."""
    x = op.operands[0]
    sizes = dims(x.type)
    return x if sizes == dims(op.results[0].type) and UNKNOWN not in sizes else None


def reshape_of_reshape(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """One reshape for two in a row; expand_dims and squeeze count as reshapes."""
    sizes = dims(op.results[0].type)
    if UNKNOWN in sizes:
        return None
    inner = r.find(op.operands[0], "reshape", "expand_dims", "squeeze")
    if inner is not None:
        return relax.reshape(inner.operands[0], list(sizes))
    return None if op.name == "relax.reshape" else relax.reshape(op.operands[0], list(sizes))


def permute_dims(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """An identity is removed, two in a row are composed, and one that only moves dimensions of size 1 becomes a reshape."""
    x, perm = op.operands[0], permutation_of(op)
    inner = r.find(x, "permute_dims")
    if inner is not None:
        x, perm = inner.operands[0], layout.compose(permutation_of(inner), perm)
    sizes = dims(x.type)
    if layout.is_identity(perm):
        return x
    if layout.moves_only_ones(perm, sizes) and UNKNOWN not in sizes:
        return relax.reshape(x, layout.apply(perm, sizes))
    return relax.permute_dims(x, list(perm)) if inner is not None else None


def permute_dims_around_reshape(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """Two permute_dims with a reshape between them that splits dimensions, or merges some that were adjacent before: a reshape, and one
    permute_dims behind it. If it merges others: one permute_dims, and a reshape behind it."""
    reshape = r.find(op.operands[0], "reshape", "expand_dims", "squeeze")
    first = None if reshape is None else r.find(reshape.operands[0], "permute_dims")
    if reshape is None or first is None or UNKNOWN in dims(reshape.results[0].type):
        return None
    perm, outer, sizes = layout.invert(permutation_of(first)), permutation_of(op), dims(reshape.results[0].type)
    how = layout.reshape(perm, dims(first.results[0].type), sizes)
    if how is None:
        return None
    if how.before != perm:
        merged = {group.new: group.old for group in layout.groups(dims(first.results[0].type), sizes) or ()}
        if any(len(new) != 1 for new in merged):
            return None
        order = tuple(axis for new in outer for axis in merged[new,])
        permuted = relax.permute_dims(first.operands[0], list(layout.compose(permutation_of(first), order)))
        return relax.reshape(permuted, layout.apply(outer, sizes))
    reshaped = relax.reshape(first.operands[0], layout.apply(how.after, sizes))
    return relax.permute_dims(reshaped, list(layout.compose(layout.invert(how.after), outer)))


def ones_before_permute_dims(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """A reshape of a permute_dims that adds or removes dimensions of size 1 is done before it: what is permuted then meets the ops behind,
    and the reshape that in front."""
    permute, sizes = r.find(op.operands[0], "permute_dims", once=True), dims(op.results[0].type)
    if permute is None or UNKNOWN in sizes:
        return None
    x, perm = permute.operands[0], permutation_of(permute)
    moved = [axis for axis in perm if dims(x.type)[axis] != 1]
    if [dims(x.type)[axis] for axis in moved] != [size for size in sizes if size != 1]:
        return None
    # the axes of x that the result's dimensions are; of size 1, the first stay in front, another one stays behind what precedes it
    left, axes = iter(moved), [-1]
    for size in sizes:
        axes.append(axes[-1] if size == 1 else next(left))
    order = sorted(range(len(sizes)), key=lambda place: axes[place + 1])
    return relax.permute_dims(relax.reshape(x, [sizes[place] for place in order]), [order.index(place) for place in range(len(sizes))])


def take_before_permute_dims(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """One slice of a permute_dims, whose axis goes: the slice of what is permuted, so that the others need not be moved."""
    x, index = op.operands
    permute = r.find(x, "permute_dims")
    if permute is None or index.type.rank != 0 or r.scalar(index) is None:
        return None
    perm = permutation_of(permute)
    axis = perm[attributes(op)["axis"] % len(perm)]
    return relax.permute_dims(relax.take(permute.operands[0], index, axis=axis), list(layout.after_reduction(perm, [axis])))


def concat(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """Removes a concat of one operand and operands of length 0, and merges a concat of a concat along the same axis without other
    uses."""
    axis = attributes(op)["axis"]
    parts: list[ir.Value] = []
    for operand in op.operands:
        inner = r.find(operand, "tensor.concat", once=True)
        if inner is not None and attributes(inner)["axis"] == axis:
            parts += inner.operands
        elif dims(operand.type)[axis] != 0:
            parts.append(operand)
    if len(parts) == 1:
        return parts[0]
    return relax.concat(parts, axis) if parts and parts != list(op.operands) else None


def whole_slice(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """A slice with steps of 1 that keeps every size: the operand. (A step of -1 would reverse it.)"""
    strides = attributes(op)["strides"]
    if strides is not None and any(step != 1 for step in strides):
        return None
    return same_shape(r, op)


def take_one(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """What a constant index takes along an axis, without that axis: a slice, reshaped."""
    x, index = op.operands
    place, sizes = r.scalar(index) if index.type.rank == 0 else None, dims(x.type)
    axis = attributes(op)["axis"] % len(sizes)
    if place is None or UNKNOWN in sizes or not isinstance(size := sizes[axis], int):
        return None
    place = int(place)
    if not -size <= place < size:
        return None
    begin = place % size
    cut = relax.strided_slice(x, begin=[begin], end=[begin + 1], strides=[1], axes=[axis])
    return relax.reshape(cut, [*sizes[:axis], *sizes[axis + 1:]])


def one_before_permute_dims(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """A slice of one element along an axis, of a permute_dims: the slice of what is permuted, so that the others need not be moved."""
    permute, axes = r.find(op.operands[0], "permute_dims"), sliced_axes(op)
    if permute is None or len(axes) != 1 or dims(op.results[0].type)[axes[0]] != 1:
        return None
    perm = permutation_of(permute)
    cut = relax.strided_slice(permute.operands[0], **{**attributes(op), "axes": [perm[axes[0]]]})
    return relax.permute_dims(cut, list(perm))


def reshape_of_slice(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """A reshape of a slice of steps of 1 that takes apart the axis of the slice and what is behind it, as into heads, or makes one axis of
    these, as of one element behind others: the slice of what is reshaped. Other slices of the same tensor then share the reshape, and
    elementwise ops read the slice where it is."""
    cut, sizes = r.find(op.operands[0], "strided_slice", once=True), dims(op.results[0].type)
    if cut is None or UNKNOWN in sizes:
        return None
    attrs, whole, taken = attributes(cut), dims(cut.operands[0].type), dims(op.operands[0].type)
    axes = sliced_axes(cut)
    if len(axes) != 1 or attrs["strides"] not in (None, [1]) or UNKNOWN in whole:
        return None
    axis, begin = axes[0], attrs["begin"][0]
    ends = len(sizes) - (product(whole[:axis]) == 1)     # in front, what becomes one axis lies together
    places = [place for place in range(ends) if product(sizes[:place]) == product(whole[:axis])]
    if not places or not isinstance(begin, int):
        return None
    outer, pieces, behind = sizes[:places[-1]], sizes[places[-1]:], whole[axis + 1:]
    if not all(isinstance(size, int) and size > 0 for size in (*pieces, *behind, whole[axis], taken[axis])):
        return None
    count, piece, step = cut.operands[0].type.shape[axis], prod(pieces[1:]), prod(behind)
    begin += count if begin < 0 else 0
    if prod(pieces) != taken[axis] * step or begin < 0 or begin * step % piece or count * step % piece:
        return None
    first = begin * step // piece
    split = relax.reshape(cut.operands[0], [*outer, count * step // piece, *pieces[1:]])
    return relax.strided_slice(split, begin=[first], end=[first + pieces[0]], strides=[1], axes=[len(outer)])


def no_padding(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """A pad by 0: the operand."""
    return op.operands[0] if not any(attributes(op)["pads"]) else None


def single_tile(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """A tile with all repeats 1: the operand."""
    return op.operands[0] if all(count == 1 for count in attributes(op)["repeats"]) else None


def unneeded_broadcast(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """An elementwise op on broadcast_to(x): on x, if the other operands already have the result's shape."""
    operands = list(op.operands)
    wanted = dims(op.results[0].type)
    for number, operand in enumerate(operands):
        inner = r.find(operand, "broadcast_to")
        if inner is None:
            continue
        candidate = [*operands[:number], inner.operands[0], *operands[number + 1 :]]
        try:
            made = broadcast(*(dims(value.type) for value in candidate))
        except LegatoError:
            continue  # they broadcast only with the size that broadcast_to asserts
        if made == wanted and UNKNOWN not in made:
            operands = candidate
    return None if operands == list(op.operands) else present(relax.op_class(op)).build(*operands, **attributes(op))


def broadcast_of_elementwise(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """A dynamic_broadcast_to of an op of little arithmetic: that op on what is broadcast. Where no operand is repeated at a call, it is
    then fused with what reads it."""
    shape = dims(op.results[0].type)
    again = r.find(op.operands[0], "dynamic_broadcast_to")
    if again is not None:
        return relax.dynamic_broadcast_to(again.operands[0], shape=list(shape))
    inner = r.find(op.operands[0], *_CHEAP, once=True)
    if inner is None or UNKNOWN in shape or op.operands[0].type.rank != len(shape):
        return None
    operands = []
    for x in inner.operands:
        sizes = dims(x.type)
        wanted = [end if isinstance(size, Dim) else size for size, end in zip(sizes, shape[len(shape) - len(sizes):])]
        operands.append(x if wanted == list(sizes) else relax.dynamic_broadcast_to(x, shape=wanted))
    made = present(relax.op_class(inner)).build(*operands, **attributes(inner))
    return made if dims(made.type) == shape else None


def elementwise_before_split(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """An elementwise op on a product whose last axis was split, where other operands do not vary along what it was split into: the split of
    the op on the product, which are fused."""
    found = [(number, inner) for number, value in enumerate(op.operands) if (inner := r.find(value, "reshape", once=True)) is not None]
    if len(found) != 1 or not has_one_use(found[0][1].operands[0]) or not _is_of_product(found[0][1].operands[0]):
        return None
    number, split = found[0]
    whole, sizes = dims(split.operands[0].type), dims(split.results[0].type)
    outer, pieces = len(whole) - 1, len(sizes) - len(whole) + 1
    if pieces < 2 or UNKNOWN in (*whole, *sizes) or whole[:-1] != sizes[:outer] or dims(op.results[0].type) != sizes:
        return None
    operands = list(op.operands)
    for place, value in enumerate(operands):
        own = dims(value.type)
        if place == number:
            operands[place] = split.operands[0]
        elif any(size != 1 for size in own[-pieces:]):
            return None
        elif len(own) >= pieces:
            merged, array = [*own[:-pieces], 1], r.array(value)
            operands[place] = relax.reshape(value, merged) if array is None else r.constant(array.reshape(merged), value)
    return relax.reshape(present(relax.op_class(op)).build(*operands, **attributes(op)), list(sizes))


def _is_of_product(value: ir.Value) -> bool:
    """Whether a value that is used once is a matmul's, or what a few elementwise ops make of one."""
    left = [value]
    for _ in range(NEAR):
        op = defining_op(left.pop(0)) if left else None
        if op is None:
            return False
        cls = relax.op_class(op)
        if op.name == "relax.matmul":
            return True
        if cls is not None and cls.ELEMENTWISE:
            left += [operand for operand in op.operands if defining_op(operand) is not None and has_one_use(operand)]
    return False


def reduction_of_ones(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """A sum, mean, product, maximum or minimum over axes of size 1: a reshape."""
    x = op.operands[0]
    sizes, axes = dims(x.type), attributes(op)["axis"]
    axes = range(len(sizes)) if axes is None else axes
    if any(sizes[axis] != 1 for axis in axes):
        return None
    return relax.reshape(x, list(dims(op.results[0].type))) if UNKNOWN not in sizes else None


def pool_of_all(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """A pool with one window over the whole image, without padding: a mean or maximum over the spatial axes. One of 1 by 1: the
    operand."""
    x, attrs = op.operands[0], attributes(op)
    sizes = dims(x.type)
    spatial = [axis for axis, letter in enumerate(attrs["layout"]) if letter not in "NC"]
    if any(attrs["padding"]):
        return None
    if all(size == 1 for size in attrs["kernel"]) and all(step == 1 for step in attrs["strides"]):
        return x
    whole = [sizes[axis] for axis in spatial] == attrs["kernel"] and all(step == 1 for step in attrs["dilations"])
    if not whole or any(dims(op.results[0].type)[axis] != 1 for axis in spatial):
        return None
    return (relax.mean if op.name.startswith("relax.avg") else relax.max)(x, axis=spatial, keepdims=True)


_CHEAP = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "negative", "abs", "relu", "clip", "where", "astype", "equal",
          "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_not")
_ELEMENTWISE = " ".join(name for name, cls in relax.OPS.items() if cls.ELEMENTWISE)
_BROADCASTING = " ".join(name for name, cls in relax.OPS.items() if cls.ELEMENTWISE and len(cls.OPERANDS) > 1)

PATTERNS = (
    ("reshape broadcast_to expand_dims squeeze", same_shape),
    ("reshape expand_dims squeeze", reshape_of_reshape),
    ("permute_dims", permute_dims),
    ("permute_dims", permute_dims_around_reshape),
    ("reshape", ones_before_permute_dims),
    ("reshape", reshape_of_slice),
    ("take", take_before_permute_dims),
    ("take", take_one),
    ("tensor.concat", concat),
    ("strided_slice", whole_slice),
    ("strided_slice", one_before_permute_dims),
    ("pad", no_padding),
    ("tile", single_tile),
    (_BROADCASTING, unneeded_broadcast),
    ("dynamic_broadcast_to", broadcast_of_elementwise),
    (_ELEMENTWISE, elementwise_before_split),
    ("sum mean prod max min", reduction_of_ones),
    ("avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d", pool_of_all),
)
