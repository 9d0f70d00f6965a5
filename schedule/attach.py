"""Schedules attached to kernels (``tir.schedule = @sequence``), which a compile runs instead of the target's own."""
from pathlib import Path
from typing import Any

from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.markers import SCHEDULE
from legato.schedule import script


def attach_schedule(module: Any, kernel: str, source: str | Path, **parameters: Any) -> Module:
    """A copy of a module whose kernel has a schedule: a transform script in the form of ``Schedule.trace``, from text or a file.

    ``parameters``: values for the script's knobs, by name. LegatoError if there is no such kernel, or the script is invalid.
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
