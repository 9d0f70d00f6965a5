"""Detection of objects: NonMaxSuppression."""
import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.dims import Size
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.problems import Malformed


@op("NonMaxSuppression", 10, 11)
def non_max_suppression(node):
    """NonMaxSuppression: batch, class and number of each box that is kept. How many rows there are depends on data."""
    if node.rank() != 3 or node.rank(1) != 3:
        raise Malformed(f"its boxes are {list(node.dims())} and its scores {list(node.dims(1))}; both have three dimensions")
    boxes, scores = _corners(node), node.x(1)
    places = relax.non_max_suppression(boxes, scores, _candidates(node, scores), _threshold(node), k=_most(node))
    found = relax.nonzero(relax.greater_equal(places, run_time.literal(0)))
    rows = relax.permute_dims(found, axes=[1, 0])
    numbers = relax.expand_dims(relax.gather_nd(places, rows), axis=[1])
    return relax.concat([relax.strided_slice(rows, begin=[0], end=[2], axes=[1]), numbers], axis=1)


def _corners(node) -> ir.Value:
    """The boxes as least and greatest coordinates."""
    boxes = node.x()
    first, second = (relax.strided_slice(boxes, begin=[begin], end=[begin + 2], axes=[2]) for begin in (0, 2))
    if node.integer("center_point_box", 0):
        half = relax.divide(second, node.literal(2, np.float32))
        return relax.concat([relax.subtract(first, half), relax.add(first, half)], axis=2)
    return relax.concat([relax.minimum(first, second), relax.maximum(first, second)], axis=2)


def _candidates(node, scores: ir.Value) -> ir.Value:
    """The boxes whose score exceeds the threshold; without one those that have a score."""
    if node.given(4) and node.dims(4) != (0,):
        return relax.greater(scores, relax.reshape(node.x(4), shape=[]))
    node.ignore_input(4)
    return relax.equal(scores, scores)


def _threshold(node) -> ir.Value:
    if node.given(3) and node.dims(3) != (0,):
        return relax.reshape(node.x(3), shape=[])
    node.ignore_input(3)
    return node.literal(0, np.float32)


def _most(node) -> Size:
    """The number of boxes of each class that may be kept: no more than there are."""
    number = node.dims()[1]
    if not node.given(2) or node.dims(2) == (0,):
        node.ignore_input(2)
        return 0
    known = node.value(2).known()
    if known is not None:
        return dims.minimum(dims.maximum(known.item(), 0), number)
    most = relax.maximum(run_time.integers(node, 2, "boxes"), run_time.literal(0))
    (size,) = run_time.symbols(node, relax.minimum(most, run_time.vector(node, [number])), "kept")
    return size


ENTRIES = (non_max_suppression,)
