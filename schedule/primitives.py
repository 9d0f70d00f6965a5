"""The table of primitives, with adapters for their ops and attributes."""
from collections.abc import Callable, Sequence
from typing import Any

from legato.core.mlir import ir
from legato.dialects.tir.loops import REDUCE, BlockOp, ForOp
from legato.dialects.tir.matrices import SubgroupIntrinsic
from legato.dialects.tir.matrix_factors import DOT_INTRINSICS, MATRIX_INTRINSICS, WARPGROUP_INTRINSICS
from legato.dialects.tir.walk import blocks
from legato.schedule import (
    attention_primitives,
    axis_primitives,
    block_primitives,
    buffer_primitives,
    dot_primitives,
    inline_primitives,
    kind_primitives,
    layout_primitives,
    loop_primitives,
    matrix_primitives,
    merge_primitives,
    note_primitives,
    padding_primitives,
    partition_primitives,
    product_primitives,
    query_primitives,
    reduction_primitives,
    reindex_primitives,
    staged_primitives,
    storage_primitives,
    subgroup_primitives,
    tensor_primitives,
    warpgroup_primitives,
)
from legato.schedule.state import Kernel, ScheduleError, dependent_axes

LOOP, BLOCK = "a loop", "a block"
EITHER, ANY = "a loop or a block", "a kernel, a loop or a block"
OPS = {LOOP: ("tir.for",), BLOCK: ("tir.block",), EITHER: ("tir.for", "tir.block"),
       ANY: ("builtin.module", "func.func", "tir.for", "tir.block")}


def typed(op: ir.Operation, what: str, wanted: str) -> Any:
    """The op's view. ScheduleError unless it is what the step ``what`` requires (``wanted``)."""
    if op.name not in OPS[wanted]:
        raise ScheduleError(f"{what}: takes {wanted}, this is {query_primitives.named(op)}")
    return op.opview


def on(*wanted: str) -> Callable[[Callable], Callable]:
    """Adapts a primitive on loops and blocks, whose kinds are checked."""
    def make(function: Callable) -> Callable:
        return lambda kernel, what, ops, **a: function(kernel, *(typed(o, what, w) for o, w in zip(ops, wanted, strict=True)), **a)

    return make


def on_loops(function: Callable) -> Callable:
    """Adapts a primitive on a list of loops."""
    return lambda kernel, what, ops, **a: function(kernel, [typed(o, what, LOOP) for o in ops], **a)


def on_blocks(function: Callable) -> Callable:
    """Adapts a primitive on a list of blocks."""
    return lambda kernel, what, ops, **a: function(kernel, [typed(o, what, BLOCK) for o in ops], **a)


def on_op(wanted: str) -> Callable[[Callable], Callable]:
    """Adapts a primitive on one op."""
    return lambda function: lambda kernel, what, ops, **a: function(kernel, typed(ops[0], what, wanted).operation, **a)


def reduction_under(kernel: Kernel, of: ForOp, axis: int) -> list[BlockOp]:
    """rfactor for a loop: finds the only block that reduces over it. ScheduleError unless there is exactly one."""
    found = [b for b in blocks(of.operation) if any(kind == REDUCE for _, kind in dependent_axes(b, of.variable))]
    if len(found) != 1:
        raise ScheduleError(f"rfactor: {len(found)} blocks reduce over the loop {of.name}; it has to be one")
    return reduction_primitives.rfactor(kernel, found[0], of, axis)


def tensorize(kernel: Kernel, op: ir.Operation, intrinsic: str) -> BlockOp:
    """tensorize for intrinsics that are kernels, and for matrix instructions."""
    if (own := SubgroupIntrinsic.of(intrinsic)) is not None:
        return subgroup_primitives.tensorize_subgroup(kernel, op, own)
    if intrinsic in (warpgroup_primitives.BULK_TILE, *WARPGROUP_INTRINSICS):
        return warpgroup_primitives.tensorize_warpgroup(kernel, op, intrinsic)
    if intrinsic in DOT_INTRINSICS:
        return dot_primitives.tensorize_dot(kernel, op, intrinsic)
    replace = matrix_primitives.tensorize_mma if intrinsic in MATRIX_INTRINSICS else tensor_primitives.tensorize
    return replace(kernel, op, intrinsic)


on_loop, on_block, on_block_and_loop, on_either, on_any = on(LOOP), on(BLOCK), on(BLOCK, LOOP), on_op(EITHER), on_op(ANY)
PRIMITIVES: dict[str, Callable] = {
    "get_block": on_any(lambda kernel, op, name: query_primitives.get_block(op, name)),
    "get_loops": on_block(query_primitives.get_loops),
    "get_child_blocks": on_any(lambda kernel, op: query_primitives.get_child_blocks(op)),
    "get_producers": on_block(query_primitives.get_producers), "get_consumers": on_block(query_primitives.get_consumers),
    "get_output_blocks": on_any(query_primitives.get_output_blocks),
    "split": on_loop(loop_primitives.split), "fuse": on_loops(loop_primitives.fuse), "reorder": on_loops(loop_primitives.reorder),
    "merge": on_loops(merge_primitives.merge), "loop_partition": on_loop(partition_primitives.loop_partition),
    "parallel": on_loop(kind_primitives.parallel), "vectorize": on_loop(kind_primitives.vectorize),
    "unroll": on_loop(kind_primitives.unroll), "bind": on_loop(kind_primitives.bind),
    "add_unit_loop": on_either(note_primitives.add_unit_loop), "annotate": on_either(note_primitives.annotate),
    "unannotate": on_either(note_primitives.unannotate),
    "cache_read": on_blocks(buffer_primitives.cache_read), "cache_write": on_block(buffer_primitives.cache_write),
    "read_at": on_block_and_loop(staged_primitives.read_at), "write_at": on_block_and_loop(staged_primitives.write_at),
    "reindex": on_block(reindex_primitives.reindex),
    "set_scope": on_block(storage_primitives.set_scope), "storage_align": on_block(storage_primitives.storage_align),
    "transform_layout": on_block(buffer_primitives.transform_layout),
    "transform_block_layout": on_block(axis_primitives.transform_block_layout),
    "reorder_block_iter_var": on_block(axis_primitives.reorder_block_iter_var),
    "compute_at": on_block_and_loop(block_primitives.compute_at),
    "reverse_compute_at": on_block_and_loop(block_primitives.reverse_compute_at),
    "compute_inline": on_block(inline_primitives.compute_inline),
    "reverse_compute_inline": on_block(inline_primitives.reverse_compute_inline),
    "decompose_reduction": on_block_and_loop(reduction_primitives.decompose_reduction),
    "decompose_padding": on_block_and_loop(padding_primitives.decompose_padding),
    "rfactor": on_loop(reduction_under), "blockize": on_loop(tensor_primitives.blockize),
    "tile_product": on_block(product_primitives.tile_product),
    "tile_attention": on_block(attention_primitives.tile_attention),
    "tensorize": on_either(tensorize), "pack": on_block(layout_primitives.pack), "pad": on_block(layout_primitives.pad),
}


def run(kernel: Kernel | None, step: str, ops: Sequence[ir.Operation], attributes: dict[str, Any]) -> list[ir.Operation]:
    """Applies one step to loops and blocks of a kernel. Returns those that it creates or finds. ScheduleError if it is not legal.

    ``kernel`` may be None if the ops are not in a kernel, which only ``get_block`` supports.
    """
    if kernel is None and step != "get_block":
        raise ScheduleError(f"{step}: {query_primitives.named(ops[0])} is no part of a kernel (a func.func that is marked tir.prim_func)")
    with ops[0].context, ir.Location.unknown():
        made = PRIMITIVES[step](kernel, step, ops, **attributes)
    if made is None:
        return []
    return [m.operation for m in (made if isinstance(made, list) else [made])]
