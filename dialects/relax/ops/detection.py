"""Detection of objects: which boxes are kept."""

import numpy as np

from legato.core.errors import InferenceError
from legato.dialects.relax.assumed import assume_equal
from legato.dialects.relax.attributes import OneSize
from legato.dialects.relax.op import BOOL, FLOAT, Operand, RelaxOp
from legato.dialects.relax.types import TensorType


class NonMaxSuppression(RelaxOp, name="non_max_suppression"):
    """The numbers of up to `k` boxes of each class, best score first, that do not overlap better ones; -1 after the last of them.

    A candidate is kept if for none of those kept before it the area of their intersection over that of their union exceeds the threshold;
    boxes without an area overlap none. Of equal scores the first comes first. `boxes` has the corners (y1, x1, y2, x2) with y1 <= y2 and
    x1 <= x2.

    ```mlir
    %y = "relax.non_max_suppression"(%boxes, %scores, %candidates, %threshold) {k = 3 : i64}
        : (tensor<2x8x4xf32>, tensor<2x5x8xf32>, tensor<2x5x8xi1>, tensor<f32>) -> tensor<2x5x3xi64>
    ```
    """

    boxes = Operand(FLOAT, "corners of each box, [batch, boxes, 4]")
    scores = Operand(FLOAT, "of each box for each class, [batch, classes, boxes]; a box with a NaN is no candidate")
    candidates = Operand(BOOL, "the boxes to look at, of the scores' shape", own_dtype=True)
    threshold = Operand(FLOAT, "a scalar")
    k = OneSize(doc="the number of places for each class")

    @staticmethod
    def result_type(boxes: TensorType, scores: TensorType, candidates: TensorType, threshold: TensorType, k) -> TensorType:
        if boxes.rank != 3 or scores.rank != 3 or not assume_equal(boxes.dims[2], 4, "the number of a box's coordinates"):
            raise InferenceError("operands must be boxes [batch, boxes, 4] and scores [batch, classes, boxes], found "
                                 f"{list(boxes.dims)} and {list(scores.dims)}")
        fits = zip((scores.dims[0], scores.dims[2]), boxes.dims[:2], ("that of the boxes", "the number of boxes"))
        if not all(assume_equal(*pair) for pair in fits):
            raise InferenceError(f"operand 'scores' is {list(scores.dims)}, which does not fit the boxes {list(boxes.dims)}")
        if candidates.rank != 3 or not all(assume_equal(a, b, "that of the scores") for a, b in zip(candidates.dims, scores.dims)):
            raise InferenceError(f"operand 'candidates' is {list(candidates.dims)}, expected {list(scores.dims)}, the shape of the scores")
        if threshold.rank:
            raise InferenceError(f"operand 'threshold' must be a scalar, has {list(threshold.dims)}")
        if isinstance(k, int) and k < 0:
            raise InferenceError(f"attribute 'k' is {k}, expected 0 or more")
        return scores.with_dims((*scores.dims[:2], k)).with_dtype(np.int64)

    @staticmethod
    def compute(boxes, scores, candidates, threshold, k):
        result = np.full((*scores.shape[:2], k), -1, np.int64)
        for batch, category in np.ndindex(*scores.shape[:2]):
            allowed = candidates[batch, category] & ~np.isnan(scores[batch, category])
            order = np.argsort(-scores[batch, category], kind="stable")
            kept: list[int] = []
            for place in order[allowed[order]]:
                if len(kept) < k and not (_overlaps(boxes[batch, place], boxes[batch, kept]) > threshold).any():
                    kept.append(place)
            result[batch, category, : len(kept)] = kept
        return result


def _overlaps(box, others):
    """Intersection over union of a box with others."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    common, mine = sides[:, 0] * sides[:, 1], (box[2] - box[0]) * (box[3] - box[1])
    areas = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    union = mine + areas - common
    valid = (sides > 0).all(1) & (common > 0) & (mine > 0) & (areas > 0) & (union > 0)
    return np.where(valid, common / np.where(valid, union, 1), -np.inf)
