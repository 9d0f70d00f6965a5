"""Primitives that say how a loop runs: parallel, vectorize, unroll, bind."""
from legato.analysis.indices.forms import roots
from legato.analysis.lanes import lanes_of
from legato.core.ir_helpers import ancestors, find
from legato.core.mlir import ir
from legato.dialects.tir.loops import PARALLEL, REDUCE, THREAD, THREADS, UNROLLED, VECTORIZED, BlockOp, ForOp
from legato.dialects.tir.walk import blocks, buffer_name
from legato.schedule.crossing import crossing, met_by
from legato.schedule.order import carried
from legato.schedule.state import (
    Kernel,
    ScheduleError,
    dependent_axes,
    is_shared,
    require_static,
    within,
)

MOST_UNROLLED = 1024   # copies of a loop's body


def set_kind(loop: ForOp, kind: str, thread: str | None = None) -> None:
    """Sets a loop's kind and thread."""
    attributes = loop.operation.attributes
    attributes["kind"] = ir.StringAttr.get(kind, loop.operation.context)
    if thread is not None:
        attributes["thread"] = ir.StringAttr.get(thread, loop.operation.context)
    elif "thread" in attributes:
        del attributes["thread"]


def check_independent(loop: ForOp, what: str) -> None:
    """ScheduleError, with block and axis, unless the iterations of a loop are known to write different elements."""
    if loop.extent == 1:
        return
    inside = [b for b in blocks(loop.operation) if not any(a.name == "tir.block" for a in within(b.operation, loop.operation))]
    for access in find(loop.operation, "memref.store"):
        if not any(a.name == "tir.block" for a in within(access, loop.operation)):
            raise ScheduleError(f"{what}: a store under {loop.name} stands in no block: whether its steps are independent is not known")
    for block in inside:
        check_block(block, loop, what)
    if (found := crossing(loop)) is not None:
        raise ScheduleError(f"{what}: {met_by(*found)} in another step of {loop.name}")


def check_block(block: BlockOp, loop: ForOp, what: str) -> None:
    """ScheduleError where a block's writes may coincide in different iterations of the loop."""
    axes = dependent_axes(block, loop.variable)
    reduced = [axis for axis, kind in axes if kind == REDUCE]
    if reduced:
        raise ScheduleError(f"{what}: the axis {', '.join(reduced)} of block '{block.name}' is reduced over the loop {loop.name}: its "
                            "steps write the same place (rfactor makes them independent)")
    if not axes:
        if all(private(store.operands[1], loop) for store in find(block.operation, "memref.store")):
            return
        raise ScheduleError(f"{what}: no axis of block '{block.name}' takes the loop {loop.name}: all its steps write the same place")
    if any(kind == "opaque" for _, kind in axes):
        raise ScheduleError(f"{what}: block '{block.name}' has an opaque axis over the loop {loop.name}")
    if (buffer := carried(block, loop)) is not None:
        raise ScheduleError(f"{what}: block '{block.name}' may read of '{buffer_name(buffer)}' what another step of {loop.name} has "
                            "written")


def private(buffer: ir.Value, loop: ForOp) -> bool:
    """Whether a buffer is used only inside of a loop, so that each iteration gets its own."""
    return all(loop.operation in ancestors(u.owner.operation) for u in buffer.uses)


def parallel(kernel: Kernel, loop: ForOp) -> list[ForOp]:
    """Makes a loop parallel."""
    check_independent(loop, "parallel")
    set_kind(loop, PARALLEL)
    return []


def vectorize(kernel: Kernel, loop: ForOp) -> list[ForOp]:
    """Makes a loop vectorized. ScheduleError unless blocks write along the last dimension over it."""
    extent = require_static(loop, "vectorize")
    check_independent(loop, "vectorize")
    if lanes_of(loop) == 1 and extent != 1:
        raise ScheduleError(f"vectorize: the extent of {loop.name}, {extent}, is no number of lanes: split it first")
    for block in blocks(loop.operation):
        bodies = [inside for inside in (block.init_block, block.block) if inside is not None]
        arguments = {a: v for inside in bodies for a, v in zip(inside.arguments, block.values)}
        for store in find(block.operation, "memref.store"):
            last = store.operands[len(store.operands) - 1] if len(store.operands) > 2 else None
            if last is not None and not any(loop.variable in roots(arguments.get(r, r)) for r in roots(last)):
                raise ScheduleError(f"vectorize: block '{block.name}' does not write along the last dimension of its buffer over "
                                    f"{loop.name}")
    set_kind(loop, VECTORIZED)
    return []


def unroll(kernel: Kernel, loop: ForOp) -> list[ForOp]:
    """Makes a loop unrolled. ScheduleError beyond ``MOST_UNROLLED``."""
    if require_static(loop, "unroll") > MOST_UNROLLED:
        raise ScheduleError(f"unroll: {loop.extent} copies of the body of {loop.name} are too many; at most {MOST_UNROLLED}")
    set_kind(loop, UNROLLED)
    return []


def check_bound_again(loop: ForOp, around: ForOp, thread: str) -> None:
    """ScheduleError where a loop inside of one bound to the same axis does more than fill a shared buffer."""
    stores = find(loop.operation, "memref.store")
    if not thread.startswith("threadIdx") or not all(is_shared(store.operands[1]) for store in stores):
        raise ScheduleError(f"bind: {thread} is bound to the loop {around.name} already, around {loop.name}: it can be bound again only "
                            "where threads fill a shared buffer together")
    for block in blocks(loop.operation):
        if dependent_axes(block, around.variable):
            raise ScheduleError(f"bind: {thread} is bound to the loop {around.name} already, around {loop.name}, and block '{block.name}' "
                                "takes its value: a thread has one index on it; bind the outer loops first, then compute_at")


def bind(kernel: Kernel, loop: ForOp, thread: str) -> list[ForOp]:
    """Binds a loop to a thread axis."""
    if thread not in THREADS:
        raise ScheduleError(f"bind: there are the threads {', '.join(THREADS)}, not '{thread}'")
    for around in ancestors(loop.operation):
        if around.name == "tir.for" and around.opview.thread == thread:
            check_bound_again(loop, around.opview, thread)
    if thread.startswith("block") or not any(
            kind == REDUCE for b in blocks(loop.operation) for _, kind in dependent_axes(b, loop.variable)):
        check_independent(loop, "bind")
    set_kind(loop, THREAD, thread)
    return []
