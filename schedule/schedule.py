"""``legato.Schedule``: a kernel is transformed step by step; each step is checked and recorded."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from warnings import warn

from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.tir.walk import localize_constants
from legato.schedule import script
from legato.schedule.block_steps import BlockSteps
from legato.schedule.buffer_steps import BufferSteps
from legato.schedule.elsewhere import ELSEWHERE
from legato.schedule.handle import Handle, Knob
from legato.schedule.loop_steps import LoopSteps
from legato.schedule.state import Kernel, ScheduleError
from legato.schedule.trace import Trace


class ModuleSchedule(LoopSteps, BufferSteps, BlockSteps):
    """TensorIR's schedule primitives on the kernels of a module.

    ``module``: a Module, or a script's kernel, which is not changed: ``.module`` is the scheduled copy. ``kernel``: the name of the kernel
    to schedule, if there are several (``work_on`` switches to another). Each primitive raises ``ScheduleError``, with the reason, if it
    is not legal. ``trace`` is the transform script of the steps so far; ``replay`` runs one. A structured kernel is converted to loops
    first. Buffers are given by their numbers among those that a block reads or writes, or by their names.
    """

    @property
    def mod(self) -> Module:
        """The old name of ``module``, and TVM's."""
        warn("sch.mod is called sch.module now", DeprecationWarning, stacklevel=2)
        return self.module

    def get(self, handle: Handle) -> ir.Operation:
        """The operation of a handle."""
        return handle.operation

    def get_block(self, name: str, func_name: str | None = None) -> Handle:
        """The block of that name."""
        return self._of_kernel("get_block", func_name, name=name)[0]

    get_sblock = get_block  # the name in newer TVM

    def get_loops(self, block: Handle) -> list[Handle]:
        """The loops around a block, outermost first."""
        return self._step("get_loops", [block])

    def get_child_blocks(self, block_or_loop: Handle) -> list[Handle]:
        """The blocks directly in a block or a loop."""
        return self._step("get_child_blocks", [block_or_loop])

    def get_producers(self, block: Handle) -> list[Handle]:
        """The earlier blocks that write what a block reads."""
        return self._step("get_producers", [block])

    def get_consumers(self, block: Handle) -> list[Handle]:
        """The later blocks that read what a block writes."""
        return self._step("get_consumers", [block])

    def get_output_blocks(self, scope_block: Handle | None = None) -> list[Handle]:
        """The blocks, in a block or in the whole kernel, that write outputs of the kernel."""
        return self._step("get_output_blocks", [scope_block]) if scope_block is not None else self._of_kernel("get_output_blocks")

    def replay(self, source: str | Path, **parameters: Any) -> ModuleSchedule:
        """Runs a script, given as text or a file, on the current kernel. Existing handles become invalid.

        ``parameters``: values for the script's knobs, by name. If a step fails the kernel is unchanged.
        """
        work = self._work()
        parsed = script.parse(source, self.module.context)
        script.set_knobs(parsed, parameters)
        entry = script.entry(parsed)
        recorded = Trace(self.module.context)
        recorded.extend(work.trace.module, work.trace.sequence)
        recorded.extend(parsed, entry)
        backup = self.module.clone()
        for one in self._works.values():
            one.forget()
        try:
            work.kernel = Kernel(script.run_apart(self.module.module, parsed, entry, work.kernel.function))
        except BaseException:
            self.module = backup
            for one in self._works.values():
                one.kernel = Kernel(backup.function(one.name))
            raise
        if not script.only_steps(parsed):
            with self.module.context, ir.Location.unknown():
                localize_constants(work.kernel.function.operation)
        work.trace = recorded
        return self

    def __str__(self) -> str:
        return str(self._work().kernel.function)

    def knob(self, name: str, options: Sequence[int], selected: int | None = None) -> Knob:
        """A tunable number, one of the options, for the factors of a split or the sizes of tiles.

        It is ``transform.tune.knob`` in the trace; ``replay(trace, name=value)`` chooses another value.
        """
        if not isinstance(name, str) or not isinstance(options, Sequence) or isinstance(options, str):
            raise ScheduleError(f"knob: takes a name and a list of numbers, such as \"width\", [16, 32]; not {name!r}, {options!r}")
        if not options:
            raise ScheduleError(f"knob: '{name}' has no options to choose from")
        chosen = options[0] if selected is None else selected
        if chosen not in options:
            raise ScheduleError(f"knob: '{name}' is one of {', '.join(map(str, options))}, not {chosen}")
        return Knob(name, chosen, self._work().trace.knob(name, options, chosen))

    def __getattr__(self, name: str) -> Any:
        if name in ELSEWHERE:
            raise AttributeError(f"legato.Schedule has no {name}: {ELSEWHERE[name]}")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
