"""All-reduce over the threads of a block.

Where groups of threads are whole warps, or parts of one, the lanes of a warp exchange values by shuffles (a butterfly), and only one value
of each warp goes through shared memory. Otherwise a tree in shared memory. Barriers are inserted later.
"""
from collections.abc import Callable
from math import prod

from legato.analysis.structured.identities import identity
from legato.core.ir_helpers import index
from legato.core.mlir import arith, ir, memref, scf
from legato.dialects.tir.loops import make_buffer
from legato.passes.gpu.threads.combiners import combine
from legato.passes.gpu.threads.launch import Launch, LaunchAxis

WARP = 32


def all_reduce(launch: Launch, across: list[LaunchAxis], part: ir.Value, combiner: ir.Operation, name: str) -> Callable[[], ir.Value]:
    """Combines the first elements of the local buffers ``part`` of all threads along the axes ``across``, at the insertion point.

    Threads that differ in other axes are separate groups. Returns a function that reads the result, valid at least on a group's first
    thread.
    """
    count = prod(a.extent for a in across)
    mine = memref.LoadOp(part, [index(0)]).result
    whole_warps = launch.warp == WARP and across == launch.threads[:len(across)] and launch.thread_count % WARP == 0
    if whole_warps and combiner.results[0].type.width <= 32:
        if count <= WARP and count & (count - 1) == 0:
            total = butterfly(mine, count, combiner)
            return lambda: total
        if count % WARP == 0:
            total = by_warps(launch, across, mine, combiner, name)
            return lambda: total
    return tree(launch, across, mine, combiner, name)


def by_warps(launch: Launch, across: list[LaunchAxis], mine: ir.Value, combiner: ir.Operation, name: str) -> ir.Value:
    """Combines the lanes of each warp, then the warps of each group."""
    warps = prod(a.extent for a in across) // WARP
    parts, group, place = scratch(launch, across, warps, mine.type, name)
    lane, warp = arith.RemUIOp(place, index(WARP)).result, arith.DivUIOp(place, index(WARP)).result
    one = butterfly(mine, WARP, combiner)
    with when(arith.CmpIOp(arith.CmpIPredicate.eq, lane, index(0)).result):
        memref.StoreOp(one, parts, [group, warp])
        scf.YieldOp([])
    if warps == 1:
        return one
    lanes = 1 << (warps - 1).bit_length()  # all groups of so many lanes compute the same result
    source = lane if lanes == WARP else arith.RemUIOp(lane, index(lanes)).result
    if lanes == warps:
        return butterfly(memref.LoadOp(parts, [group, source]).result, lanes, combiner)
    other = memref.LoadOp(parts, [group, arith.MinUIOp(source, index(warps - 1)).result]).result
    inside = arith.CmpIOp(arith.CmpIPredicate.ult, source, index(warps)).result
    return butterfly(arith.SelectOp(inside, other, identity(combiner)).result, lanes, combiner)


def butterfly(value: ir.Value, lanes: int, combiner: ir.Operation) -> ir.Value:
    """Combines groups of ``lanes`` lanes (a power of 2); each lane has the result."""
    reach = lanes // 2
    while reach:
        value = combine(combiner, value, shuffle(value, reach))
        reach //= 2
    return value


def shuffle(value: ir.Value, offset: int) -> ir.Value:
    """The value of the lane whose number differs by the bits ``offset``. A shuffle moves 32 bits."""
    type_, i32 = value.type, ir.IntegerType.get_signless(32)
    narrow = ir.IntegerType.get_signless(type_.width)
    if type_.width < 32:
        value = value if type_ == narrow else arith.BitcastOp(narrow, value).result
        value = arith.ExtUIOp(i32, value).result
    numbers = [arith.ConstantOp(i32, n).result for n in (offset, WARP)]
    found = ir.Operation.create("gpu.shuffle", [value.type, ir.IntegerType.get_signless(1)], [value, *numbers],
                                {"mode": ir.Attribute.parse("#gpu<shuffle_mode xor>")}).results[0]
    if type_.width < 32:
        found = arith.TruncIOp(narrow, found).result
        found = found if type_ == narrow else arith.BitcastOp(type_, found).result
    return found


def tree(launch: Launch, across: list[LaunchAxis], mine: ir.Value, combiner: ir.Operation, name: str) -> Callable[[], ir.Value]:
    """All-reduce in shared memory, for any number of threads."""
    count = prod(a.extent for a in across)
    beside = across[:1] != launch.threads[:1]    # neighbouring threads are of different groups: their elements are neighbours, too
    parts, group, place = scratch(launch, across, count, mine.type, name, turned=beside)

    def at(number: ir.Value) -> list[ir.Value]:
        return [number, group] if beside else [group, number]

    memref.StoreOp(mine, parts, at(place))
    reach = 1 << (count - 1).bit_length() >> 1
    while reach:
        with when(arith.CmpIOp(arith.CmpIPredicate.slt, place, index(min(reach, count - reach))).result):
            far = memref.LoadOp(parts, at(arith.AddIOp(place, index(reach)).result)).result
            near = memref.LoadOp(parts, at(place)).result
            memref.StoreOp(combine(combiner, near, far), parts, at(place))
            scf.YieldOp([])
        count, reach = reach, reach // 2
    return lambda: memref.LoadOp(parts, at(index(0))).result


def when(test: ir.Value) -> ir.InsertionPoint:
    """The insertion point in a new condition."""
    return ir.InsertionPoint(scf.IfOp(test).then_block)


def scratch(launch: Launch, across: list[LaunchAxis], count: int, type_: ir.Type, name: str,
            turned: bool = False) -> tuple[ir.Value, ir.Value, ir.Value]:
    """A shared buffer with ``count`` elements for each group, the number of a thread's group, and its number in the group. ``turned``:
    the groups are the last axis."""
    others = [a for a in launch.threads if a not in across]
    shape = [prod(a.extent for a in others), count]
    parts = make_buffer(ir.MemRefType.get(shape[::-1] if turned else shape, type_), f"{name}_parts", "shared")
    return parts, linear(others), linear(across)


def linear(axes: list[LaunchAxis]) -> ir.Value:
    """The number of a thread along some axes, the first varying fastest."""
    total, stride = index(0), 1
    for axis in axes:
        step = axis.id if stride == 1 else arith.MulIOp(axis.id, index(stride)).result
        total = step if stride == 1 else arith.AddIOp(total, step).result
        stride *= axis.extent
    return total
