"""Primitives on how a buffer of a kernel's own is stored: set_scope, storage_align."""
from legato.core.mlir import ir
from legato.dialects.tir.loops import DYNAMIC, BlockOp
from legato.dialects.tir.strides import align, alignment_of
from legato.schedule.buffer_primitives import pick
from legato.schedule.state import Kernel, ScheduleError, only_accessed, writes


def set_scope(kernel: Kernel, block: BlockOp, at: int | str, scope: str) -> None:
    """Sets the scope of a buffer that the block writes."""
    buffer = pick(kernel, writes(block), at, block, "set_scope", "writes")
    made = kernel.allocation(buffer, "set_scope")
    made.operation.attributes["scope"] = ir.StringAttr.get(scope, made.operation.context)


def storage_align(kernel: Kernel, block: BlockOp, at: int | str, axis: int, factor: int, offset: int) -> None:
    """Makes a step along an axis of a buffer that the block writes ``offset`` elements modulo ``factor``, by a larger allocation."""
    buffer = pick(kernel, writes(block), at, block, "storage_align", "writes")
    made = kernel.allocation(buffer, "storage_align")
    only_accessed(kernel, buffer, "storage_align")
    rank, shape = buffer.type.rank, list(buffer.type.shape)
    if not -rank <= axis < rank:
        raise ScheduleError(f"storage_align: '{made.name}' has {rank} axes, and no axis {axis}")
    axis %= rank
    if factor < 1:
        raise ScheduleError(f"storage_align: the factor is 1 or more, not {factor}")
    if axis == rank - 1 and (offset - 1) % factor:
        raise ScheduleError(f"storage_align: a step along the last axis of '{made.name}' is one element, which is not {offset} modulo "
                            f"{factor}; axis -2 sets rows apart")
    if DYNAMIC in shape[axis + 1:]:
        raise ScheduleError(f"storage_align: a step along axis {axis} of '{made.name}' is of a size that is not known: {buffer.type}")
    present = alignment_of(made.operation)
    if present is not None and present[0] != axis:
        raise ScheduleError(f"storage_align: the steps along axis {present[0]} of '{made.name}' are aligned already; it has to be one axis")
    align(made.operation, axis, factor, offset % factor)
