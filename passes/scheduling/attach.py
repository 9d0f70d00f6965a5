"""Schedules attached to kernels: ``tir.schedule = @sequence``; a compile runs them instead of the target's own."""
from ...dialects import tir
from ...dialects.errors import LegatoError
from ...dialects.module import Module
from ...dialects.tir.text import FIXED
from ...dialects.tir.walk import blocks, localize_constants
from ...mlir import func, ir
from . import script
from .state import ScheduleError

ATTRIBUTE = "tir.schedule"
NAMED_SEQUENCE = "transform.with_named_sequence"


def attach_schedule(module: Module, kernel: str, text: str) -> Module:
    """A copy of a module whose kernel carries a schedule, a transform script as ``Schedule.trace`` has it. LegatoError if there is none."""
    result = module.clone() if isinstance(module, Module) else module.module()
    found = next((k for k in tir.prim_funcs(result.module) if k.name.value == kernel), None)
    if found is None:
        names = ", ".join(k.name.value for k in tir.prim_funcs(result.module)) or "none"
        raise LegatoError(f"there is no kernel '{kernel}'; there are {names}")
    _keep, sequence = script.parse(text, result.context)
    with result.context, ir.Location.unknown():
        copy = sequence.clone(ip=False)
        result.module.body.append(copy)
        copy.attributes["sym_name"] = ir.StringAttr.get(f"schedule_of_{kernel}")
        name = ir.SymbolTable(result.module.operation).insert(copy)
        result.module.operation.attributes[NAMED_SEQUENCE] = ir.UnitAttr.get()
        found.attributes[ATTRIBUTE] = ir.FlatSymbolRefAttr.get(name.value)
        found.attributes[FIXED] = ir.UnitAttr.get()
    return result


def run_attached(module: ir.Module) -> dict[str, str]:
    """Runs the schedules that kernels carry, and takes them out of the module. What was done, by kernel."""
    done: dict[str, str] = {}
    sequences = {op.operation.attributes["sym_name"].value: op.operation for op in module.body.operations
                 if op.operation.name == "transform.named_sequence"}
    for kernel in tir.prim_funcs(module):
        if ATTRIBUTE not in kernel.attributes:
            continue
        name = kernel.attributes[ATTRIBUTE].value
        if name not in sequences:
            raise ScheduleError(f"@{kernel.name.value} is scheduled by @{name}, which the module does not have")
        done[kernel.name.value] = str(sequences[name])
        if not blocks(kernel.operation):
            loops_of(kernel)
        localize_constants(kernel.operation)
        script.replay(sequences[name], kernel)
        del kernel.attributes[ATTRIBUTE]
        kernel.attributes[FIXED] = ir.UnitAttr.get()
    for sequence in sequences.values():
        sequence.erase()
    if sequences and NAMED_SEQUENCE in module.operation.attributes:
        del module.operation.attributes[NAMED_SEQUENCE]
    return done


def loops_of(kernel: func.FuncOp) -> None:
    """A structured kernel as loops."""
    from .unraise import to_loops

    to_loops(kernel)
