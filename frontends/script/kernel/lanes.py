"""Several values side by side: what ``T.Ramp``, ``T.Broadcast`` and a part of a row, ``A[i, 0:4]``, are in a kernel.

Each lane is a scalar of its own; the passes after make vectors of what is done to all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from legato.frontends.script.kernel.arithmetic import binary
from legato.frontends.script.kernel.values import KernelValue
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import DTYPES

MOST = 256  # lanes: each is an op of its own


@dataclass(frozen=True)
class LaneValues(KernelValue):
    """Values side by side: Scalars and Python numbers."""

    values: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.values)


def lanes_of(count: Any, make: Callable[[int], Any]) -> LaneValues:
    """``make(0), make(1), ...``. Misuse where the number of lanes is not a number, or too large a one."""
    if isinstance(count, bool) or not isinstance(count, int):
        raise Misuse("the number of lanes has to be a number that is known when the kernel is parsed")
    if not 0 < count <= MOST:
        raise Misuse(f"{count} lanes; there can be 1 to {MOST}: loop over more")
    return LaneValues(tuple(make(lane) for lane in range(count)))


def lifted(function: Callable[..., Any], *arguments: Any) -> Any:
    """A function of scalars on each lane of its arguments. Misuse where two have different numbers of lanes."""
    counts = {len(a) for a in arguments if isinstance(a, LaneValues)}
    if not counts:
        return function(*arguments)
    if len(counts) > 1:
        raise Misuse(f"{' and '.join(str(c) for c in sorted(counts))} lanes do not go together")
    return lanes_of(counts.pop(), lambda lane: function(*(a.values[lane] if isinstance(a, LaneValues) else a for a in arguments)))


def vector_type(dtype: Any) -> tuple[str, int] | None:
    """``("float32", 4)`` for ``"float32x4"``; None for what is no type of several lanes."""
    if not isinstance(dtype, str) or dtype in DTYPES:
        return None
    element, _, count = dtype.rpartition("x")
    return (element, int(count)) if element in DTYPES and count.isdigit() else None


def ramp(base: Any, stride: Any, count: Any) -> LaneValues:
    """``T.Ramp(base, stride, lanes)``: base, base + stride, ..."""
    return lanes_of(count, lambda lane: binary("+", base, binary("*", stride, lane)))


def broadcast(x: Any, count: Any) -> LaneValues:
    """``T.Broadcast(x, lanes)``: the value in each lane."""
    return lanes_of(count, lambda _: x)
