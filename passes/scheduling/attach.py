"""Schedules attached to kernels: ``tir.schedule = @sequence``; a compile runs them instead of the target's own."""
from pathlib import Path
from typing import Any

from ...dialects import tir
from ...dialects.errors import LegatoError
from ...dialects.module import Module
from ...dialects.tir.text import FIXED, SCHEDULE
from ...dialects.tir.walk import blocks, find, localize_constants
from ...mlir import func, ir
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
    ops, and names none of tir, is run on structured ops: a structured kernel as it stands, loops as what they raise to. ScheduleError, with
    the step and the kernel, for one that fails or finds nothing.
    """
    done: dict[str, str] = {}
    sequences = script.sequences(module)
    carriers = [kernel for kernel in tir.prim_funcs(module) if SCHEDULE in kernel.attributes]
    needed: dict[str, list[str]] = {}
    for kernel in carriers:
        name = kernel.attributes[SCHEDULE].value
        if name not in sequences:
            raise ScheduleError(f"@{kernel.name.value} is scheduled by @{name}, which the module does not have")
        needed[name] = script.reached(name, sequences)
    on_loops = {name: script.is_on_loops([sequences[n] for n in names]) for name, names in needed.items()}
    used = {one: sequences[one] for names in needed.values() for one in names}
    texts = {name: str(sequence) for name, sequence in used.items()}
    for sequence in used.values():
        script.expect_matches(sequence)
    for kernel in carriers:
        name = kernel.attributes[SCHEDULE].value
        done[kernel.name.value] = "\n".join(texts[n] for n in needed[name])
        run_one(module, kernel, name, on_loops[name])
    for sequence in used.values():
        sequence.erase()
    if used and len(used) == len(sequences) and script.WITH_SEQUENCES in module.operation.attributes:
        del module.operation.attributes[script.WITH_SEQUENCES]
    return done


def run_one(module: ir.Module, kernel: func.FuncOp, name: str, on_loops: bool) -> None:
    """Runs a sequence on the loops of a kernel, or on its structured ops, whichever it is written in."""
    from ..raise_loops import Kept, raised
    from .unraise import to_loops

    hint = ""
    if on_loops:
        if not blocks(kernel.operation):
            to_loops(kernel)
        localize_constants(kernel.operation)
    elif find(kernel.operation, "tir.for"):
        try:
            kernel = raised(kernel)
        except Kept as reason:
            hint = f"\n  its loops have no form as structured ops, which this schedule is for: {reason}"
    try:
        kernel = script.run_sequence(module, name, kernel)
    except ScheduleError as error:
        raise ScheduleError(f"{error}{hint}") from None
    del kernel.attributes[SCHEDULE]
    kernel.attributes[FIXED] = ir.UnitAttr.get()
