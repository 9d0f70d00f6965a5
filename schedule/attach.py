"""Schedules attached to kernels (``tir.schedule = @sequence``), which a compile runs instead of the target's own."""
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from legato.core.errors import LegatoError
from legato.core.ir_helpers import body, find
from legato.core.mlir import func, ir
from legato.core.upstream import run_on
from legato.core.user_code import blamed, source_of
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.markers import SCHEDULE
from legato.dialects.tir.schedule_ops import PACK
from legato.schedule import script
from legato.schedule.schedule import ModuleSchedule

GivenSchedule = str | Path | ModuleSchedule | Callable[[ModuleSchedule], Any]  # a rule's: for each kernel that it makes
FORMS = ("a function that is given a Schedule of the kernel and takes its steps, a legato.Schedule, whose steps are repeated, or a "
         "transform script as text or Path")


def attach_schedule(module: Any, kernel: str, source: str | Path, **parameters: Any) -> Module:
    """A copy of a module whose kernel has a schedule: a transform script in the form of ``Schedule.trace``, from text or a file.

    ``parameters``: values for the script's knobs, by name. LegatoError if there is no such kernel, or the script is invalid.
    """
    if not isinstance(module, Module) and not callable(getattr(module, "module", None)):
        raise LegatoError(f"a schedule is attached to a kernel of a legato.Module, or of a function of legato.script, not of "
                          f"{type(module).__name__}")
    result = module.clone() if isinstance(module, Module) else module.module()
    found = next((k for k in tir.prim_funcs(result.module) if k.name.value == kernel), None)
    if found is None:
        names = ", ".join(k.name.value for k in tir.prim_funcs(result.module)) or "none"
        raise LegatoError(f"there is no kernel '{kernel}'; there are {names}")
    attach(result.module, found, source, parameters)
    return result


def attach(module: ir.Module, kernel: func.FuncOp, source: str | Path, parameters: Mapping[str, Any]) -> list[ir.Operation]:
    """Gives a kernel of ``module`` a schedule. Returns the sequences that were added. LegatoError if the script is invalid."""
    parsed = script.parse(source, module.context)
    script.set_knobs(parsed, parameters)
    entry = script.entry(parsed)
    with module.context, ir.Location.unknown():
        script.rename(parsed, entry, f"schedule_of_{kernel.name.value}")
        all_ = script.sequences(parsed)
        needed = {name: all_[name] for name in script.reached(entry.attributes["sym_name"].value, all_)}
        script.rename_taken(parsed, needed, script.symbols(module))
        added = [one.clone(ip=False) for one in needed.values()]
        for one in added:
            module.body.append(one)
        module.operation.attributes[script.WITH_SEQUENCES] = ir.UnitAttr.get()
        kernel.attributes[SCHEDULE] = ir.FlatSymbolRefAttr.get(entry.attributes["sym_name"].value)
    return added


def attach_of_rule(module: ir.Module, kernel: func.FuncOp, given: Any) -> list[ir.Operation]:
    """Gives a kernel that a rule made the rule's schedule. Returns the sequences that were added; none if a function takes no steps.

    LegatoError for what is no schedule, and for one that packs: that changes the graph, which is legalized already.
    """
    added = [] if (source := source_for(kernel, given)) is None else attach(module, kernel, source, {})
    if any(find(one, PACK) for one in added):
        raise LegatoError(f"the schedule of @{kernel.name.value} packs a parameter, which the callers would have to do by graph ops: a "
                          "rule's schedule cannot; a target's packing_function lays out constants, and Schedule.transform_layout buffers "
                          "of a kernel's own")
    return added


def source_for(kernel: func.FuncOp, given: Any) -> str | Path | None:
    """A rule's schedule as a transform script for one kernel; None if a function takes no steps."""
    if isinstance(given, Path) and not given.is_file():
        raise LegatoError(f"schedule=: there is no file {given}")
    if isinstance(given, (str, Path)):
        return given
    if isinstance(given, ModuleSchedule):
        return given.trace
    if not callable(given):
        raise LegatoError(f"schedule= is {FORMS}; not {given!r}")
    with kernel.context, ir.Location.unknown():
        alone = ir.Module.create()
        alone.body.append(kernel.operation.clone(ip=False))
        run_on(alone.operation, "func.func(canonicalize,cse)")  # as the pipeline does before the schedule runs
    schedule = ModuleSchedule(Module(alone), kernel.name.value)
    try:
        returned = given(schedule)
    except LegatoError:
        raise
    except Exception as error:
        raise blamed(error, f"the schedule {getattr(given, '__name__', type(given).__name__)}", given) from error
    if isinstance(returned, ModuleSchedule) and returned is not schedule:
        return returned.trace
    parsed = script.parse(schedule.trace, kernel.context)
    return schedule.trace if body(script.entry(parsed).regions[0].blocks[0]) else None


def described(given: Any) -> str:
    """A rule's schedule, for tables and messages."""
    if isinstance(given, ModuleSchedule):
        return f"the schedule of @{given.kernel_name}"
    if callable(given):
        return f"{getattr(given, '__name__', type(given).__name__)} ({source_of(given)})"
    return str(given) if isinstance(given, Path) else "a script"
