"""The steps of ``legato.Schedule`` on loops."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from legato.schedule.handle import Handle, Knob
from legato.schedule.recording import ScheduleRecorder
from legato.schedule.state import ScheduleError
from legato.schedule.trace import attribute_of


class LoopSteps(ScheduleRecorder):
    """Steps that split, join, order and mark loops."""

    def split(self, loop: Handle, factors: Sequence[int | Knob | None]) -> list[Handle]:
        """Replaces a loop by nested loops, outermost first; one factor may be None and is inferred. The outermost stays what the loop was:
        parallel, bound to a thread."""
        if isinstance(factors, str) or not isinstance(factors, Sequence):
            raise ScheduleError(f"split: the factors are a list, outermost first, such as [None, 4]; not {factors!r}")
        return self._step("split", [loop], numbers=("factors", [-1 if f is None else f for f in factors]))

    def loop_partition(self, loop: Handle, factors: Sequence[int | Knob | None], preserve_unit_iters: bool = True) -> list[Handle]:
        """Replaces a loop by consecutive loops of so many steps, with copies of its body: to treat its first and last steps otherwise.

        One factor may be None and is inferred; without one, what is left of the loop is one loop more. Loops begin at 0; copies of block
        ``B`` in part n of the loop ``i`` are called ``B_i<n>``, and handles to ``B`` become invalid. Without ``preserve_unit_iters`` blocks
        do not depend on the variable of a loop of one step.
        """
        if isinstance(factors, str) or not isinstance(factors, Sequence):
            raise ScheduleError(f"loop_partition: the factors are a list, in order, such as [2, None, 3]; not {factors!r}")
        return self._step("loop_partition", [loop], numbers=("factors", [-1 if f is None else f for f in factors]),
                          **({} if preserve_unit_iters else {"drop_units": True}))

    def fuse(self, *loops: Handle) -> Handle:
        """Replaces perfectly nested loops by one."""
        return self._step("fuse", loops)[0]

    def merge(self, *loops: Handle) -> Handle:
        """Makes one loop of loops in nests beside each other, of the same extents, with the bodies of all one after the other; so are the
        loops around each of them in its nest. The handle of the first one is that of the merged loop."""
        return self._step("merge", loops)[0]

    def reorder(self, *loops: Handle) -> None:
        """Puts loops of one nest into this order, outermost first."""
        self._step("reorder", loops)

    def parallel(self, loop: Handle) -> None:
        """Runs the iterations on several cores."""
        self._step("parallel", [loop])

    def vectorize(self, loop: Handle) -> None:
        """Makes the iterations lanes of vectors."""
        self._step("vectorize", [loop])

    def unroll(self, loop: Handle) -> None:
        """Copies the body for each iteration."""
        self._step("unroll", [loop])

    def bind(self, loop: Handle, thread_axis: str) -> None:
        """Makes the iterations threads of a device: ``"blockIdx.x"``, ``"threadIdx.x"``, ..."""
        self._step("bind", [loop], thread=thread_axis)

    def add_unit_loop(self, block_or_loop: Handle) -> Handle:
        """Encloses a block or a loop in a loop of one iteration, which is returned."""
        return self._step("add_unit_loop", [block_or_loop])[0]

    def annotate(self, block_or_loop: Handle, ann_key: str, ann_val: Any) -> None:
        """Adds an annotation for lowering to a block or a loop."""
        with self.module.context:
            value = attribute_of(ann_val)
        self._step("annotate", [block_or_loop], key=ann_key, value=value)

    def unannotate(self, block_or_loop: Handle, ann_key: str) -> None:
        """Removes an annotation."""
        self._step("unannotate", [block_or_loop], key=ann_key)
