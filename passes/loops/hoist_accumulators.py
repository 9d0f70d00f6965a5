"""tir-hoist-accumulators: an element, or vector, of a buffer that each step of a loop reads and writes is carried by the loop in registers.

Upstream does this on tensors (``loop.hoist_loop_invariant_subsets``), unless vectors are masked, and for affine loops (``affine-scalrep``),
not for ``scf.for`` on buffers.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import ancestors, body, defining_op, everything, find, is_made_in, move_before, present, terminator
from legato.core.mlir import ir, scf, vector
from legato.core.views import root_of
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext, option

LOADS = {"memref.store": "memref.load", "vector.transfer_write": "vector.transfer_read"}   # by the stores of the same place
OTHERS = (*LOADS, "vector.store", "vector.load")
OPAQUE = ("func.call", "llvm.call", "gpu.launch", "memref.atomic_rmw", "memref.generic_atomic_rmw", "memref.copy")
LAYOUT = ("permutation_map", "in_bounds")   # of vectors


@dataclass(frozen=True)
class HoistAccumulators(ModulePass):
    """Carries what each step of a loop reads and writes at one place in registers: one load in front of the loop and one store after it. A
    condition of all steps, as that a thread has a column, goes around the loop.

    Two parameters of a kernel, and a parameter and a buffer of its own, are different memory.
    """

    name: ClassVar[str] = "tir-hoist-accumulators"
    vectors: bool = option(False, "vectors only: single elements are left where they are")

    def run(self, module: Module, context: PassContext) -> None:
        stores = [name for name in LOADS if not self.vectors or name.startswith("vector.")]
        with module.context, ir.Location.unknown():
            for kernel in tir.prim_funcs(module.module):
                for loop in find(kernel.operation, "scf.for", inner_first=True):
                    hoist(loop, stores)


def hoist(loop: ir.Operation, names: list[str]) -> None:
    """Hoists all accumulators of one loop that ops of these names store. The loop is replaced by another then."""
    if (guard := guard_of(loop)) and any(accumulator(loop, op) for op in body(guard.regions[0].blocks[0]) if op.name in names):
        exchange(loop, guard)
    stores = [op for op in body(loop.regions[0].blocks[0]) if op.name in names]
    for store in stores:
        loads = accumulator(loop, store)
        if loads:
            loop = carried(loop, store, loads)


def guard_of(loop: ir.Operation) -> ir.Operation | None:
    """The condition that holds in all steps of a loop or in none, without which they do nothing."""
    *before, last = body(loop.regions[0].blocks[0]) or [None]
    if last is None or last.name != "scf.if" or loop.results or last.results or len(last.regions[1].blocks):
        return None
    if is_made_in(last.operands[0], loop) or not all(op.name.startswith("arith.") for op in before):
        return None
    return last


def exchange(loop: ir.Operation, guard: ir.Operation) -> None:
    """Puts a loop into the condition that is in it."""
    with ir.InsertionPoint(loop), loop.location:
        around = scf.IfOp(guard.operands[0])
        with ir.InsertionPoint(around.then_block):
            end = scf.YieldOp([]).operation
    move_before(body(guard.regions[0].blocks[0]), guard)
    guard.erase()
    move_before([loop], end)


def place_of(op: ir.Operation) -> list[ir.Value]:
    """Where a load or a store accesses memory: the buffer, the indices, and the mask of a vector."""
    operands = list(op.operands)
    if op.name == "vector.transfer_read":
        del operands[1 + op.attributes["operandSegmentSizes"][1]]    # the padding
    return operands if op.name in LOADS.values() else operands[1:]


def accumulator(loop: ir.Operation, store: ir.Operation) -> list[ir.Operation]:
    """The loads of what a store in a loop writes, the first of them before it; none where it has to stay in memory."""
    place, buffer = place_of(store), store.operands[1]
    if any(is_made_in(value, loop) and not is_movable(value, loop) for value in place):
        return []
    uses = (use.owner.operation for use in buffer.uses)
    if any(op.name in OTHERS and op != store and loop in ancestors(op) and not reads_again(op, store) for op in uses):
        return []    # found without a walk, which large bodies want
    loads = []
    for op in everything(loop):
        if op.name in OPAQUE:
            return []
        touched = [v for v in op.operands if isinstance(v.type, ir.MemRefType) and root_of(v) == root_of(buffer)]
        if not touched or op == store or op.name == "memref.dim":
            continue
        if not reads_again(op, store) or op.block != store.block:
            return []
        loads.append(op)
    return loads if loads and loads[0].is_before_in_block(store) else []


def reads_again(op: ir.Operation, store: ir.Operation) -> bool:
    """Whether an op reads what a store writes, in the same form, and no other lanes of a vector."""
    return (op.name == LOADS[store.name] and place_of(op) == place_of(store) and op.results[0].type == store.operands[0].type
            and all(op.attributes[name] == store.attributes[name] for name in LAYOUT if name in store.attributes)
            and (op.name == "memref.load" or has_no_other_lanes(op.opview)))


def has_no_other_lanes(read: vector.TransferReadOp) -> bool:
    """Whether all lanes of a vector are read, or nobody asks what the others are."""
    padding = defining_op(read.padding)
    return all(read.in_bounds) and (read.mask is None or (padding is not None and padding.name == "ub.poison"))


def is_movable(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether a value in a loop is a mask that may be made in front of it."""
    op = defining_op(value)
    return op is not None and op.name == "vector.create_mask" and not any(is_made_in(size, loop) for size in op.operands)


def carried(loop: ir.Operation, store: ir.Operation, loads: list[ir.Operation]) -> ir.Operation:
    """The loop with one more value that it carries, in the place of an accumulator."""
    old = loop.regions[0].blocks[0]
    lower, upper, step, *carries = list(loop.operands)
    move_before([present(defining_op(value)) for value in place_of(store) if is_made_in(value, loop)], loop)
    with ir.InsertionPoint(loop), loop.location:
        first = loads[0].clone()
        new = scf.ForOp(lower, upper, step, [*carries, first.results[0]])
        with ir.InsertionPoint(new.body):
            end = scf.YieldOp([*terminator(old).operands, store.operands[0]]).operation
        store.clone().operands[0] = new.results[len(carries)]
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
