"""The handles of a schedule (blocks, loops and knobs), and its state for each kernel."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from legato.core.mlir import ir
from legato.dialects.tir.loops import SCOPE, no_scope
from legato.dialects.tir.schedule_ops import ATTRIBUTES, TEXT
from legato.schedule.interpret import GONE
from legato.schedule.state import HandleTarget, Kernel, ScheduleError
from legato.schedule.trace import Trace

if TYPE_CHECKING:
    from legato.schedule.recording import ScheduleRecorder


@dataclass(eq=False)
class Work:
    """A kernel being scheduled, and its trace."""

    name: str
    kernel: Kernel
    trace: Trace

    def forget(self) -> None:
        """Invalidates all handles."""
        for cell in list(self.kernel.cells):
            cell.op = None

    def renamed(self, op: ir.Operation, value: ir.Value) -> None:
        """Makes handles to an op use its newest name in the trace, since an older one may refer to an op that it has replaced."""
        for cell in list(self.kernel.cells):
            if cell.op is not None and cell.op == op:
                cell.value = value


class Handle:
    """A block or a loop of a schedule."""

    def __init__(self, schedule: ScheduleRecorder, work: Work, cell: HandleTarget):
        self.schedule, self.work, self.cell = schedule, work, cell

    @property
    def operation(self) -> ir.Operation:
        """The current operation. It is there as long as the schedule is kept. ScheduleError if a later step has removed it."""
        if self.cell.op is None:
            raise ScheduleError(GONE)
        return self.cell.op

    @property
    def value(self) -> ir.Value:
        """The handle in the trace."""
        assert self.cell.value is not None
        return self.cell.value

    @property
    def name(self) -> str:
        """The name of the block or of the loop variable."""
        return self.operation.opview.name

    @property
    def extent(self) -> int | None:
        """The number of iterations of a loop, or None if it is not constant."""
        return self.operation.opview.extent

    def __repr__(self) -> str:
        return "<gone>" if self.cell.op is None else f"<{self.cell.op.name.removeprefix('tir.')} {self.name}>"


@dataclass(frozen=True, eq=False)
class Knob:
    """A tunable number of a schedule: its name, the chosen value, and the parameter in the trace."""

    name: str
    value: int
    parameter: ir.Value


Numbers = tuple[str, "list[int | Knob]"] | None  # an attribute, and the numbers in it


def numbers_of(step: str, numbers: Numbers, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], list[ir.Value]]:
    """A step's attributes to apply, its attributes to record (with a 0 for each knob), and the parameters for the zeros.
    ScheduleError for anything but ints and knobs, for a text that is none, and for a scope that names no memory."""
    for name, value in given.items():
        if ATTRIBUTES.get(name) == TEXT and not isinstance(value, str):
            raise ScheduleError(f"{step}: '{name}' is a text, not {value!r}")
        if name == "scope" and not SCOPE.fullmatch(value):
            raise ScheduleError(f"{step}: {no_scope(value)}")
    if numbers is None:
        return dict(given), dict(given), []
    key, values = numbers
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, Knob)):
            raise ScheduleError(f"{step}: '{key}' are whole numbers, not {value!r}")
    done = [v.value if isinstance(v, Knob) else v for v in values]
    recorded = [0 if isinstance(v, Knob) else v for v in values]
    return {**given, key: done}, {**given, key: recorded}, [v.parameter for v in values if isinstance(v, Knob)]


def on_side(buffer: int | str | tuple[str, int], side: str) -> int | str:
    """The number or name of a buffer, which may be given as a pair with its side of the block ("read", "write"). ScheduleError for
    another side."""
    if isinstance(buffer, tuple):
        if len(buffer) != 2 or buffer[0] != side:
            raise ScheduleError(f"a buffer is named by its number, its name, or (\"{side}\", number) here, not {buffer!r}")
        return buffer[1]
    if isinstance(buffer, bool) or not isinstance(buffer, (int, str)):
        raise ScheduleError(f"a buffer is named by its number or its name, not {buffer!r}")
    return buffer
