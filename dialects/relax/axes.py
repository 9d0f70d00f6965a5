"""Axis arithmetic shared by several ops."""

from collections.abc import Sequence

from legato.core.errors import InferenceError


def axis_of(axis: int, rank: int, name: str = "axis") -> int:
    """The axis counted from the front. InferenceError if it is outside the rank."""
    if not -rank <= axis < rank:
        raise InferenceError(f"attribute '{name}' is {axis}, expected a value from {-rank} to {rank - 1} for rank {rank}")
    return axis % rank


def axes_of(axes: Sequence[int] | None, rank: int, name: str = "axis") -> list[int]:
    """Axes counted from the front, in the order given; None means all. InferenceError if one is outside the rank, or listed twice."""
    if axes is None:
        return list(range(rank))
    found = [axis_of(axis, rank, name) for axis in axes]
    if len(set(found)) != len(found):
        raise InferenceError(f"attribute '{name}' is {list(axes)}, which names an axis twice")
    return found


def check_length(values: Sequence, expected: int, name: str, per: str) -> None:
    """InferenceError unless the attribute has the expected number of values."""
    if len(values) != expected:
        raise InferenceError(f"attribute '{name}' is {list(values)}, expected {expected} values: {per}")
