"""Patterns of relax-canonicalize: the index of one element, and elements at indices that are the same for whole slices, as graph networks
repeat them."""
import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import UNKNOWN, Size, dims
from legato.dialects.relax.types import TensorType
from legato.passes.graph.rewriter import GraphRewriter


def gathered_slices(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """``gather_elements`` at indices that are repeated along all other axes: slices are taken."""
    x, indices = op.operands
    axis = relax.attributes_of(op)["axis"] % x.type.rank
    repeated = _repeated(r, indices, x)
    if repeated is None:
        return None
    given, sizes, of_x = (dims(value.type) for value in (repeated, indices, x))
    others = [a for a in range(len(sizes)) if a != axis]
    if given[axis] != sizes[axis] or any(given[a] != 1 or sizes[a] != of_x[a] for a in others):
        return None
    return relax.take(x, relax.reshape(repeated, [given[axis]]), axis=axis)


def gathered_rows(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """``gather_elements`` at indices that are repeated along the last axes, as PyTorch's ``gather`` of an expanded index and
    ``ReverseSequence`` have them: rows are gathered."""
    x, indices = op.operands
    axis = relax.attributes_of(op)["axis"] % x.type.rank
    if dims(indices.type)[:axis] != dims(x.type)[:axis]:
        return None
    tuples = _of_rows(r, indices, axis, axis, x)
    return None if tuples is None else relax.gather_nd(x, tuples, batch_dims=axis)


def scattered_rows(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """``scatter_elements`` at indices that are repeated likewise: rows are stored, or combined, in the same order."""
    x, indices, updates = op.operands
    attributes = relax.attributes_of(op)
    if dims(updates.type) != dims(indices.type):
        return None
    tuples = _of_rows(r, indices, attributes["axis"] % x.type.rank, 0, x)
    return None if tuples is None else relax.scatter_nd(x, tuples, updates, reduction=attributes["reduction"])


def _of_rows(r: GraphRewriter, indices: ir.Value, axis: int, first: int, x: ir.Value) -> ir.Value | None:
    """Where indices along an axis are repeated along the last axes, which are those of x: the tuples of indices of these rows, for the axes
    from ``first`` on. Along other axes than ``axis`` the index is the place itself."""
    repeated = _repeated(r, indices, x)
    if repeated is None:
        return None
    given, sizes, of_x = (dims(value.type) for value in (repeated, indices, x))
    rows = next((a + 1 for a in reversed(range(len(sizes))) if given[a] != 1 or a == axis or sizes[a] != of_x[a]), 0)
    if all(size == 1 for size in sizes[rows:]):
        return None
    at = relax.reshape(relax.broadcast_to(repeated, [*sizes[:rows], *given[rows:]]), [*sizes[:rows], 1])
    places = [a for a in range(first, rows) if a != axis]
    dtype = TensorType.of(at.type).dtype
    if any(not isinstance(sizes[a], int) for a in places) and dtype != np.int64:
        at, dtype = relax.astype(at, dtype=np.int64), np.dtype(np.int64)
    tuples = [at if a == axis else relax.broadcast_to(_places(sizes, a, rows, dtype), [*sizes[:rows], 1]) for a in range(first, rows)]
    return tuples[0] if len(tuples) == 1 else relax.concat(tuples, axis=rows)


def _places(sizes: tuple[Size, ...], axis: int, rows: int, dtype: np.dtype) -> ir.Value:
    """The places along an axis, [.., size, .., 1] with ``rows`` axes before the last."""
    size, (before, after) = sizes[axis], ([1] * axis, [1] * (rows - axis))
    if isinstance(size, int):
        return relax.constant(np.arange(size, dtype=dtype).reshape([*before, size, *after]))
    return relax.reshape(relax.arange(relax.constant(np.array(0, dtype)), relax.constant(np.array(1, dtype)), shape=[size]),
                         [*before, size, *after])


def _repeated(r: GraphRewriter, indices: ir.Value, x: ir.Value) -> ir.Value | None:
    """What is repeated along its own axes to ``indices`` of the elements of x; None where that is no broadcast, or sizes have no names."""
    op = r.find(indices, "broadcast_to")
    if op is None or op.operands[0].type.rank != x.type.rank or UNKNOWN in (*dims(op.operands[0].type), *dims(indices.type)):
        return None
    return op.operands[0]


def best_element(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """``topk`` of one element: the index of the greatest or the least. Of floats the least stays, since NaN is the greatest here, and what
    ``argmin`` finds first."""
    attributes = relax.attributes_of(op)
    if attributes["k"] != 1 or len(op.operands) != 1:
        return None
    if attributes["largest"]:
        return relax.argmax(op.operands[0], axis=attributes["axis"], keepdims=True)
    is_integer = isinstance(op.operands[0].type.element_type, ir.IntegerType)
    return relax.argmin(op.operands[0], axis=attributes["axis"], keepdims=True) if is_integer else None


PATTERNS = (("topk", best_element), ("gather_elements", gathered_slices), ("gather_elements", gathered_rows),
            ("scatter_elements", scattered_rows))
