"""The nest of an elementwise block: a thread for each vector of neighbours in memory, or for each point."""
from math import prod

from legato.analysis.block_kernel import KernelBlock
from legato.core.mlir import ir
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.steps import Steps

THREADS = 256


def emit_elementwise(steps: Steps, block: KernelBlock, machine: Gpu) -> None:
    """Appends the steps of the launch of a block without reductions that no other is inlined into later."""
    handle = steps.block(block.name)
    loops = steps.loops(handle, block.rank)
    if not loops:
        unit = steps.unit_loop(handle)
        steps.bind(unit, "threadIdx.x")
        return
    last = written_last(block)
    lanes = lanes_of(block, machine) if last is not None else 1
    if last is not None and last != block.rank - 1:    # neighbours are written together
        order = [axis for axis in range(block.rank) if axis != last] + [last]
        loops = [loops[axis] for axis in order]
        steps.reorder(loops)
    vector = ""
    if lanes > 1:
        *outer, final = loops
        final, vector = steps.split(final, [-1, lanes])
        loops = [*outer, final]
    whole = steps.fuse(loops)
    known = [e for e in block.extents if e is not None]
    points = prod(known) // lanes if len(known) == block.rank else None
    threads = THREADS if points is None else min(THREADS, 1 << max(points - 1, 0).bit_length())
    blocks = 1 if points is None else -(-points // threads)
    if blocks > machine.grid:
        grid, _, thread = steps.split(whole, [machine.grid, -1, threads])
    else:
        grid, thread = steps.split(whole, [-1, threads])
    steps.bind(grid, "blockIdx.x")
    steps.bind(thread, "threadIdx.x")
    if vector:
        steps.vectorize(vector)


def written_last(block: KernelBlock) -> int | None:
    """The axis along which the block writes neighbours; None where it is not one axis, or there are several stores."""
    if len(block.stores) != 1 or not block.stores[0].indices:
        return None
    return block.axis_of(block.stores[0].indices[-1])


def lanes_of(block: KernelBlock, machine: Gpu) -> int:
    """The elements that a thread moves at once; 1 where neighbours are not read together."""
    last = written_last(block)
    extent = None if last is None else block.extents[last]
    if last is None or not extent or not all(op.name.startswith(("arith.", "memref.", "math.")) for op in block.ops):
        return 1
    widths = []
    for access in block.accesses:
        *outer, index = access.indices or [None]
        element = access.buffer.type.element_type
        moves = index is not None and block.depends(index, [last])
        if any(block.depends(value, [last]) for value in outer) or (moves and block.axis_of(index) != last):
            return 1
        if moves:
            widths.append(64 if isinstance(element, ir.IndexType) else element.width)
    if not widths or min(widths) < 8 or any(isinstance(op.results[0].type, ir.IndexType) for op in block.ops if len(op.results)):
        return 1
    lanes = machine.lanes(max(widths))
    return lanes if extent % lanes == 0 else 1
