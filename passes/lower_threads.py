"""tir-lower-threads: loops bound to threads become launches on a GPU.

Every outermost loop that is bound to a thread axis becomes a ``gpu.launch``; loops bound to one axis, also in different nests inside of it,
are one index, and the shorter ones leave the other threads out. What stands outside of some axis's loops happens once, on the first thread.
Shared buffers lie in the memory of the block, local ones on the thread; reductions across threads become all-reduces; barriers stand where
threads would meet in shared memory.
"""
from dataclasses import dataclass
from typing import Any, ClassVar

from ..dialects import tir
from ..dialects.module import Module
from ..dialects.tir.loops import PARALLEL, SERIAL, THREAD
from ..dialects.tir.races import race
from ..dialects.tir.walk import blocks, body, find, localize_constants
from ..mlir import func, ir
from .base import ModulePass, PassContext, PassFailed, TargetText, option
from .lower_loops import inline_block, lower_loops_under
from .threads.barriers import insert_barriers
from .threads.buffers import place_buffers, place_global
from .threads.guards import guard
from .threads.launch import Launch, make_launch, take_indices, thread_loops
from .threads.memory import has_effect
from .threads.reductions import lower_reductions
from .threads.vectors import align_vectors, simplify_steps
from .upstream import run_on


@dataclass(frozen=True)
class LowerThreads(ModulePass):
    """Makes launches of loops that are bound to threads, with their buffers, reductions across threads and barriers."""

    name: ClassVar[str] = "tir-lower-threads"
    target: TargetText = option("nvvm", "whose limits")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        if not hasattr(target.machine, "shared_bytes"):
            raise PassFailed(f"the target '{target.name}' has no threads to map to: it is no GPU")
        report = context.report.setdefault("lower-threads", {})
        with module.context, ir.Location.unknown():
            for kernel in tir.prim_funcs(module.module):
                if thread_loops(kernel.operation):
                    report[kernel.name.value] = lower_kernel(kernel, target.machine, context.warnings)


def lower_kernel(kernel: func.FuncOp, machine: Any, warnings: list[str]) -> dict[str, int]:
    """Makes launches of the loops of one kernel that are bound to threads. Returns how many launches and barriers it has."""
    operation = kernel.operation
    for loop in find(operation, "tir.for"):
        if (problem := race(loop.opview)) is not None:
            raise PassFailed(problem, loop)
    for block in find(operation, "tir.block", inner_first=True):
        if thread_loops(block):
            inline_block(block.opview)
    localize_constants(operation)
    launches = [launch(root) for root in roots(kernel.body.blocks[0])]
    place_global(operation)
    for one in launches:
        simplify_steps(one.operation)
    run_on(operation, "cse")
    place_buffers(operation, launches, machine.shared_bytes)
    barriers = 0
    for one in launches:
        barriers += insert_barriers(one)
        for loop in find(one.operation, "tir.for"):
            if loop.opview.kind == PARALLEL:  # a thread goes through its steps alone
                loop.attributes["kind"] = ir.StringAttr.get(SERIAL)
        lower_loops_under(one.operation, kernel.name.value, warnings)
        align_vectors(one.operation)
    return {"launches": len(launches), "barriers": barriers}


def launch(root: ir.Operation) -> Launch:
    """One nest as a launch: loops of the kinds that a thread has, and buffers, are left in it."""
    made = make_launch(root)
    guard(made)
    take_indices(made, made.operation)
    lower_reductions(made)
    for block in reversed(blocks(made.operation)):
        inline_block(block)
    return made


def roots(block: ir.Block) -> list[ir.Operation]:
    """The outermost loops bound to threads in a block. Loops around them run on the host, and launch again and again.

    PassFailed for what the host cannot do."""
    found: list[ir.Operation] = []
    for op in body(block):
        if op.name == "tir.for" and op.opview.kind == THREAD:
            found.append(op)
        elif thread_loops(op):
            if op.name not in ("tir.for", "scf.if"):
                raise PassFailed(f"a loop bound to threads stands in {op.name}, which the host cannot run", op)
            for region in op.regions:
                for inner in region.blocks:
                    found += roots(inner)
                    alone(inner)
    return found


def alone(block: ir.Block) -> None:
    """PassFailed for a statement beside launches in a loop of the host."""
    for op in body(block):
        if not thread_loops(op) and (op.name == "memref.load" or any(has_effect(o) for o in find(op, "memref.store", "func.call"))):
            raise PassFailed(f"{op.name} stands in a loop around loops bound to threads, which runs on the host, and the memory is the "
                             "device's: put it under loops bound to threads too", op)


