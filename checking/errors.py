"""What checking raises."""
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from legato.core.errors import LegatoError

if TYPE_CHECKING:
    from legato.checking.comparison import ValueDifference


class Misbehaved(LegatoError):
    """The IR that runs does what no IR may: it leaves a buffer, divides an integer by zero, does not end."""


class NotEvaluated(LegatoError):
    """A state of the module cannot be run. The text says which op is in the way, and why."""


class CheckFailed(LegatoError):
    """A pass changed a result by more than it is entitled to.

    `pass_name`; `position`: of the pass in its pipeline, from 1; `op`: the op by the model's name (``relax.conv2d "Conv_0"``), or None
    where it could not be told; `kernel`: the kernel that computes it, or None; `result`: the name of main's result; `difference`: of the
    op's value, or of the result where the op is not known; `sizes`: of the symbols; `reproducer`: a file, or None.
    """

    def __init__(self, text: str, *, pass_name: str, position: int, op: str | None, kernel: str | None, result: str,
                 difference: ValueDifference | None, sizes: dict[str, int], reproducer: Path | None = None):
        super().__init__(text)
        self.pass_name, self.position, self.op, self.kernel, self.result = pass_name, position, op, kernel, result
        self.difference, self.sizes, self.reproducer = difference, sizes, reproducer
