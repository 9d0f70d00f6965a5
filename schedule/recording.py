"""The kernels of a module under scheduling: each step on one is checked, applied and recorded."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.state import SCHEDULED, set_state
from legato.dialects.tir.walk import blocks, localize_constants
from legato.schedule.handle import Handle, Numbers, Work, numbers_of
from legato.schedule.interpret import GONE
from legato.schedule.primitives import run
from legato.schedule.state import Kernel, ScheduleError
from legato.schedule.trace import Trace
from legato.schedule.unraise import to_loops


class ScheduleRecorder:
    """The module, its kernels, and the trace of each; subclasses have the steps."""

    def __init__(self, module: Any, kernel: str | None = None):
        make = module.clone if isinstance(module, Module) else getattr(module, "module", None)
        if not callable(make):
            raise ScheduleError(f"what is scheduled is a kernel (a function under @T.prim_func) or a legato.Module, not "
                                f"{type(module).__name__}")
        self.module: Module = make()
        self._works: dict[str, Work] = {}
        self._current: str | None = None
        names = self._names()
        if kernel is not None or len(names) == 1:
            self.work_on(kernel if kernel is not None else names[0])
        elif not names:
            raise ScheduleError("the module has no kernels to schedule")

    def work_on(self, func_name: str) -> None:
        """Switches to a kernel of the module: ``get_block``, ``trace`` and ``replay`` refer to it."""
        self._current = self._work(func_name).name

    @property
    def kernel_name(self) -> str:
        """The name of the kernel that is scheduled. ScheduleError if none is chosen."""
        return self._work().name

    @property
    def trace(self) -> str:
        """The steps on the kernel so far, as a transform script for ``replay``."""
        return str(self._work().trace)

    # --- recording ---

    def _step(self, step: str, handles: Sequence[Handle], numbers: Numbers = None, **given: Any) -> list[Handle]:
        for handle in handles:
            if not isinstance(handle, Handle) or handle.schedule is not self:
                raise ScheduleError(f"{step}: takes handles of this schedule, from get_block and get_loops; not {handle!r}")
            if handle.cell.op is None:
                raise ScheduleError(f"{step}: {GONE}")
        if not handles:
            raise ScheduleError(f"{step}: takes handles, has none")
        work = handles[0].work
        if any(handle.work is not work for handle in handles):
            raise ScheduleError(f"{step}: takes loops and blocks of one kernel")
        return self._do(work, step, [h.operation for h in handles], [h.value for h in handles], numbers, given)

    def _of_kernel(self, step: str, kernel: str | None = None, **given: Any) -> list[Handle]:
        """Applies a step to the kernel itself."""
        work = self._work(kernel)
        return self._do(work, step, [work.kernel.function.operation], [work.trace.kernel], None, given)

    def _do(self, work: Work, step: str, ops: list[ir.Operation], values: list[ir.Value], numbers: Numbers,
            given: Mapping[str, Any]) -> list[Handle]:
        attributes, recorded, knobs = numbers_of(step, numbers, given)
        made = run(work.kernel, step, ops, attributes)
        results = work.trace.step(step, [*values, *knobs], recorded, len(made))
        for op, value in zip(made, results):
            work.renamed(op, value)
        return [Handle(self, work, work.kernel.cell(op, value)) for op, value in zip(made, results)]

    def _names(self) -> list[str]:
        return [k.name.value for k in tir.prim_funcs(self.module.module)]

    def _work(self, name: str | None = None) -> Work:
        name = name if name is not None else self._current
        if name is None:
            names = ", ".join(self._names())
            raise ScheduleError(f"say which kernel is scheduled: Schedule(module, name), or work_on(name); there are {names}")
        if name not in self._works:
            self._works[name] = Work(name, self._begin(name), Trace(self.module.context))
        return self._works[name]

    def _begin(self, name: str) -> Kernel:
        """A kernel as loops that steps can work on."""
        found = next((k for k in tir.prim_funcs(self.module.module) if k.name.value == name), None)
        if found is None:
            raise ScheduleError(f"there is no kernel '{name}'; there are {', '.join(self._names()) or 'none'}")
        with self.module.context, ir.Location.unknown():
            if not blocks(found.operation):
                to_loops(found)
            set_state(found, SCHEDULED)
            localize_constants(found.operation)
        return Kernel(found)
