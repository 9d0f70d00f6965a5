"""Detection of objects: which boxes are kept, and what is in them."""

from typing import Any

import numpy as np

from legato.core.errors import InferenceError
from legato.dialects.relax.assumed import assume_equal
from legato.dialects.relax.attributes import Bool, Float, Int, Ints, OneSize, Str
from legato.dialects.relax.op import BOOL, FLOAT, INTEGER, Operand, RelaxOp
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


class RegionOp(RelaxOp):
    """Regions of images, brought to one size. x and the result are NCHW, or NHWC with `channels_last`."""

    x = Operand(FLOAT)
    regions = Operand(FLOAT, "corners of each region, [regions, 4]")
    images = Operand(INTEGER, "the number of each region's image, [regions]; negative ones count from the end", own_dtype=True)
    size = Ints(doc="the number of bins along height and width")
    scale = Float(1.0)
    channels_last = Bool(False)

    @staticmethod
    def result_type(x: TensorType, regions: TensorType, images: TensorType, size, channels_last, **attrs: Any) -> TensorType:
        if x.rank != 4:
            raise InferenceError(f"operand 'x' must have rank 4, {'NHWC' if channels_last else 'NCHW'}, has {list(x.dims)}")
        if regions.rank != 2 or not assume_equal(regions.dims[1], 4, "the number of a region's coordinates"):
            raise InferenceError(f"operand 'regions' must be corners [regions, 4], has {list(regions.dims)}")
        if images.rank != 1 or not assume_equal(images.dims[0], regions.dims[0], "the number of regions"):
            raise InferenceError(f"operand 'images' is {list(images.dims)}, expected a number for each of the regions {list(regions.dims)}")
        if len(size) != 2 or min(size) < 1:
            raise InferenceError(f"attribute 'size' is {list(size)}, expected two numbers of bins, 1 or more")
        return x.with_dims((regions.dims[0], *size, x.dims[3]) if channels_last else (regions.dims[0], x.dims[1], *size))


FAR_POINTS = float(2**62)    # along an axis of a bin; one with so many has none


class RoiAlign(RegionOp, name="roi_align"):
    """Regions of images, brought to one size by sampling between the pixels.

    x and the result are NCHW, or NHWC with `channels_last`. A region has the corners (x1, y1, x2, y2), which times `scale` are pixels:
    from 0 to 1 is the first one if it is `aligned`; else the first one's center is at 0, and a region is 1 pixel high and wide at least.
    It is divided into bins, and a bin is the mean of points in it: of `sampling` along each axis, or if this is 0 of one for each pixel,
    rounded up; it is 0 if these are none. Points up to 1 pixel outside have the value at the border, those beyond are 0. With the mode
    "max" a bin is, as in ONNX, the greatest product of a pixel beside a point and its weight.

    ```mlir
    %y = "relax.roi_align"(%x, %regions, %images) {size = array<i64: 7, 7>, scale = 0.25 : f64, sampling = 2 : i64}
        : (tensor<2x16x50x60xf32>, tensor<9x4xf32>, tensor<9xi64>) -> tensor<9x16x7x7xf32>
    ```
    """

    sampling = Int(0)
    aligned = Bool(True)
    mode = Str("avg", ("avg", "max"))

    @staticmethod
    def result_type(x: TensorType, regions: TensorType, images: TensorType, size, channels_last, **attrs: Any) -> TensorType:
        if attrs["sampling"] < 0:
            raise InferenceError(f"attribute 'sampling' is {attrs['sampling']}, expected 0 or more")
        return RegionOp.result_type(x, regions, images, size, channels_last)

    @staticmethod
    def compute(x, regions, images, size, scale, channels_last, sampling, aligned, mode):
        if channels_last:
            first = RoiAlign.compute(np.moveaxis(x, 3, 1), regions, images, size, scale, False, sampling, aligned, mode)
            return np.moveaxis(first, 1, 3)
        result = np.zeros((len(regions), x.shape[1], *size), x.dtype)
        kind = np.float32 if x.dtype.itemsize == 2 else x.dtype.type
        for region, image in enumerate(images):
            corners = regions[region].astype(kind) * kind(scale) - kind(0.5 if aligned else 0)
            starts, lengths = corners[1::-1], corners[:1:-1] - corners[1::-1]
            if not aligned:
                lengths = np.maximum(lengths, 1)
            lines = [[_points(start, length, bins, number, sampling, extent) for number in range(bins)]
                     for start, length, bins, extent in zip(starts, lengths, size, x.shape[2:])]
            for place in np.ndindex(*size):
                (rows, heights, first), (columns, widths, second) = (line[number] for line, number in zip(lines, place))
                if first * second <= 0:
                    continue
                picked = x[image][:, rows[:, None, :, None], columns[None, :, None, :]].astype(kind)
                parts = picked * (heights[:, None, :, None] * widths[None, :, None, :])
                if mode == "avg":
                    result[(region, slice(None), *place)] = parts.sum((1, 2, 3, 4)) / (first * second)
                else:
                    least = 0 if len(rows) * len(columns) < first * second else -np.inf
                    result[(region, slice(None), *place)] = parts.max((1, 2, 3, 4), initial=least)
        return result


def _points(start, length, bins: int, number: int, sampling: int, extent: int):
    """Along an axis: the pixels beside each point of a bin that is not outside ([points, 2]), their weights, the number of all points."""
    count = float(sampling or np.ceil(length / bins))
    count = count if 0 < count < FAR_POINTS else 0.0    # a NaN is none
    begin, step = start + number * (length / bins), (length / bins) / (count or 1)
    ends = [0, count] if not step > 0 else np.clip([np.floor((-1 - begin) / step) - 1, np.ceil((extent - begin) / step) + 1], 0, count)
    first, last = (int(end) for end in np.nan_to_num(ends))
    places = begin + (np.arange(first, min(last, first + 2 * extent + 8 if not sampling else last)) + 0.5).astype(start.dtype) * step
    places = np.maximum(places[(places >= -1) & (places <= extent) & (extent > 0)], 0)
    low = np.minimum(np.floor(places), extent - 1)
    rest = np.minimum(places - low, low < extent - 1)
    pixels = np.stack([low, np.minimum(low + 1, extent - 1)], axis=1).astype(np.int64)
    return pixels, np.stack([1 - rest, rest], axis=1).astype(start.dtype), count


FAR_PIXELS = float(2**31)    # corners beyond are taken for it


class RoiPool(RegionOp, name="roi_pool"):
    """Regions of images, brought to one size by the maximum of the pixels of each bin.

    x and the result are NCHW, or NHWC with `channels_last`. A region has the corners (x1, y1, x2, y2), which times `scale` are rounded to
    pixels, halves away from 0 (a NaN is 0); both are in the region, which is 1 pixel high and wide at least. It is divided into bins, and
    a bin has all pixels that it touches. One without pixels of the image is 0.

    ```mlir
    %y = "relax.roi_pool"(%x, %regions, %images) {size = array<i64: 7, 7>, scale = 0.0625 : f64}
        : (tensor<2x16x50x60xf32>, tensor<9x4xf32>, tensor<9xi64>) -> tensor<9x16x7x7xf32>
    ```
    """

    @staticmethod
    def compute(x, regions, images, size, scale, channels_last):
        if channels_last:
            return np.moveaxis(RoiPool.compute(np.moveaxis(x, 3, 1), regions, images, size, scale, False), 1, 3)
        result = np.zeros((len(regions), x.shape[1], *size), x.dtype)
        kind = np.float32 if x.dtype.itemsize == 2 else x.dtype.type
        for region, image in enumerate(images):
            corners = np.clip(np.nan_to_num(regions[region].astype(kind) * kind(scale), nan=0), -FAR_PIXELS, FAR_PIXELS)
            whole = np.trunc(corners)
            corners = (whole + np.where(np.abs(corners - whole) >= 0.5, np.sign(corners), 0)).astype(np.int64)
            lines = []
            for start, end, bins, extent in zip(corners[1::-1], corners[:1:-1], size, x.shape[2:]):
                length = kind(max(end - start + 1, 1)) / kind(bins)
                numbers = np.arange(bins + 1).astype(kind) * length
                places = start + np.stack([np.floor(numbers[:-1]), np.ceil(numbers[1:])]).astype(np.int64)
                lines.append(np.clip(places, 0, extent).T)
            for row, column in np.ndindex(*size):
                (top, bottom), (left, right) = lines[0][row], lines[1][column]
                if top < bottom and left < right:
                    result[region, :, row, column] = x[image][:, top:bottom, left:right].max((1, 2))
        return result
