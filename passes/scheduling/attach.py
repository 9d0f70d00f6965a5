"""Schedules attached to kernels: ``tir.schedule = @sequence``; a compile runs them instead of the target's own."""
from pathlib import Path
from typing import Any

from ...dialects import tir
from ...dialects.errors import LegatoError
from ...dialects.module import Module
from ...dialects.tir.text import FIXED, SCHEDULE
from ...dialects.tir.walk import blocks, localize_constants
from ...mlir import ir
from . import script
from .state import ScheduleError


def attach_schedule(module: Any, kernel: str, source: str | Path, **parameters: Any) -> Module:
    """A copy of a module whose kernel carries a schedule, a transform script as ``Schedule.trace`` has it, from text or a file.

    ``parameters``: values for the script's knobs, by name. LegatoError where there is no such kernel, or no such script.
    """
    result = module.clone() if isinstance(module, Module) else module.module()
    found = next((k for k in tir.prim_funcs(result.module) if k.name.value == kernel), None)
    if found is None:
        names = ", ".join(k.name.value for k in tir.prim_funcs(result.module)) or "none"
        raise LegatoError(f"there is no kernel '{kernel}'; there are {names}")
    parsed = script.parse(source, result.context)
    script.set_knobs(parsed, parameters)
    entry = script.entry(parsed)
    with result.context, ir.Location.unknown():
        script.rename(parsed, entry, f"schedule_of_{kernel}")
        all_ = script.sequences(parsed)
        needed = {name: all_[name] for name in script.reached(entry.attributes["sym_name"].value, all_)}
        script.rename_taken(parsed, needed, script.symbols(result.module))
        for one in needed.values():
            result.module.body.append(one.clone(ip=False))
        result.module.operation.attributes[script.WITH_SEQUENCES] = ir.UnitAttr.get()
        found.attributes[SCHEDULE] = ir.FlatSymbolRefAttr.get(entry.attributes["sym_name"].value)
    return result


def run_attached(module: ir.Module) -> dict[str, str]:
    """Runs the schedules that kernels carry, and takes them out of the module. What was done, by kernel.

    A schedule with steps of ours is run on the kernel's loops: one that is structured is put into loops first. One that has only upstream's
    ops is run on the kernel as it stands. ScheduleError, with the step and the kernel, for one that fails or finds nothing.
    """
    done: dict[str, str] = {}
    sequences = script.sequences(module)
    used: list[str] = []
    for kernel in list(tir.prim_funcs(module)):
        if SCHEDULE not in kernel.attributes:
            continue
        name = kernel.attributes[SCHEDULE].value
        if name not in sequences:
            raise ScheduleError(f"@{kernel.name.value} is scheduled by @{name}, which the module does not have")
        needed = script.reached(name, sequences)
        done[kernel.name.value] = "\n".join(str(sequences[n]) for n in needed)
        for one in [n for n in needed if n not in used]:
            script.expect_matches(sequences[one])
            used.append(one)
        if script.has_steps([sequences[n] for n in needed]):
            if not blocks(kernel.operation):
                from .unraise import to_loops

                to_loops(kernel)
            localize_constants(kernel.operation)
        kernel = script.run_sequence(module, name, kernel)
        del kernel.attributes[SCHEDULE]
        kernel.attributes[FIXED] = ir.UnitAttr.get()
    for name in used:
        sequences[name].erase()
    if len(used) == len(sequences) and used and script.WITH_SEQUENCES in module.operation.attributes:
        del module.operation.attributes[script.WITH_SEQUENCES]
    return done
