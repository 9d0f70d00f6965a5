"""Primitives that move computations into other blocks: compute_inline, reverse_compute_inline."""
from legato.analysis.accesses import buffer_of, indices_of
from legato.core.ir_helpers import ancestors, body, copy, index
from legato.core.mlir import ir
from legato.dialects.tir.loops import DYNAMIC, REDUCE, BlockOp, constant_of
from legato.dialects.tir.walk import blocks, buffer_name
from legato.schedule.block_primitives import allocate_first
from legato.schedule.order import check_moved, outlasts
from legato.schedule.reach import check_runs_for_all, end_of, has_choices, reaches, writes_all
from legato.schedule.state import (
    Kernel,
    ScheduleError,
    accesses,
    one_written,
    only_accessed,
    only_writer,
    own_nest,
    plain_axes,
    reads,
    users,
    writes,
)


def elementwise(kernel: Kernel, block: BlockOp, what: str) -> tuple[ir.Operation, ir.Value]:
    """The only store of a block without reduction, and its buffer. ScheduleError for other blocks."""
    buffer = one_written(block, what)
    stores = accesses(block, "memref.store")
    if len(stores) != 1 or REDUCE in block.kinds or block.init_block is not None:
        raise ScheduleError(f"{what}: block '{block.name}' is a reduction, or writes more than once: it cannot stand in the place of a "
                            "read")
    if any(buffer_of(op) == buffer for op in accesses(block, "memref.load")):
        raise ScheduleError(f"{what}: block '{block.name}' reads what it writes")
    return stores[0], buffer


def compute_inline(kernel: Kernel, block: BlockOp) -> None:
    """Replaces each read of the block's buffer by the block's computation, and removes the block."""
    store, buffer = elementwise(kernel, block, "compute_inline")
    kernel.allocation(buffer, "compute_inline")
    only_accessed(kernel, buffer, "compute_inline")
    only_writer(kernel, buffer, block, "compute_inline")
    if store.parent != block.operation:
        raise ScheduleError(f"compute_inline: block '{block.name}' writes '{buffer_name(buffer)}' under a condition, or in a loop: it has "
                            "no value for each read")
    top = own_nest(block)
    axes = plain_axes(store, block, "compute_inline")
    if sorted(axes) != list(range(len(block.axes))):
        raise ScheduleError(f"compute_inline: block '{block.name}' has an axis that its buffer does not")
    inside = [op for op in body(block.block) if op != store]
    arguments = list(block.block.arguments)
    for load in users(buffer, "memref.load"):
        check_moved(block, block.operation, load, "compute_inline", apart=[buffer],
                    in_step=lambda store, load=load: outlasts(store, block, load))
    for load in users(buffer, "memref.load"):
        places = dict(zip(axes, indices_of(load)))
        with ir.InsertionPoint(load), load.location:
            mapping = copy(inside, {a: places[n] for n, a in enumerate(arguments)})
        load.results[0].replace_all_uses_with(mapping.get(store.operands[0], store.operands[0]))
        kernel.erase(load)
    kernel.erase(top)
    if not list(buffer.uses):
        kernel.erase(buffer.owner.operation)


def axes_or_single(access: ir.Operation, block: BlockOp, what: str) -> list[int | None]:
    """The axis that each index of an access is; None for 0 where the buffer has one element. ScheduleError where an index is anything else,
    or two are one axis."""
    arguments, places = list(block.block.arguments), indices_of(access)
    single = [size == 1 and constant_of(place) == 0 for size, place in zip(buffer_of(access).type.shape, places)]
    found = [None if one else arguments.index(place) if place in arguments else -1 for one, place in zip(single, places)]
    if -1 in found or len(plain := [axis for axis in found if axis is not None]) != len(set(plain)):
        raise ScheduleError(f"{what}: block '{block.name}' does not access the buffer by one axis for each dimension")
    return found


def reverse_compute_inline(kernel: Kernel, block: BlockOp) -> None:
    """Moves the block's computation to its producer's store, and removes the block."""
    elementwise(kernel, block, "reverse_compute_inline")
    produced = [b for b in reads(block) if b.owner.operation.name == "tir.alloc_buffer"]
    if len(produced) != 1:
        raise ScheduleError(f"reverse_compute_inline: block '{block.name}' reads {len(produced)} buffers of the kernel's own; it has to be "
                            "one")
    only_accessed(kernel, produced[0], "reverse_compute_inline")
    writers = [b for b in blocks(kernel.function.operation) if produced[0] in writes(b)]
    own = [block.operation, *(b.operation for b in writers)]
    if any(not any(a in own for a in ancestors(op)) for op in users(produced[0], "memref.load")):
        raise ScheduleError(f"reverse_compute_inline: '{buffer_name(produced[0])}' is also read outside of block '{block.name}'")
    if len(writers) != 1 or REDUCE in writers[0].kinds:
        raise ScheduleError(f"reverse_compute_inline: the producer of '{buffer_name(produced[0])}' is a reduction: its value is "
                            "known only when it is finished (reverse_compute_at takes it then)")
    if any(op.parent != block.operation for op in accesses(block, "memref.load") if buffer_of(op) == produced[0]):   # a pad, mostly
        raise ScheduleError(f"reverse_compute_inline: block '{block.name}' reads '{buffer_name(produced[0])}' under a condition; the "
                            "producer has no steps for the rest of its domain")
    top = own_nest(block)
    loads = [op for op in accesses(block, "memref.load") if buffer_of(op) == produced[0]]
    axes = axes_or_single(loads[0], block, "reverse_compute_inline")
    single = [n for n in range(len(block.axes)) if n not in axes]
    if any(axes_or_single(op, block, "reverse_compute_inline") != axes for op in loads) or any(block.extents[n] != 1 for n in single):
        raise ScheduleError(f"reverse_compute_inline: block '{block.name}' does not read '{buffer_name(produced[0])}' element by "
                            "element")
    check_moved(block, writers[0].operation, block.operation, "reverse_compute_inline", apart=produced)
    only_writer(kernel, produced[0], writers[0], "reverse_compute_inline")
    stores = accesses(writers[0], "memref.store")
    if len(stores) != 1:
        raise ScheduleError(f"reverse_compute_inline: block '{writers[0].name}' writes '{buffer_name(produced[0])}' more than once")
    written = stores[0]
    for dimension, axis in enumerate(axes):
        check_same_steps(written, dimension, block, axis)
    check_runs_for_all(kernel.function, block, axes, stores, "reverse_compute_inline")
    steps = [(n, axis) for n, axis in enumerate(axes) if axis is not None]
    if has_choices(block, loads) and not all(reaches(written, n, block, axis, written) for n, axis in steps):
        extents = [1 if axis is None else block.extents[axis] for axis in axes]
        if not writes_all(kernel.function, [written], [DYNAMIC if extent is None else extent for extent in extents]):
            raise ScheduleError(f"reverse_compute_inline: block '{block.name}' may do without what it reads, and its producer may have no "
                                "steps for some of its elements")
    allocate_first(kernel, block)
    places = {axis: place for axis, place in zip(axes, indices_of(written)) if axis is not None}
    inside = [op for op in body(block.block) if op not in loads]
    with ir.InsertionPoint(written), written.location:
        places |= {n: index(0) for n in single}
        mapping = {a: places[n] for n, a in enumerate(block.block.arguments)} | {op.results[0]: written.operands[0] for op in loads}
        copy(inside, mapping)
    kernel.erase(written)
    kernel.erase(top)
    if not list(produced[0].uses):
        kernel.erase(produced[0].owner.operation)


def check_same_steps(written: ir.Operation, dimension: int, block: BlockOp, axis: int | None) -> None:
    """ScheduleError where a store writes, along a dimension of its buffer, for more values than those of a block's axis."""
    extent, end = None if axis is None else block.extents[axis], end_of(written, dimension, written)
    if axis is not None and extent is not None and (end is None or end > extent):
        raise ScheduleError(f"reverse_compute_inline: block '{block.name}' has {extent} values of {block.axes[axis]}, and its producer may "
                            "write more")
