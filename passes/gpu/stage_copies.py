"""tir-stage-copies: a loop's copies to shared memory are made asynchronously, some steps ahead of what reads them (cp.async).

Upstream's ``transform.nvgpu.pipeline_shared_memory_copies`` wants loops without barriers and copies without conditions.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from legato.core.ir_helpers import body, constant_number, copy, everything, find, index, terminator
from legato.core.mlir import arith, ir, scf
from legato.dialects.module import Module
from legato.dialects.tir.markers import STAGES
from legato.passes.gpu.threads.memory import LOAD_MATRIX
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

BARRIER = "gpu.barrier"
LOADS = (LOAD_MATRIX, "memref.load", "vector.load")
STORES = ("memref.store", "vector.store")
LOOPS = ("scf.for", "scf.while")
BYTES = (4, 8, 16)     # of one asynchronous copy


@dataclass(frozen=True)
class CopyToShared:
    """A store to shared memory. ``tests``: what has to hold for it to be of ``load``, a vector in global memory; it is 0 otherwise.
    ``guard``: the op in which it stands, by whose condition only some threads store; None for a store of all."""

    store: ir.Operation
    load: ir.Operation
    tests: list[ir.Value]
    guard: ir.Operation | None

    def erase(self) -> None:
        """Removes the store."""
        (self.guard or self.store).erase()


@dataclass(frozen=True)
class StageCopies(ModulePass):
    """Makes asynchronous the copies of loops that are annotated with ``pipeline_stages``, where the target has such copies: that many
    steps of the loop have buffers of their own, and each step copies for the one that is as many ahead, less one. A barrier in each step
    suffices then. There are fewer stages where shared memory does not suffice; with one, a step waits for its own copies, which pass by
    the registers.

    A loop stays as it is if anything but vectors of 4, 8 or 16 bytes is copied in it, aligned in both memories, or 0 in their place. What
    a thread writes for itself, and reads behind the copies, may stand among them.
    """

    name: ClassVar[str] = "tir-stage-copies"
    target: TargetText = option("nvvm", "the target whose copies and memory are used")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.gpu(self.target)
        with module.context, ir.Location.unknown():
            for kernel in find(module.operation, "gpu.func"):
                for loop in find(kernel, "scf.for"):
                    if STAGES in loop.attributes and machine.async_copies:
                        stage(kernel, loop, machine.shared_bytes)


def stage(kernel: ir.Operation, loop: ir.Operation, shared_bytes: int) -> None:
    """Rewrites one loop, or leaves it."""
    block = loop.regions[0].blocks[0]
    inside = body(block)
    barriers = [n for n, op in enumerate(inside) if op.name == BARRIER]
    if len(barriers) != 2 or len(loop.results) or any(op.name == BARRIER for one in inside for op in everything(one) if op != one):
        return
    first, second = barriers
    guards = {one: op for op in inside[first:second] if (one := guarded_store(op)) is not None}
    stores = [op for op in (*inside[first:second], *guards) if op.name in STORES and not is_unread(op, inside[:second])]
    copies = [found for op in stores if (found := copy_of(op, guards.get(op))) is not None]
    buffers = list(dict.fromkeys(one.store.operands[1] for one in copies))
    users = [use.owner.operation for buffer in buffers for use in buffer.uses]
    written = [op for one in inside[:second] for op in everything(one) if writes(op) and op not in stores]
    effects = [op for op in written if not is_unread(op, inside[:second])]
    if not copies or len(copies) < len(stores) or effects or not all(
            user in stores or (user.name in LOADS and user in inside[second:]) for user in users):
        return
    taken = shared_size(kernel)
    each = sum(size(buffer.type) for buffer in buffers)
    stages = min(loop.attributes[STAGES].value, (shared_bytes - taken) // each + 1)
    staging = _Staging(loop, copies, buffers, stages)
    if stages > 1:
        staging.build(inside[first], inside[second], users)
    else:
        staging.in_place(inside[second])


def guarded_store(op: ir.Operation) -> ir.Operation | None:
    """The only store in an op, by whose condition it is made; None for another op."""
    if op.name != "scf.if" or len(op.results) or any(len(body(block)) for block in list(op.regions[1].blocks)):
        return None
    inside = [one for one in everything(op) if one != op]
    stores = [one for one in inside if writes(one)]
    others = [one for one in inside if one not in stores and not (one.name in ("vector.load", "scf.if", "scf.yield") or is_arithmetic(one))]
    return stores[0] if len(stores) == 1 and stores[0].name == "vector.store" and stores[0].parent.operation == op and not others else None


def copy_of(store: ir.Operation, guard: ir.Operation | None) -> CopyToShared | None:
    """A store as a copy from global memory; None where it is none that can be made asynchronously. ``guard``: as of the copy."""
    type_, to = store.operands[0].type, store.operands[1]
    wide = isinstance(type_, ir.VectorType) and type_.rank == 1 and prod(type_.shape) * type_.element_type.width // 8
    found = loaded(store.operands[0]) if wide in BYTES and isinstance(to.owner, ir.Block) and is_shared(to) else None
    if found is None or any(alignment(op) < int(wide) for op in (store, found[0])) or is_shared(found[0].operands[0]):
        return None
    return CopyToShared(store, *found, guard)


def loaded(value: ir.Value) -> tuple[ir.Operation, list[ir.Value]] | None:
    """The load that a vector is, and the tests under which it is; else it is 0. None for another value."""
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if op is not None and op.name == "vector.load":
        return op, []
    if op is None or op.name != "scf.if" or len(op.results) != 1:
        return None
    then, other = (terminator(region.blocks[0]).operands[0] for region in op.regions)
    if constant_number(other) != 0 or any(
            not (one.name in ("vector.load", "scf.if", "scf.yield") or is_arithmetic(one)) for one in everything(op) if one != op):
        return None
    found = loaded(then)
    return None if found is None else (found[0], [op.operands[0], *found[1]])


def is_arithmetic(op: ir.Operation) -> bool:
    """Whether an op may be computed where its result is not wanted."""
    return op.name.startswith("arith.") and (not op.name.startswith(("arith.div", "arith.rem", "arith.floordiv", "arith.ceildiv")) or (
        not isinstance(op.operands[1].owner, ir.Block) and op.operands[1].owner.operation.name == "arith.constant"))


def alignment(op: ir.Operation) -> int:
    """The bytes that an access of a vector is aligned to."""
    return op.attributes["alignment"].value if "alignment" in op.attributes else 1


def is_unread(op: ir.Operation, before: Sequence[ir.Operation]) -> bool:
    """Whether an op writes to a buffer of a thread's own that none of some ops read."""
    made = op.operands[1].owner if op.name in STORES else None
    return made is not None and not isinstance(made, ir.Block) and made.operation.name == "memref.alloca" and not any(
        use.owner.operation.name not in STORES and any(one in before for one in (use.owner.operation, *enclosing(use.owner.operation)))
        for use in op.operands[1].uses)


def writes(op: ir.Operation) -> bool:
    """Whether an op may have an effect."""
    return op.name in (*STORES, "func.call", "memref.copy", "memref.atomic_rmw", "memref.generic_atomic_rmw")


def is_shared(buffer: ir.Value) -> bool:
    """Whether a buffer is in a block's shared memory."""
    return "workgroup" in str(buffer.type.memory_space)


def size(type_: ir.MemRefType) -> int:
    """The bytes of a buffer."""
    return prod(type_.shape) * type_.element_type.width // 8


def shared_size(kernel: ir.Operation) -> int:
    """The bytes of a kernel's shared buffers."""
    return sum(size(a.type) for a in kernel.regions[0].blocks[0].arguments if isinstance(a.type, ir.MemRefType) and is_shared(a))


class _Staging:
    """Rewrites the copies of one loop. ``stages``: the steps that have buffers."""

    def __init__(self, loop: ir.Operation, copies: Sequence[CopyToShared], buffers: Sequence[ir.Value], stages: int):
        self.loop, self.copies, self.buffers, self.stages = loop, copies, buffers, stages
        self.block = loop.regions[0].blocks[0]
        self.step = self.block.arguments[0]

    def build(self, first: ir.Operation, second: ir.Operation, users: Sequence[ir.Operation]) -> None:
        """Puts the first copies in front of the loop, and in it a barrier, the later copies, and what reads the shared buffers.

        ``first``, ``second``: the barriers in front of the copies, and behind them.
        """
        for buffer in self.buffers:
            type_ = buffer.type
            buffer.set_type(ir.MemRefType.get([self.stages, *type_.shape], type_.element_type, memory_space=type_.memory_space))
        with ir.InsertionPoint(self.loop), self.loop.location:
            lower, upper, _ = list(self.loop.operands)[:3]
            if any(op.name in LOOPS for op in enclosing(self.loop)):    # its last turn may be read still, and copies beyond its end be made
                wait_for_copies(0)
                ir.Operation.create(BARRIER, [], [], {"scope": ir.Attribute.parse("#gpu.barrier_scope<workgroup>")})
            for ahead in range(self.stages - 1):
                self.copy_for(arith.AddIOp(lower, index(ahead)).result, upper)
        with ir.InsertionPoint(first), self.loop.location:
            here = self.slot(self.step)
            wait_for_copies(self.stages - 2)
        with ir.InsertionPoint(second), self.loop.location:
            self.copy_for(arith.AddIOp(self.step, index(self.stages - 1)).result, upper)
        second.erase()
        stores = [one.store for one in self.copies]
        for user in (one for one in users if one not in stores):
            with ir.InsertionPoint(user), user.location:
                buffer, *place = user.operands
                new = ir.Operation.create(user.name, [user.results[0].type], [buffer, here, *place],
                                          {name: user.attributes[name] for name in user.attributes})
            user.results[0].replace_all_uses_with(new.results[0])
            user.erase()
        for one in self.copies:
            one.erase()
        del self.loop.attributes[STAGES]

    def in_place(self, second: ir.Operation) -> None:
        """Makes the copies of a step asynchronous, and waits for them in front of the barrier behind them."""
        with ir.InsertionPoint(second), self.loop.location:
            self.begin_copies([], {}, [])
            wait_for_copies(0)
        for one in self.copies:
            one.erase()
        del self.loop.attributes[STAGES]

    def slot(self, step: ir.Value) -> ir.Value:
        """The buffers of a step."""
        return arith.RemUIOp(step, index(self.stages)).result

    def copy_for(self, step: ir.Value, end: ir.Value) -> None:
        """Begins the copies for a step, at the insertion point; beyond the loop's end they have no elements."""
        place, begun = self.slot(step), arith.CmpIOp(arith.CmpIPredicate.slt, step, end).result
        self.begin_copies([begun], {self.step: step}, [place])

    def begin_copies(self, begun: Sequence[ir.Value], mapping: dict[ir.Value, ir.Value], slot: Sequence[ir.Value]) -> None:
        """Begins the copies at the insertion point, with other values for some (``mapping``), into the buffers of a ``slot``. ``begun``:
        further tests."""
        for one in self.copies:
            guards = [] if one.guard is None else [one.guard.operands[0]]
            values = [*guards, *one.tests, *list(one.load.operands)[1:], *list(one.store.operands)[2:]]
            mapping = copy([op for op in self.needed(values) if op.results[0] not in mapping], mapping)
            guards, tests, source, target = ([mapping.get(v, v) for v in some] for some in (
                guards, one.tests, list(one.load.operands)[1:], list(one.store.operands)[2:]))
            lanes, exists = prod(one.load.results[0].type.shape), None
            for test in (*begun, *tests):
                exists = test if exists is None else arith.AndIOp(exists, test).result
            count = index(lanes) if exists is None else arith.SelectOp(exists, index(lanes), index(0)).result
            place = ir.InsertionPoint.current
            if guards:
                inside = scf.IfOp(guards[0])
                with ir.InsertionPoint(inside.then_block):
                    place = ir.InsertionPoint(scf.YieldOp([]))
            with place:
                begin_copy(one.load.operands[0], source, one.store.operands[1], [*slot, *target], lanes, count)
        ir.Operation.create("nvvm.cp.async.commit.group")

    def needed(self, values: Sequence[ir.Value]) -> list[ir.Operation]:
        """The ops of the loop that values are computed by, in order."""
        found: list[ir.Operation] = []

        def visit(value: ir.Value) -> None:
            op = None if isinstance(value.owner, ir.Block) else value.owner.operation
            if op is not None and op not in found and self.loop in enclosing(op):
                for operand in op.operands:
                    visit(operand)
                found.append(op)

        for value in values:
            visit(value)
        return found


def enclosing(op: ir.Operation) -> list[ir.Operation]:
    """The ops around an op, up to its kernel."""
    found = []
    while op.name != "gpu.func" and op.parent is not None:
        op = op.parent.operation
        found.append(op)
    return found


def wait_for_copies(left: int) -> None:
    """A thread waits for all but the last groups of its copies, at the insertion point."""
    ir.Operation.create("nvvm.cp.async.wait.group", [], [], {"n": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), left)})


def begin_copy(source: ir.Value, at: Sequence[ir.Value], target: ir.Value, to: Sequence[ir.Value], lanes: int, count: ir.Value) -> None:
    """One asynchronous copy of ``lanes`` elements, of which ``count`` are read and the others 0, at the insertion point."""
    attributes: dict[str, ir.Attribute] = {
        "dstElements": ir.IntegerAttr.get(ir.IndexType.get(), lanes),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, len(to), 1, len(at), 1])}
    if lanes * source.type.element_type.width == 128:
        attributes["bypassL1"] = ir.UnitAttr.get()     # only copies of 16 bytes can
    token = ir.Type.parse("!nvgpu.device.async.token")
    ir.Operation.create("nvgpu.device_async_copy", [token], [target, *to, source, *at, count], attributes)
