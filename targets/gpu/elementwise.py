"""The nest of an elementwise block: a thread for each vector of neighbours in memory, or for each point."""
from math import gcd, prod

from legato.analysis.accesses import ElementAccess
from legato.analysis.block_kernel import KernelBlock
from legato.analysis.indices.forms import linear
from legato.core.mlir import ir
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.steps import Steps

THREADS = 256
SHORT = 16              # bits of an element, of which one access moves too little to keep memory busy
ENOUGH = 1 << 13        # threads, from which on each may have several such elements
SHIFTS = ("arith.addi", "arith.subi", "arith.minsi", "arith.maxsi")


def emit_elementwise(steps: Steps, block: KernelBlock, machine: Gpu) -> None:
    """Appends the steps of the launch of a block without reductions that no other is inlined into later."""
    handle = steps.block(block.name)
    last = written_last(block)
    lanes = lanes_of(block, machine) if last is not None else 1
    stored = stored_lanes(block, machine) if lanes == 1 else 1
    result = steps.cache_write(handle, 0, "local") if stored > 1 else ""
    loops = steps.loops(handle, block.rank)
    if not loops:
        unit = steps.unit_loop(handle)
        steps.bind(unit, "threadIdx.x")
        return
    if last is not None and last != block.rank - 1:    # neighbours are written together
        order = [axis for axis in range(block.rank) if axis != last] + [last]
        loops = [loops[axis] for axis in order]
        steps.reorder(loops)
    vector, each = "", max(lanes, stored)
    if each > 1:
        *outer, final = loops
        final, vector = steps.split(final, [-1, each])
        loops = [*outer, final]
    whole = steps.fuse(loops)
    known = [e for e in block.extents if e is not None]
    points = prod(known) // each if len(known) == block.rank else None
    threads = THREADS if points is None else min(THREADS, 1 << max(points - 1, 0).bit_length())
    blocks = 1 if points is None else -(-points // threads)
    if blocks > machine.grid:
        grid, _, thread = steps.split(whole, [machine.grid, -1, threads])
    else:
        grid, thread = steps.split(whole, [-1, threads])
    steps.bind(grid, "blockIdx.x")
    steps.bind(thread, "threadIdx.x")
    if result:
        steps.reverse_compute_at(result, thread)
        steps.unroll(vector)
        steps.vectorize(steps.loops(result, 2 + block.rank)[2 + (last or 0)])
    elif vector:
        steps.vectorize(vector)


def written_last(block: KernelBlock) -> int | None:
    """The axis along which the block writes neighbours; None where it is not one axis, or there are several stores."""
    if len(block.stores) != 1 or not block.stores[0].indices:
        return None
    terms = linear(block.stores[0].indices[-1]).terms
    return block.axis_of(next(iter(terms))) if list(terms.values()) == [1] else None


def lanes_of(block: KernelBlock, machine: Gpu) -> int:
    """The elements that a thread moves at once, of which rows, and parts of rows that are read and written, begin at multiples; 1 where
    neighbours are not read together."""
    last = written_last(block)
    extent = None if last is None else block.extents[last]
    if last is None or not extent or not all(op.name.startswith(("arith.", "memref.", "math.")) for op in block.ops):
        return 1
    widths, sizes = [], [extent]
    for access in block.accesses:
        offset = offset_along(block, access, last)
        if offset is None:
            return 1
        if any(block.depends(index, [last]) for index in access.indices):
            element, row = access.buffer.type.element_type, access.buffer.type.shape[-1]
            widths.append(64 if isinstance(element, ir.IndexType) else element.width)
            sizes += [offset, 1 if access.buffer.type.is_dynamic_dim(access.buffer.type.rank - 1) else row]
    if not widths or min(widths) < 8 or any(isinstance(op.results[0].type, ir.IndexType) and block.depends(op.results[0], [last])
                                            and not is_index(block, op) for op in block.ops if len(op.results)):
        return 1
    return gcd(machine.lanes(max(widths)), *sizes)


def stored_lanes(block: KernelBlock, machine: Gpu) -> int:
    """The short elements that a thread stores at once, though it reads them one by one: neighbours of rows that no long accesses divide, or
    that end within the block's, as where rows of an odd length are filled up. So many loads of a thread are on their way together."""
    last = written_last(block)
    extent = None if last is None else block.extents[last]
    points = block.points(range(block.rank))
    if last is None or not extent or points is None or not machine.merges:
        return 1
    store, loads = block.stores[0], block.loads
    element, row = store.buffer.type.element_type, store.buffer.type.shape[-1]
    offset = offset_along(block, store, last)
    if isinstance(element, ir.IndexType) or not 8 <= element.width <= SHORT or offset is None or row < 0:
        return 1
    lanes = gcd(machine.lanes(element.width), extent, offset, row)
    before = next((axis for axis in reversed(range(block.rank)) if axis != last), last)
    near = last if extent > lanes else before       # along which neighbouring threads lie
    if points // lanes < ENOUGH or not all(op.name.startswith(("arith.", "memref.", "math.")) for op in block.ops):
        return 1
    return lanes if all(reads_beside(block, load, last) or reads_beside(block, load, near) for load in loads) else 1


def reads_beside(block: KernelBlock, access: ElementAccess, last: int) -> bool:
    """Whether an access does not move along the axis ``last``, or moves from neighbour to neighbour as it does, but for ends where it
    stays."""
    *outer, index = access.indices or [None]
    if any(block.depends(value, [last]) for value in outer):
        return False
    moving = block.block.block.arguments[last]
    while index is not None and index != moving and block.depends(index, [last]):
        if isinstance(index.owner, ir.Block) or index.owner.name not in SHIFTS:
            return False
        operands = [value for value in index.owner.operands if block.depends(value, [last])]
        if len(operands) != 1 or (index.owner.name == "arith.subi" and operands[0] != index.owner.operands[0]):
            return False
        index = operands[0]
    return True


def offset_along(block: KernelBlock, access: ElementAccess, last: int) -> int | None:
    """Where a row begins that an access moves along, element by element, as the axis ``last`` does; 0 where it does not move along it; None
    for other accesses."""
    *outer, index = access.indices or [None]
    if index is None:
        return 0
    form, moving = linear(index), block.block.block.arguments[last]
    if any(block.depends(value, [last]) for value in outer) or (block.depends(index, [last]) and form.terms != {moving: 1}):
        return None
    return form.constant if moving in form.terms else 0


def is_index(block: KernelBlock, op: ir.Operation) -> bool:
    """Whether an op's result is the index of accesses only."""
    return all(use.owner.operation.name in ("memref.load", "memref.store") for use in op.results[0].uses)
