"""tir-results-in-place: results of kernels lie in the memory of operands that nobody reads afterwards.

Only where a kernel's code allows it, which the pass that built it says of an argument (``tir.holds_result``): each of its elements is read
for the result's element of the same place, and before that is written; others are not read. Then a residual network adds what a
block computes to a buffer that is in the caches, and does not fetch the lines of another to write them.
"""
from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import terminator
from legato.core.mlir import func, ir
from legato.core.views import WHOLE_VIEWS, root_of
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.markers import HOLDS_RESULT, OUT, PIECE
from legato.passes.memory.plan_memory.lifetimes import MainBuffer, find_buffers
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class ResultsInPlace(ModulePass):
    """Gives calls of kernels an operand's buffer for their result, where the kernel allows it and that is the last use of the operand."""

    name: ClassVar[str] = "tir-results-in-place"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        kernels = {kernel.name.value: kernel for kernel in tir.prim_funcs(module.module)}
        holders = {name: found for name, kernel in kernels.items() if (found := Holders.of(kernel)) is not None}
        pieces = {name for name, kernel in kernels.items() if PIECE in kernel.attributes}
        main = next((one for one in module.module.body.operations if isinstance(one, func.FuncOp) and one.name.value == "main"), None)
        if holders and main is not None and not main.is_external:
            with module.context:
                share_buffers(main, holders, pieces)


@dataclass(frozen=True)
class Holders:
    """The numbers of the arguments of a kernel whose memory its only result may take, and of that result."""

    arguments: list[int]
    result: int

    @classmethod
    def of(cls, kernel: func.FuncOp) -> Holders | None:
        """Those of a kernel; None where there are none."""
        marks = [ir.DictAttr(one) for one in kernel.arg_attrs] if "arg_attrs" in kernel.attributes else []
        outputs, held = ([number for number, one in enumerate(marks) if mark in one] for mark in (OUT, HOLDS_RESULT))
        return cls(held, outputs[0]) if held and len(outputs) == 1 else None


def share_buffers(main: func.FuncOp, holders: Mapping[str, Holders], pieces: Set[str]) -> None:
    """Lets results lie in operands. ``holders``: by the names of kernels; ``pieces``: the names of kernels whose calls may end, since
    their result is a part of their argument: what such an argument holds stays there."""
    block = main.body.blocks[0]
    calls = {number: op.operation for number, op in enumerate(block.operations) if op.operation.name == "func.call"}
    names = {number: ir.FlatSymbolRefAttr(call.attributes["callee"]).value for number, call in calls.items()}
    if holders.keys().isdisjoint(names.values()):
        return
    buffers = {one.alloc.results[0]: one for one in find_buffers(main) if one.alloc.block == block and not one.is_carried}
    kept = [value for number, call in calls.items() if names[number] in pieces for value in call.operands]
    for value in [*kept, *terminator(block).operands]:
        buffers.pop(root_of(value), None)
    for number, call in calls.items():
        found = holders.get(names[number])
        free = None if found is None else buffers.get(root_of(call.operands[found.result], WHOLE_VIEWS))
        if found is None or free is None or free.first != number:
            continue
        held = (buffers.get(root_of(call.operands[place], WHOLE_VIEWS)) for place in found.arguments)
        ending = (one for one in held if one is not None and one.last == number and are_alike(one, free) and uses_once(call, one))
        if (first := next(ending, None)) is not None:
            del buffers[free.alloc.results[0]]
            unite(first, free)


def are_alike(held: MainBuffer, free: MainBuffer) -> bool:
    """Whether two buffers have the same type, and the same sizes where that does not tell them."""
    one, other = held.alloc, free.alloc
    return one.results[0].type == other.results[0].type and list(one.operands) == list(other.operands)


def uses_once(call: ir.Operation, buffer: MainBuffer) -> bool:
    """Whether one operand of a call lies in a buffer."""
    return [root_of(operand) for operand in call.operands].count(buffer.alloc.results[0]) == 1


def unite(held: MainBuffer, free: MainBuffer) -> None:
    """Puts what lies in ``free`` into ``held``."""
    for op in held.deallocations:
        op.erase()
    held.deallocations, held.last = free.deallocations, free.last
    free.alloc.results[0].replace_all_uses_with(held.alloc.results[0])
    free.alloc.erase()
