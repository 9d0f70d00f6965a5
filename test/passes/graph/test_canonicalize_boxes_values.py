"""Scatters to boxes become concatenations of slices; those to other places stay."""
import numpy as np
import pytest
from graphs import build, check, names

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.markers import DONATED
from legato.passes.graph.canonicalize.canonicalize import Canonicalize
from legato.passes.graph.fold_constants import FoldConstants

BOXES = {   # what indexes each axis of 4 x 6 x 5: a number, or a range
    "inside": [(1, 3), (2, 5)], "row": [2, (0, 6)], "column": [(0, 4), 3], "element": [1, 2, 3], "from the end": [-1, (-4, -1)],
    "all": [(0, 4), (0, 6), (0, 5)], "one place": [(3, 4), (0, 6), (4, 5)], "columns of all": [(0, 4), (0, 6), (1, 3)],
}


def scattered(indices, reduction, folded):
    """A scatter as exporters write an assignment to slices: an index for each axis, expanded to all places and joined."""
    places = [np.asarray(one, np.int64) for one in indices]
    sizes = [len(one) for one in places if one.ndim]

    def body(x, updates):
        pieces, axis = [], 0
        for one in places:
            shape = [1] * len(sizes)
            if one.ndim:
                shape[axis], axis = len(one), axis + 1
            repeated = relax.broadcast_to(relax.constant(one.reshape(shape)), shape=sizes)
            pieces.append(relax.reshape(repeated, [*sizes, 1]))
        return relax.scatter_nd(x, relax.concat(pieces, axis=len(sizes)), updates, reduction=reduction)

    passes = [FoldConstants(), Canonicalize()] if folded else [Canonicalize()]
    rest = [4, 6, 5][len(places):]
    return names(check(build([[4, 6, 5], [*sizes, *rest]], body), passes, tolerance=0))


@pytest.mark.parametrize("folded", [True, False])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("box", BOXES)
def test_boxes(box, reduction, folded):
    indices = [one if isinstance(one, int) else np.arange(*one) for one in BOXES[box]]
    assert "scatter_nd" not in scattered(indices, reduction, folded)


@pytest.mark.parametrize("folded", [True, False])
@pytest.mark.parametrize("indices", [[np.arange(4), np.arange(0, 6, 2)], [np.arange(3, -1, -1), 2], [[0, 1, 3], np.arange(6)],
                                     [np.arange(-1, 1), 0]], ids=["steps", "downwards", "a gap", "around the end"])
def test_other_places(indices, folded):
    assert "scatter_nd" in scattered(indices, "none", folded)


def test_pairs():
    """Two axes that are indexed along one axis of the tuples: a diagonal."""
    pairs = np.stack([np.arange(4), np.arange(4)], -1)
    module = build([[4, 6, 5], [4, 5]], lambda x, updates: relax.scatter_nd(x, relax.constant(pairs), updates))
    assert names(check(module, [Canonicalize()], tolerance=0)) == ["scatter_nd"]


def test_known_at_the_call():
    """The axis of a box must have a known size; others need none."""
    for shape, given, kept in [(["n", 6, 5], [4, 6, 5], True), ([4, 6, "n"], [4, 6, 5], False)]:
        pairs = np.stack(np.meshgrid(np.arange(2), np.arange(1, 4), indexing="ij"), -1)
        module = build([shape, [2, 3, shape[2]]], lambda x, updates, at=pairs: relax.scatter_nd(x, relax.constant(at), updates))
        found = names(check(module, [Canonicalize()], [given, [2, 3, 5]], tolerance=0))
        assert ("scatter_nd" in found) == kept


@pytest.mark.parametrize("box, kept", [([(1, 2)], True), ([(1, 2), (2, 3)], True), ([(0, 4), (1, 6)], False)])
def test_in_place(box, kept):
    """A few rows of what the graph computes are written in place; an argument would be copied."""
    places, sizes = np.stack(np.meshgrid(*(np.arange(*one) for one in box), indexing="ij"), -1), [4, 6, 5]
    for made, expected in [(relax.negative, kept), (lambda x: x, False)]:
        module = build([sizes, [*places.shape[:-1], *sizes[len(box):]]],
                       lambda x, updates, made=made: relax.scatter_nd(made(x), relax.constant(places), updates))
        assert ("scatter_nd" in names(check(module, [Canonicalize()], tolerance=0))) == expected


def test_donated():
    """An argument whose memory the result takes is written in place, as a cache is."""
    module = build([[4, 30], [1, 30]], lambda x, updates: relax.scatter_nd(x, relax.constant(np.array([[2]])), updates))
    with module.context:
        module.function().operation.attributes[DONATED] = ir.DenseI64ArrayAttr.get([0])
    assert names(check(module, [Canonicalize()], tolerance=0)) == ["scatter_nd"]


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
def test_truth_values(reduction):
    """Truth values are combined by scatters, not by ops, which are of numbers."""
    def body(x, updates):
        positive = [relax.greater(one, relax.constant(np.float32(0))) for one in (x, updates)]
        scattered = relax.scatter_nd(positive[0], relax.constant(np.array([[1], [2]])), positive[1], reduction=reduction)
        return relax.astype(scattered, dtype=np.dtype(np.float32))

    module = build([[4, 30], [2, 30]], body)
    assert "scatter_nd" in names(check(module, [Canonicalize()], tolerance=0))
