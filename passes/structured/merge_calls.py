"""tir-merge-calls: what several calls of a kernel compute from the same operands is computed once.

Such calls remain where the kernels of several ops have been split, and begin with the same: products that read one factor, rounded or
widened, each for itself.
"""
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import defining_op, find
from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax import origins
from legato.dialects.tir.state import WRITTEN, state_of
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class MergeCalls(ModulePass):
    """Replaces calls of kernels with equal operands, in one block, by the first of them. Outputs have to be new tensors."""

    name: ClassVar[str] = "tir-merge-calls"
    rounding: ClassVar[Rounding] = EXACT
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        kernels = {kernel.name.value for kernel in tir.prim_funcs(module.module)
                   if state_of(kernel) in (None, WRITTEN) and not kernel.is_external and not find(kernel.operation, "func.call")}
        seen: dict[tuple, ir.Operation] = {}
        for call in find(module.module.operation, "func.call"):
            callee = call.attributes["callee"].value
            operands = tuple(_operands(call)) if callee in kernels else (None,)
            if any(operand is None for operand in operands):
                continue
            first = seen.setdefault((call.block, callee, operands), call)
            if first != call:
                for old, new in zip(call.results, first.results):
                    old.replace_all_uses_with(new)
                origins.inherit(first, first, call)
                call.erase()


def _operands(call: ir.Operation) -> Iterator[object]:
    """What a call reads; in place of each output its type and sizes, or None where it may hold something."""
    inputs = len(call.operands) - len(call.results)
    for number, value in enumerate(call.operands):
        memory = None if number < inputs else defining_op(value)
        if number < inputs:
            yield value
        else:
            yield (value.type, *memory.operands) if memory is not None and memory.name == "tensor.empty" else None
