"""tir-stage-copies: a loop's copies to shared memory are made asynchronously, some steps ahead of what reads them (cp.async).

Upstream's ``transform.nvgpu.pipeline_shared_memory_copies`` wants loops without barriers and copies without conditions.
"""
from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from legato.core.ir_helpers import body, copy, everything, find, index
from legato.core.mlir import arith, ir, memref, scf
from legato.dialects.module import Module
from legato.dialects.tir.markers import STAGES
from legato.dialects.tir.tiles import WARPGROUP_PRODUCT
from legato.passes.gpu.shared_copies import STORES, CopyToShared, copy_of, guarded_store, is_shared, writes
from legato.passes.gpu.threads.memory import LOAD_MATRIX
from legato.passes.loops.buffers import size_of
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

BARRIER = "gpu.barrier"
LOADS = (LOAD_MATRIX, "memref.load", "vector.load", WARPGROUP_PRODUCT)
LOOPS = ("scf.for", "scf.while")


@dataclass(frozen=True)
class StageCopies(ModulePass):
    """Makes asynchronous the copies of loops that are annotated with ``pipeline_stages``, where the target has such copies: that many
    steps of the loop have buffers of their own, and each step copies for the one that is as many ahead, less one. A barrier in each step
    suffices then. There are fewer stages where shared memory does not suffice; with one, a step waits for its own copies, which pass by
    the registers.

    A loop stays as it is if anything but vectors of 4, 8 or 16 bytes is copied in it, aligned in both memories, or 0 in their place. What
    a thread writes for itself, and copies do not depend on, may stand among them. Such copies in front of the loop, to other buffers that
    are read behind those in it, are asynchronous, too.
    """

    name: ClassVar[str] = "tir-stage-copies"
    target: TargetText = option("nvvm", "the target whose copies and memory are used")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.gpu(self.target)
        with module.context, ir.Location.unknown():
            for kernel in find(module.operation, "gpu.func"):
                for loop in find(kernel, "scf.for"):
                    if STAGES in loop.attributes and machine.async_copies:
                        stage(kernel, loop, max(machine.shared_bytes, machine.dynamic_shared_bytes))


def stage(kernel: ir.Operation, loop: ir.Operation, shared_bytes: int) -> None:
    """Rewrites one loop, or leaves it."""
    block = loop.regions[0].blocks[0]
    inside = body(block)
    barriers = [n for n, op in enumerate(inside) if op.name == BARRIER]
    if len(barriers) != 2 or len(loop.results) or any(op.name == BARRIER for one in inside for op in everything(one) if op != one):
        return
    first, second = barriers
    guards = {one: op for op in inside[first:second] if (one := guarded_store(op)) is not None}
    found = [op for op in (*inside[first:second], *guards) if op.name in STORES]
    copies = [one for op in found if (one := copy_of(op, guards.get(op))) is not None]
    read = {op.operands[0] for one in copies for op in _Staging.needed(values_of(one), loop) if op.name in ("memref.load", "vector.load")}
    stores = [op for op in found if not is_own(op, read)]
    buffers = list(dict.fromkeys(one.store.operands[1] for one in copies))
    users = [use.owner.operation for buffer in buffers for use in buffer.uses]
    written = [op for one in inside[:second] for op in everything(one) if writes(op) and op not in stores]
    effects = [op for op in written if not is_own(op, read)]
    if not copies or len(copies) < len(stores) or effects or not all(
            user in stores or (user.name in LOADS and stands_in(user, inside[second:])) for user in users):
        return
    taken = shared_size(kernel)
    each = sum(size_of(buffer.type) for buffer in buffers)
    stages = min(loop.attributes[STAGES].value, (shared_bytes - taken) // each + 1)
    staging = _Staging(loop, copies, buffers, stages)
    staging.begin_early(early_copies(loop, buffers, inside[second:]))
    if stages > 1:
        staging.build(inside[first], inside[second], users)
    else:
        staging.in_place(inside[second])


def early_copies(loop: ir.Operation, known: Sequence[ir.Value], readers: Sequence[ir.Operation]) -> list[CopyToShared]:
    """The copies in front of a loop to shared buffers that only some of its ops read, but for the buffers that it copies to itself."""
    found: dict[ir.Value, list[CopyToShared | None]] = {}
    for op in body(loop.block):
        if op == loop:
            break
        store = guarded_store(op) or op
        if store.name in STORES and is_shared(store.operands[1]) and store.operands[1] not in known:
            found.setdefault(store.operands[1], []).append(copy_of(store, op if op != store else None))
    copies = []
    for buffer, some in found.items():
        whole = [one for one in some if one is not None]
        stores = [one.store for one in whole]
        users = [use.owner.operation for use in buffer.uses]
        if len(whole) == len(some) and all(user in stores or (user.name in LOADS and user in readers) for user in users):
            copies += whole
    return copies


def stands_in(op: ir.Operation, ops: Sequence[ir.Operation]) -> bool:
    """Whether an op is one of some, or in one of them."""
    return any(one in ops for one in (op, *enclosing(op)))


def is_own(op: ir.Operation, read: Container[ir.Value]) -> bool:
    """Whether an op writes to a buffer of a thread's own that is not among some."""
    made = op.operands[1].owner if op.name in STORES else None
    return made is not None and not isinstance(made, ir.Block) and made.operation.name == "memref.alloca" and op.operands[1] not in read


def values_of(one: CopyToShared) -> list[ir.Value]:
    """What a copy is computed from: whether it is made, whether it is of what is loaded, and where it is from and to."""
    guards = [] if one.guard is None else [one.guard.operands[0]]
    return [*guards, *one.tests, *list(one.load.operands)[1:], *list(one.store.operands)[2:]]


def shared_size(kernel: ir.Operation) -> int:
    """The bytes of a kernel's shared buffers."""
    return sum(size_of(a.type) for a in kernel.regions[0].blocks[0].arguments if isinstance(a.type, ir.MemRefType) and is_shared(a))


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
                if user.name == WARPGROUP_PRODUCT:
                    for number, buffer in enumerate(user.operands):
                        if buffer in self.buffers:
                            user.operands[number] = whole(buffer, here)
                    continue
                buffer, *place = user.operands
                new = ir.Operation.create(user.name, [user.results[0].type], [buffer, here, *place],
                                          {name: user.attributes[name] for name in user.attributes})
            user.results[0].replace_all_uses_with(new.results[0])
            user.erase()
        self.end()

    def in_place(self, second: ir.Operation) -> None:
        """Makes the copies of a step asynchronous, and waits for them in front of the barrier behind them."""
        with ir.InsertionPoint(second), self.loop.location:
            self.begin_copies([], {}, [])
            wait_for_copies(0)
        self.end()

    def end(self) -> None:
        """Removes the copies that have been replaced."""
        for one in self.copies:
            one.whole.erase()
        del self.loop.attributes[STAGES]

    def begin_early(self, copies: Sequence[CopyToShared]) -> None:
        """Makes copies in front of the loop asynchronous. They belong to the first group in it, which is waited for in each step."""
        for one in copies:
            with ir.InsertionPoint(one.whole), one.whole.location:
                self.begin_one(one, [], {}, [], one.whole)
            one.whole.erase()

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
            mapping = self.begin_one(one, begun, mapping, slot, self.loop)
        ir.Operation.create("nvvm.cp.async.commit.group")

    def begin_one(self, one: CopyToShared, begun: Sequence[ir.Value], mapping: dict[ir.Value, ir.Value], slot: Sequence[ir.Value],
                  around: ir.Operation) -> dict[ir.Value, ir.Value]:
        """Begins a copy, as ``begin_copies``; what it needs of the ops that stand in ``around``, or in ops in front of it, is computed
        again. Returns the values with those that were."""
        guards = [] if one.guard is None else [one.guard.operands[0]]
        mapping = copy([op for op in self.needed(values_of(one), around) if op.results[0] not in mapping], mapping)
        guards, tests, source, target = ([mapping.get(v, v) for v in some] for some in (
            guards, one.tests, list(one.load.operands)[1:], list(one.store.operands)[2:]))
        type_ = one.load.results[0].type
        lanes, exists = prod(type_.shape) if isinstance(type_, ir.VectorType) else 1, None
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
        return mapping

    @staticmethod
    def needed(values: Sequence[ir.Value], around: ir.Operation) -> list[ir.Operation]:
        """The ops that values are computed by, in order, and that stand in ops of the block of ``around``."""
        found: list[ir.Operation] = []

        def visit(value: ir.Value) -> None:
            op = None if isinstance(value.owner, ir.Block) else value.owner.operation
            if op is not None and op not in found and op.block != around.block and any(one.block == around.block for one in enclosing(op)):
                for operand in op.operands:
                    visit(operand)
                found.append(op)

        for value in values:
            visit(value)
        return found


def whole(buffer: ir.Value, slot: ir.Value) -> ir.Value:
    """The part of a buffer that belongs to a step, at the insertion point."""
    _, *shape = buffer.type.shape
    unknown = ir.ShapedType.get_dynamic_size()
    strides = [prod(shape[axis + 1:]) for axis in range(len(shape))]
    layout = ir.StridedLayoutAttr.get(ir.ShapedType.get_dynamic_stride_or_offset(), strides)
    type_ = ir.MemRefType.get(shape, buffer.type.element_type, layout, buffer.type.memory_space)
    zeros, ones = [0] * len(shape), [1] * len(buffer.type.shape)
    return memref.SubViewOp(type_, buffer, [slot], [], [], [unknown, *zeros], [1, *shape], ones).result


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
