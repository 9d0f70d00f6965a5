"""The table of primitives: how each takes its handles and attributes, and which handles it gives."""
from collections.abc import Callable, Sequence
from typing import Any

from ...dialects.tir.loops import REDUCE
from ...dialects.tir.walk import blocks, loops_around
from ...mlir import ir
from . import block_primitives, buffer_primitives, layout_primitives, loop_primitives, reduction_primitives, tensor_primitives
from .state import Cell, Kernel, ScheduleError, dependent_axes


def loop(kernel: Kernel, op: ir.Operation, what: str) -> Any:
    if op.name != "tir.for":
        raise ScheduleError(f"{what}: takes a loop, this is {op.name}")
    return op.opview


def block(kernel: Kernel, op: ir.Operation, what: str) -> Any:
    if op.name != "tir.block":
        raise ScheduleError(f"{what}: takes a block, this is {op.name}")
    return op.opview


def on_loop(function: Callable) -> Callable:
    return lambda kernel, what, ops, **a: function(kernel, loop(kernel, ops[0], what), **a)


def on_loops(function: Callable) -> Callable:
    return lambda kernel, what, ops, **a: function(kernel, [loop(kernel, o, what) for o in ops], **a)


def on_block(function: Callable) -> Callable:
    return lambda kernel, what, ops, **a: function(kernel, block(kernel, ops[0], what), **a)


def on_block_and_loop(function: Callable) -> Callable:
    return lambda kernel, what, ops, **a: function(kernel, block(kernel, ops[0], what), loop(kernel, ops[1], what), **a)


def reduction_under(kernel: Kernel, of: Any, axis: int) -> Any:
    """rfactor takes a loop; the block is the one that reduces over it."""
    found = [b for b in blocks(of.operation) if any(kind == REDUCE for _, kind in dependent_axes(b, of.variable))]
    if len(found) != 1:
        raise ScheduleError(f"rfactor: {len(found)} blocks reduce over the loop {of.name}; it has to be one")
    return reduction_primitives.rfactor(kernel, found[0], of, axis)


PRIMITIVES: dict[str, Callable] = {
    "get_block": lambda kernel, what, ops, name: kernel.block(name),
    "get_loops": on_block(lambda kernel, b: loops_around(b.operation)),
    "split": on_loop(loop_primitives.split), "fuse": on_loops(loop_primitives.fuse), "reorder": on_loops(loop_primitives.reorder),
    "parallel": on_loop(loop_primitives.parallel), "vectorize": on_loop(loop_primitives.vectorize),
    "unroll": on_loop(loop_primitives.unroll), "bind": on_loop(loop_primitives.bind),
    "cache_read": on_block(buffer_primitives.cache_read), "cache_write": on_block(buffer_primitives.cache_write),
    "set_scope": on_block(buffer_primitives.set_scope), "transform_layout": on_block(
        lambda kernel, b, at, map: buffer_primitives.transform_layout(kernel, b, at, map)),
    "compute_at": on_block_and_loop(block_primitives.compute_at),
    "reverse_compute_at": on_block_and_loop(block_primitives.reverse_compute_at),
    "compute_inline": on_block(block_primitives.compute_inline),
    "reverse_compute_inline": on_block(block_primitives.reverse_compute_inline),
    "decompose_reduction": on_block_and_loop(reduction_primitives.decompose_reduction),
    "rfactor": on_loop(reduction_under), "blockize": on_loop(tensor_primitives.blockize),
    "tensorize": on_loop(tensor_primitives.tensorize), "pack": on_block(layout_primitives.pack), "pad": on_block(layout_primitives.pad),
}


def run(kernel: Kernel, step: str, handles: Sequence[Cell], attributes: dict[str, Any]) -> list[Cell]:
    """Does one step on a kernel; gives the handles that it makes. ScheduleError where it is not legal."""
    if step not in PRIMITIVES:
        raise ScheduleError(f"there is no primitive '{step}'; there are: {', '.join(PRIMITIVES)}")
    ops = [h.op for h in handles]
    if any(op is None for op in ops):
        raise ScheduleError(f"{step}: this loop or block is gone, an earlier step has put others in its place")
    with kernel.function.operation.context, ir.Location.unknown():
        made = PRIMITIVES[step](kernel, step, ops, **attributes)
    if made is None:
        return []
    return [kernel.cell(m) for m in (made if isinstance(made, list) else [made])]
