"""Shapes: queries, reshapes, and other ops that only move elements."""
import math

import numpy as np

from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.dims import UNKNOWN, Size
from legato.dialects.relax.types import broadcast
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
    """The sizes that Reshape's input means: 0 is copied from the input (unless allowed), and -1 is computed if possible."""
    given = node.dims()
    sizes = []
    for axis, want in enumerate(wanted):
        if isinstance(want, int) and want == 0 and not allow_zero:
            if axis >= len(given):
                raise Malformed(f"the shape {wanted} takes the size of axis {axis} from an input of rank {len(given)}")
            want = given[axis]
        sizes.append(want)
    if sizes.count(-1) == 1:
        others = dims.product(size for size in sizes if size != -1)
        if others != 0:
            rest = dims.floor_divide(dims.product(given), others)
            if rest * others == dims.product(given):
                sizes[sizes.index(-1)] = rest
    return sizes


def _fold_reshape(node, data, wanted):
    if wanted.dtype == object:
        return None
    return data.reshape(_resolved(node, wanted.ravel().tolist(), node.flag("allowzero")))


@op("Reshape", 5, 13, 14, 19, 21, 23, 24, 25, fold=_fold_reshape)
def reshape(node):
    """Reshape."""
    wanted = _resolved(node, node.sizes(1, "the shape"), node.flag("allowzero"))
    return relax.reshape(node.x(0), shape=wanted)


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
            raise Refused(f"which axes of {list(node.dims())} have size 1 is known only at run time: axes are needed")
        axes = [axis for axis, s in enumerate(node.dims()) if s == 1]
    return axes


@op("Squeeze", 1, 11, 13, 21, 23, 24, 25, fold=lambda node, data, _axes=None: np.squeeze(data, tuple(_squeezed(node))))
def squeeze(node):
    """Squeeze; without axes those of size 1, which must be known at import."""
    axes = _squeezed(node)
    return relax.squeeze(node.x(), axis=axes) if axes else node.value(0)


def _unsqueezed(node) -> list[int]:
    count = len(node.integers("axes")) if node.version < 13 else len(node.ints(1, "axes"))
    return _axes(node, node.rank() + count)


@op("Unsqueeze", 1, 11, 13, 21, 23, 24, 25, fold=lambda node, data, _axes=None: np.expand_dims(data, tuple(_unsqueezed(node))))
def unsqueeze(node):
    """Unsqueeze."""
    axes = _unsqueezed(node)
    return relax.expand_dims(node.x(), axis=axes) if axes else node.value(0)


def _fold_expand(node, data, wanted):
    if wanted.dtype == object or math.prod(np.broadcast_shapes(data.shape, tuple(wanted.tolist()))) > KNOWN_ELEMENTS:
        return None
    return np.broadcast_to(data, np.broadcast_shapes(data.shape, tuple(wanted.tolist())))


@op("Expand", 8, 13, fold=_fold_expand)
def expand(node):
    """Expand. It broadcasts both ways: an axis may be larger than requested."""
    wanted = broadcast(node.dims(), tuple(node.sizes(1, "the shape")))
    return node.value(0) if wanted == node.dims() else relax.broadcast_to(node.x(), shape=wanted)


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
