"""Shapes: queries, reshapes, and other ops that only move elements."""
import math
from collections.abc import Iterator

import numpy as np

from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.dims import UNKNOWN, Size
from legato.dialects.relax.types import broadcast
from legato.frontends.onnx import run_time
from legato.frontends.onnx.broadcasting import common_size, expanded
from legato.frontends.onnx.copied_sizes import require_no_copies
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.values import KNOWN_ELEMENTS


@op("Shape", 1, 13, 15, 19, 21, 23, 24, 25)
def shape(node):
    """Shape, which may be symbolic."""
    rank = node.rank()
    start, end = node.integer("start", 0), node.integer("end", rank)
    return node.vector(_known(node.dims()[slice(*slice(start, end).indices(rank))]))


@op("Size", 1, 13, 19, 21, 23, 24, 25)
def size(node):
    """Size: the number of elements, which may be symbolic."""
    return node.elements(np.array(dims.product(_known(node.dims()))), np.int64)


def _known(sizes: tuple[Size, ...]) -> tuple[Size, ...]:
    if UNKNOWN in sizes:
        raise Refused(f"the shape {list(sizes)} of its input has a size that depends on data")
    return sizes


def _resolved(node, wanted: list[Size], allow_zero: bool) -> list[Size]:
    """The sizes that Reshape's input means: 0 is copied from the input (unless allowed), and -1 is computed if possible; beside an axis
    without elements it is what the input's other axes have, as onnxruntime counts."""
    given = node.dims()
    sizes = []
    for axis, want in enumerate(wanted):
        if isinstance(want, int) and want == 0 and not allow_zero:
            if axis >= len(given):
                raise Malformed(f"the shape {wanted} takes the size of axis {axis} from an input of rank {len(given)}")
            want = given[axis]
        sizes.append(want)
    if sizes.count(-1) == 1:
        others, total = [size for size in sizes if size != -1], given
        if dims.product(others) == 0:
            if others.count(0) < list(given).count(0):      # the rest may be one of the input's axes without elements
                return sizes
            others, total = ([size for size in one if size != 0] for one in (others, given))
        rest = dims.floor_divide(dims.product(total), dims.product(others))
        if rest * dims.product(others) == dims.product(total):
            sizes[sizes.index(-1)] = rest
    return sizes


def _fold_reshape(node, data, wanted):
    if wanted.dtype.kind != "i":
        return None
    return data.reshape(_resolved(node, wanted.ravel().tolist(), node.flag("allowzero")))


@op("Reshape", 5, 13, 14, 19, 21, 23, 24, 25, fold=_fold_reshape)
def reshape(node):
    """Reshape."""
    if node.by_data(1):
        return _reshape_by_data(node)
    asked, allow_zero = node.sizes(1, "the shape"), node.flag("allowzero")
    wanted = _resolved(node, asked, allow_zero)
    if not allow_zero:
        require_no_copies(node, [size if want == 0 else want for want, size in zip(asked, wanted)], node.dims())
    return relax.reshape(node.x(0), shape=wanted)


def _reshape_by_data(node):
    """Reshape to sizes that are data: 0 and -1 are replaced by what they mean. Beside an axis that is to have no elements, -1
    is what the input's other axes have, as onnxruntime counts."""
    wanted, given = run_time.integers(node, 1, "sizes"), node.dims()
    length, one = run_time.count(wanted), run_time.literal(1)
    if not length:
        return relax.reshape(node.x(), shape=[])
    zero, sizes = run_time.literal(0), run_time.vector(node, given)
    if not node.flag("allowzero"):
        copied = run_time.vector(node, [*given[:length], *[-2] * (length - len(given))])    # no size: there is none to copy
        wanted = relax.where(relax.equal(wanted, zero), copied, wanted)
    is_rest = relax.equal(wanted, run_time.literal(-1))
    others = relax.where(is_rest, one, wanted)
    once = relax.less_equal(relax.sum(relax.astype(is_rest, dtype=np.int64), axis=[0], keepdims=True), one)
    takes_nothing = relax.equal(_product(others), zero)
    total = relax.where(takes_nothing, _product(_filled_axes(sizes)), _product(sizes))
    rest = relax.floor_divide(total, _product(_filled_axes(others)))
    found = run_time.valid_or_negative(relax.where(is_rest, rest, wanted), once)
    return relax.reshape(node.x(), shape=run_time.symbols(node, found, "shape"))


def _product(sizes):
    """The product of a vector, [1]."""
    return relax.prod(sizes, axis=[0], keepdims=True)


def _filled_axes(sizes):
    """The sizes, 1 in place of each 0."""
    return relax.where(relax.equal(sizes, run_time.literal(0)), run_time.literal(1), sizes)


@op("Flatten", 1, 9, 11, 13, 21, 23, 24, 25)
def flatten(node):
    """Flatten, to a matrix."""
    rank, axis = node.rank(), node.integer("axis", 1)
    if not -rank <= axis <= rank:
        raise Malformed(f"there is no axis {axis} to flatten a tensor of rank {rank} at")
    axis = axis + rank if axis < 0 else axis
    return relax.reshape(node.x(), shape=[dims.product(node.dims()[:axis]), dims.product(node.dims()[axis:])])


def _axes(node, rank: int) -> list[int]:
    """The axes of Squeeze and Unsqueeze: an attribute before opset 13, an input since; empty if they are omitted."""
    if node.version < 13:
        return sorted(node.axes(node.integers("axes", []), rank))
    return sorted(node.axes(node.ints(1, "axes"), rank)) if node.given(1) else []


def _squeezed(node) -> list[int]:
    axes = _axes(node, node.rank())
    if not axes and not (node.version >= 13 and node.given(1)) and not node.has("axes"):
        if any(not isinstance(s, int) for s in node.dims()):
            raise Refused(f"which axes of {list(node.dims())} have size 1 is known only at run time: give numbers for these sizes "
                          "(shapes=), or axes")
        axes = [axis for axis, s in enumerate(node.dims()) if s == 1]
    return axes


@op("Squeeze", 1, 11, 13, 21, 23, 24, 25, fold=lambda node, data, _axes=None: np.squeeze(data, tuple(_squeezed(node))))
def squeeze(node):
    """Squeeze; without axes those of size 1, which must be known at import."""
    if node.version >= 13 and node.by_data(1):
        axes, sizes = run_time.integers(node, 1, "axes"), run_time.vector(node, node.dims())
        flags, valid = run_time.marked(axes, node.rank())
        left = node.rank() - run_time.count(axes)
        if left < 0:
            raise Malformed(f"it takes {run_time.count(axes)} axes from a tensor of rank {node.rank()}")
        others = run_time.chosen(sizes, relax.logical_not(flags), left)
        return relax.reshape(node.x(), shape=run_time.symbols(node, run_time.valid_or_negative(others, valid), "size"))
    axes = _squeezed(node)
    return relax.squeeze(node.x(), axis=axes) if axes else node.value(0)


def _unsqueezed(node) -> list[int]:
    count = len(node.integers("axes")) if node.version < 13 else len(node.ints(1, "axes"))
    return _axes(node, node.rank() + count)


@op("Unsqueeze", 1, 11, 13, 21, 23, 24, 25, fold=lambda node, data, _axes=None: np.expand_dims(data, tuple(_unsqueezed(node))))
def unsqueeze(node):
    """Unsqueeze."""
    if node.version >= 13 and node.by_data(1):
        axes = run_time.integers(node, 1, "axes")
        rank = node.rank() + run_time.count(axes)
        flags, valid = run_time.marked(axes, rank)
        before = relax.cumsum(relax.astype(flags, dtype=np.int64), axis=0)      # of the axes up to this one, those that are new
        own = relax.subtract(run_time.literal(np.arange(rank)), before)
        given = run_time.joined(run_time.vector(node, node.dims()), run_time.literal([1]))
        zero, last = run_time.literal(0), run_time.literal(node.rank())
        sizes = relax.where(flags, run_time.literal(1), relax.take(given, run_time.clamped(own, zero, last), axis=0))
        return relax.reshape(node.x(), shape=run_time.symbols(node, run_time.valid_or_negative(sizes, valid), "size"))
    axes = _unsqueezed(node)
    return relax.expand_dims(node.x(), axis=axes) if axes else node.value(0)


def _fold_expand(node, data, wanted):
    if wanted.dtype == object or math.prod(np.broadcast_shapes(data.shape, tuple(wanted.tolist()))) > KNOWN_ELEMENTS:
        return None
    return np.broadcast_to(data, np.broadcast_shapes(data.shape, tuple(wanted.tolist())))


@op("Expand", 8, 13, fold=_fold_expand)
def expand(node):
    """Expand. It broadcasts both ways: an axis may be larger than requested."""
    if node.by_data(1):
        return _expand_by_data(node)
    asked = node.sizes(1, "the shape")
    wanted, shape = list(broadcast_or_common(node, asked)), node.dims()
    return node.value(0) if wanted == list(shape) else expanded(node.x(), wanted)


def _expand_by_data(node):
    """Expand to a shape that is data."""
    asked, given = run_time.integers(node, 1, "sizes"), node.dims()
    length = run_time.count(asked)
    rank = max(length, len(given))
    if not rank:
        return node.value(0)
    if rank > length:
        asked = run_time.joined(run_time.literal([1] * (rank - length)), asked)
    padded = [*[1] * (rank - len(given)), *given]
    sizes = relax.where(relax.equal(asked, run_time.literal(1)), run_time.vector(node, padded), asked)
    shape: list[Size] = list(run_time.symbols(node, sizes, "shape"))
    for axis, size in enumerate(padded):
        if isinstance(size, int) and size != 1:
            node.require_equal(shape[axis], size, f"the size asked for at axis {axis} to be 1 or {size}")
            shape[axis] = size
    return expanded(node.x(), shape)


def broadcast_or_common(node, asked: list[Size]) -> Iterator[Size]:
    """The sizes that the input and the shape asked for broadcast to. A size asked for that may be 1 at a call, or too great, is checked
    there."""
    given = node.dims()
    rank = max(len(given), len(asked))
    for axis in range(-rank, 0):
        size, other = (sizes[axis] if len(sizes) >= -axis else 1 for sizes in (given, asked))
        common = common_size((size, other))
        if common is None:
            yield broadcast((size,), (other,))[0]
            continue
        if isinstance(other, dims.Dim) and other != common:
            needs = f"{other}, the size asked for at axis {axis}, to be 1 or {common}"
            node.require_equal(dims.broadcast_size(other, common), common, needs)
        yield common


def _permutation(node) -> list[int]:
    rank = node.rank()
    axes = node.integers("perm", list(range(rank))[::-1])
    if sorted(axes) != list(range(rank)):
        raise Malformed(f"perm = {axes} is no permutation of the {rank} axes of its input")
    return axes


@op("Transpose", 1, 13, 21, 23, 24, 25, fold=lambda node, data: data.transpose(_permutation(node)))
def transpose(node):
    """Transpose; without ``perm`` the axes are reversed."""
    return relax.permute_dims(node.x(), axes=_permutation(node))


@op("DepthToSpace", 1, 11, 13, 28)
def depth_to_space(node):
    """DepthToSpace."""
    return relax.depth_to_space(node.x(), block=node.integer("blocksize"), mode=node.text("mode", "DCR", "CRD"))


@op("SpaceToDepth", 1, 13, 28)
def space_to_depth(node):
    """SpaceToDepth; its mode CRD adds a transpose."""
    mode = node.text("mode", "DCR", "CRD")
    if mode == "DCR":
        return relax.space_to_depth(node.x(), block=node.integer("blocksize"))
    block = node.integer("blocksize")
    y = relax.space_to_depth(node.x(), block=block)
    n, _, h, w = relax.TensorType.of(y.type).dims
    c = node.dims()[1]
    # CRD: the input's channel is outermost in the channel number instead of innermost
    split = relax.permute_dims(relax.reshape(y, shape=[n, block * block, c, h, w]), axes=[0, 2, 1, 3, 4])
    return relax.reshape(split, shape=[n, c * (block * block), h, w])


ENTRIES = (shape, size, reshape, flatten, squeeze, unsqueeze, expand, transpose, depth_to_space, space_to_depth)
