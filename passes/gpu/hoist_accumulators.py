"""tir-hoist-accumulators: an element of a buffer that each step of a loop reads and writes is carried by the loop in a register.

Upstream does this on tensors (``loop.hoist_loop_invariant_subsets``) and for affine loops (``affine-scalrep``), not for ``scf.for`` on
buffers.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import ancestors, body, everything, find, is_made_in, move_before, terminator
from legato.core.mlir import ir, memref, scf
from legato.core.views import root_of
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.walk import FIRST_INDEX
from legato.passes.pipeline.base import ModulePass, PassContext

OTHERS = ("memref.store", "vector.store", "vector.load")
OPAQUE = ("func.call", "llvm.call", "gpu.launch", "memref.atomic_rmw", "memref.generic_atomic_rmw", "memref.copy")


@dataclass(frozen=True)
class HoistAccumulators(ModulePass):
    """Carries elements that each step of a loop reads and writes in registers: one load in front of the loop and one store after it.

    Two parameters of a kernel, and a parameter and a buffer of its own, are different memory.
    """

    name: ClassVar[str] = "tir-hoist-accumulators"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in tir.prim_funcs(module.module):
                for loop in find(kernel.operation, "scf.for", inner_first=True):
                    hoist(loop)


def hoist(loop: ir.Operation) -> None:
    """Hoists all accumulators of one loop, which is replaced by another then."""
    stores = [op for op in body(loop.regions[0].blocks[0]) if op.name == "memref.store"]
    for store in stores:
        loads = accumulator(loop, store)
        if loads:
            loop = carried(loop, store, loads)


def accumulator(loop: ir.Operation, store: ir.Operation) -> list[ir.Operation]:
    """The loads of the element that a store in a loop writes, the first of them before it; none where it has to stay in memory."""
    buffer, places = store.operands[1], list(store.operands)[2:]
    if any(is_made_in(value, loop) for value in (buffer, *places)):
        return []
    uses = (use.owner.operation for use in buffer.uses)
    if any(op != store and op.name in OTHERS and loop in ancestors(op) for op in uses):   # found without a walk, which large bodies want
        return []
    loads = []
    for op in everything(loop):
        if op.name in OPAQUE:
            return []
        touched = [v for v in op.operands if isinstance(v.type, ir.MemRefType) and root_of(v) == root_of(buffer)]
        if not touched or op == store or op.name == "memref.dim":
            continue
        same = op.name == "memref.load" and op.operands[0] == buffer and list(op.operands)[FIRST_INDEX[op.name]:] == places
        if not same or op.block != store.block:
            return []
        loads.append(op)
    return loads if loads and loads[0].is_before_in_block(store) else []


def carried(loop: ir.Operation, store: ir.Operation, loads: list[ir.Operation]) -> ir.Operation:
    """The loop with one more value that it carries, in the place of an element."""
    old, buffer, places = loop.regions[0].blocks[0], store.operands[1], list(store.operands)[2:]
    lower, upper, step, *carries = list(loop.operands)
    with ir.InsertionPoint(loop), loop.location:
        first = memref.LoadOp(buffer, places).result
        new = scf.ForOp(lower, upper, step, [*carries, first])
        with ir.InsertionPoint(new.body):
            end = scf.YieldOp([*terminator(old).operands, store.operands[0]]).operation
        memref.StoreOp(new.results[len(carries)], buffer, places)
    for argument, value in zip(old.arguments, new.body.arguments):
        argument.replace_all_uses_with(value)
    for load in loads:
        load.results[0].replace_all_uses_with(new.body.arguments[len(carries) + 1] if load.is_before_in_block(store) else store.operands[0])
        load.erase()
    store.erase()
    move_before(body(old), end)
    for result, value in zip(loop.results, new.results):
        result.replace_all_uses_with(value)
    loop.erase()
    return new.operation
