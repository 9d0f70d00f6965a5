"""tir-drop-results: functions that write their outputs return nothing; readers of a call's result read its output.

Upstream's drop-equivalent-buffer-results skips declarations, of which some stand for kernels of backends, and builds calls anew
without the attributes that say which ops of the graph they compute: all 102 of dynamic MiniLM. It leaves 6 more results there, those that
reach the output through reshapes, and takes as long (5 and 8 ms; on ResNet-50 12 and 7 ms).
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import find, terminator
from legato.core.locations import origin
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax import origins
from legato.dialects.relax.markers import RETURNS
from legato.dialects.tir.markers import STAND_IN
from legato.passes.memory.bufferize.functions import calls_in, on_tensors
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class DropResults(ModulePass):
    """Removes the results of kernels and of declarations in destination-passing style, and of their calls."""

    name: ClassVar[str] = "tir-drop-results"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for function in on_tensors(module.module):
                if STAND_IN in function.attributes:
                    drop_body(function)
            in_place = {f.name.value for f in on_tensors(module.module) if (tir.is_prim_func(f) or f.is_external) and drop_results(f)}
            drop_call_results([c for c in calls_in(module.module) if c.attributes["callee"].value in in_place])
            drop_copies(module.module)


def drop_body(function: func.FuncOp) -> None:
    """Makes a function with a stand-in for a body a declaration again."""
    trash = ir.Operation.create("scf.execute_region", regions=1)
    function.body.blocks[0].append_to(trash.regions[0])
    trash.erase()
    del function.attributes[STAND_IN]


def drop_results(function: func.FuncOp) -> bool:
    """Removes the results of a destination-passing function, which lie in its outputs. False for a function without results,
    and for a declaration without outputs."""
    results = len(function.type.results)
    if not results or RETURNS in function.attributes:
        return False
    inputs = list(function.type.inputs)
    if len(inputs) < results:   # a declaration that has no outputs to return
        return False
    if not function.is_external:
        last = terminator(function.body.blocks[0])
        for value, out in tir.results_with_outputs(function):
            if not tir.is_tied(value, out):
                raise PassFailed(f"kernel '{function.name.value}': the result that belongs into output {out.arg_number} was not computed "
                                 f"there, but is {origin(value)}", function.operation)
        with ir.InsertionPoint(last), last.location:
            func.ReturnOp([])
        last.erase()
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))
    if "res_attrs" in function.attributes:
        del function.attributes["res_attrs"]
    return True


def drop_copies(module: ir.Module) -> None:
    """Erases copies of buffers to themselves, which copies of results to their outputs have become."""
    for copy in find(module.operation, "memref.copy"):
        if copy.operands[0] == copy.operands[1]:
            copy.erase()


def drop_call_results(calls: list[ir.Operation]) -> None:
    """Rebuilds calls of functions whose results were removed: uses of a result become uses of the output operand."""
    for call in calls:
        operands, count = list(call.operands), len(call.results)
        for result, out in zip(list(call.results), operands[len(operands) - count:], strict=True):
            result.replace_all_uses_with(out)
        with ir.InsertionPoint(call), call.location:
            new = func.CallOp([], call.attributes["callee"], operands)
        origins.inherit(new.operation, call)
        call.erase()
