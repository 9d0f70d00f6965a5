"""Compares two runs: the allowed difference of each value comes from runs of the same function whose values were moved."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from legato.passes.pipeline.rounding import Rounding

FACTOR = 8.0   # how much more than the largest change by moved values is allowed: a few random moves are not the worst ones


@dataclass(frozen=True)
class ValueDifference:
    """The element with the greatest error. ``index``: where; ``before``, ``after``: its values; ``allowed``: the difference allowed there;
    ``count``, ``total``: of elements that differ by more than is allowed, and of all. ``shapes``: of before and after, if they differ."""

    index: tuple[int, ...]
    before: object
    after: object
    allowed: float
    count: int
    total: int
    shapes: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    def __str__(self) -> str:
        if self.shapes is not None:
            return f"its shape was {list(self.shapes[0])}, and is {list(self.shapes[1])}"
        return (f"element {list(self.index)} was {_shown(self.before)}, and is {_shown(self.after)}; allowed is a difference of "
                f"{self.allowed:.3g}; {self.count} of {self.total} elements differ by more")


def _shown(value: object) -> str:
    return repr(value.item()) if isinstance(value, np.generic) else str(value)


def alike(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """An array of plain elements (booleans as bytes, signless integers, half floats as integers) with the dtype that its value has in
    the graph."""
    halves = dtype.itemsize == 2 and array.dtype.kind in "iu"
    if array.dtype == dtype or array.dtype.itemsize != dtype.itemsize or ({array.dtype.kind, dtype.kind} - set("iub") and not halves):
        return array
    return np.ascontiguousarray(array).reshape(array.shape).view(dtype)   # it makes an axis for a scalar


def is_float(dtype: np.dtype) -> bool:
    """Whether elements are floating-point numbers, bf16 included."""
    return dtype.kind == "f" or dtype == ml_dtypes.bfloat16


def equal(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether two arrays are equal: NaNs are equal to each other, and zeros of either sign."""
    if before.shape != after.shape or before.dtype != after.dtype:
        return False
    if np.array_equal(before, after):
        return True
    return is_float(before.dtype) and bool(np.array_equal(before.astype(np.float64), after.astype(np.float64), equal_nan=True))


def difference(before: np.ndarray, after: np.ndarray, moved: Sequence[np.ndarray], rounding: Rounding) -> ValueDifference | None:
    """The greatest difference that is more than allowed, or None. ``moved``: the value in runs with moved values, of the shape of
    ``before``; none for a pass that has to be exact."""
    after = alike(after, before.dtype)
    if before.shape != after.shape:
        return ValueDifference((), None, None, 0.0, 0, 0, (before.shape, after.shape))
    if equal(before, after):
        return None
    with np.errstate(all="ignore"):
        x, y = before.astype(np.float64), after.astype(np.float64)
        finite = np.isfinite(x) & np.isfinite(y)
        error = np.where(finite, np.abs(x - y), np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.inf))
        if before.dtype.kind in "iub" and before.dtype.itemsize == 8:   # beyond the integers of a float
            error = np.where((before != after) & (error == 0), 1.0, error)
        allowed, free = _allowed(x, before.dtype, moved, rounding)
    beyond = (error > allowed) & ~free
    if not rounding.specials:
        beyond &= finite
    if not beyond.any():
        return None
    worst = np.where(beyond, np.where(np.isfinite(error), error, np.finfo(np.float64).max), -1.0)
    index = np.unravel_index(int(worst.argmax()), worst.shape)
    return ValueDifference(tuple(map(int, index)), before[index], after[index], float(np.broadcast_to(allowed, x.shape)[index]),
                      int(beyond.sum()), before.size)


def _allowed(x: np.ndarray, dtype: np.dtype, moved: Sequence[np.ndarray], rounding: Rounding) -> tuple[np.ndarray, np.ndarray]:
    """The allowed error, and where any is: the elements that become NaN or infinite, or cease to be, when values are moved."""
    free = np.zeros(x.shape, bool)
    if rounding.is_exact or not moved:
        return np.zeros(x.shape), free
    most = 0.0
    own = np.zeros(x.shape)
    for array in moved:
        if array.shape != x.shape:
            continue
        y = alike(array, dtype).astype(np.float64)
        finite = np.isfinite(x) & np.isfinite(y)
        free |= (np.isfinite(x) != np.isfinite(y)) | (np.isnan(x) != np.isnan(y))
        gap = np.where(finite, np.abs(x - y), 0.0)
        own = np.maximum(own, gap)
        most = max(most, float(gap.max(initial=0.0)))
    if is_float(dtype):
        eps = float(ml_dtypes.finfo(dtype).eps)
        own = np.maximum(own, np.where(np.isfinite(x), np.abs(x), 0.0) * rounding.step(eps))
    return np.maximum(FACTOR * own, FACTOR * most), free


def mover(rounding: Rounding, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """A function that moves each element of a floating-point array at random, up or down by the step of a rounding."""
    random = np.random.default_rng(seed)

    def moved(array: np.ndarray) -> np.ndarray:
        if not is_float(array.dtype) or not array.size:
            return array
        step = rounding.step(float(ml_dtypes.finfo(array.dtype).eps))
        factors = 1.0 + step * random.choice((-1.0, 1.0), array.shape)
        with np.errstate(all="ignore"):
            return (array.astype(np.float64) * factors).astype(array.dtype)

    return moved
