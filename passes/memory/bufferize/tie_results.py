"""tir-tie-results: each value that a kernel returns and does not compute in its output, such as a view of an input, is written there."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import terminator
from legato.core.mlir import bufferization, func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.ties import carried, place_of
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class TieResults(ModulePass):
    """Results of kernels that do not lie in their outputs yet are tied to them by bufferization.materialize_in_destination."""

    name: ClassVar[str] = "tir-tie-results"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for kernel in tir.prim_funcs(module.module):
                tie_results(kernel)


def tie_results(kernel: func.FuncOp) -> None:
    """Ties the results of one kernel. ``eliminate-empty-tensors`` follows a tie back through the producers; a value that cannot be computed
    in place is copied. Raises PassFailed for a result of another type than its output."""
    last = terminator(kernel.body.blocks[0])
    for i, (value, out) in enumerate(tir.results_with_outputs(kernel)):
        if value.type != out.type:
            raise PassFailed(f"kernel '{kernel.name.value}' returns {value.type} for its output of {out.type}", kernel.operation)
        tie_steps(value, out)
        if tir.is_tied(value, out):
            continue
        with ir.InsertionPoint(last), last.location:
            last.operands[i] = bufferization.MaterializeInDestinationOp(out.type, value, out).result


def tie_steps(value: ir.Value, start: ir.Value) -> None:
    """Makes the loops by which a value comes from ``start`` write into their own tensor what a step gives, where that is another one."""
    for result in loops_between(value, start):
        given, own = carried(result)
        tie_steps(given, own)
        if place_of(result) is None:
            last = terminator(own.owner)
            with ir.InsertionPoint(last), last.location:
                tied = bufferization.MaterializeInDestinationOp(own.type, given, own).result
            last.operands[ir.OpResult(result).result_number] = tied


def loops_between(value: ir.Value, start: ir.Value) -> list[ir.Value]:
    """The results of loops through which a value comes from ``start``; none where it does not."""
    found = []
    while value != start and not isinstance(value.owner, ir.Block):
        if value.owner.name == "scf.for":
            found.append(value)
            value = value.owner.operands[3 + ir.OpResult(value).result_number]
        elif (place := place_of(value)) is not None:
            value = value.owner.operands[place]
        else:
            break
    return found if value == start else []
