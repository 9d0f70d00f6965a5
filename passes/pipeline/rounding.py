"""What a pass may change about results: the entitlement that each pass class declares, and ``--check-each-pass`` holds it to.

A pass that reorders or fuses arithmetic changes each value by an ulp or so, and later ops may enlarge that. So the entitlement is not a
bound on results. It is how far every value of the function may be moved before the change of the results counts as the pass's: checking
moves each of them at random by so much, and compares what the pass changed with what that changes.
"""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rounding:
    """How far each floating-point value may move: ``ulps`` of its own element type, or by the factor ``1 + relative`` if that is more.

    ``specials``: whether NaN and infinities have to stay where they are. Integers and booleans are entitled to nothing of their own:
    where they depend on floating-point values (a quantized value, an argmax), they move with these.
    """

    ulps: float = 0.0
    relative: float = 0.0
    specials: bool = True

    @property
    def is_exact(self) -> bool:
        """Whether every bit has to stay, but for the sign of zeros and the payload of NaNs."""
        return not (self.ulps or self.relative)

    def step(self, eps: float) -> float:
        """The relative size of a move for an element type whose next number after 1 is ``1 + eps``."""
        return max(self.ulps * eps, self.relative)


EXACT = Rounding()
REORDERED = Rounding(ulps=4)   # sums in another order, products and sums in one instruction, functions by another approximation
