"""The primitive loop_partition: a loop becomes consecutive loops over parts of its steps."""
from legato.analysis.indices.forms import Forms, roots
from legato.analysis.indices.linear import Linear
from legato.core.ir_helpers import body, copy, index
from legato.core.mlir import ir
from legato.dialects.tir.loops import REDUCE, SERIAL, BlockOp, ForOp, before_end, make_for
from legato.dialects.tir.walk import blocks
from legato.schedule.loop_primitives import plus
from legato.schedule.note_primitives import notes
from legato.schedule.reduction_primitives import drop_init
from legato.schedule.state import Kernel, ScheduleError, require_static


def loop_partition(kernel: Kernel, loop: ForOp, factors: list[int], drop_units: bool = False) -> list[ForOp]:
    """Replaces a loop by consecutive ones of so many steps, each from 0, with a copy of the body; one factor may be -1, which is computed,
    else what is left is one loop more. ``drop_units``: blocks do not depend on the variable of a loop of one step."""
    sizes = parts_of(loop, factors)
    starts = [sum(sizes[:n]) for n in range(len(sizes))]
    without = [[never_starts(block, loop, start, size) for block in blocks(loop.operation)] for start, size in zip(starts, sizes)]
    made = []
    with ir.InsertionPoint(loop.operation), loop.operation.location:
        for n, (start, size) in enumerate(zip(starts, sizes)):
            part = make_for(index(0), index(size), SERIAL, f"{loop.name}{n}")
            with before_end(part.block):
                value = index(start) if drop_units and size == 1 else plus(part.variable, index(start)) if start else part.variable
                copy(body(loop.block), {loop.variable: value})
            made.append(part)
    for n, (part, dropped) in enumerate(zip(made, without)):
        for block, drop in zip(blocks(part.operation), dropped, strict=True):
            name = kernel.unique(f"{block.name}_{loop.name}{n}")
            block.operation.attributes["name"] = ir.StringAttr.get(name, block.operation.context)
            if drop:
                drop_init(kernel, block)
    kernel.erase(loop.operation)
    return made


def parts_of(loop: ForOp, factors: list[int]) -> list[int]:
    """The number of steps of each part."""
    extent = require_static(loop, "loop_partition")
    if loop.kind != SERIAL or notes(loop.operation):
        raise ScheduleError(f"loop_partition: the loop {loop.name} is {loop.thread or loop.kind}"
                            f"{' and annotated' if notes(loop.operation) else ''}: loop_partition comes before other steps on it")
    if not factors or any(f < 1 and f != -1 for f in factors) or factors.count(-1) > 1:
        raise ScheduleError(f"loop_partition: the factors are positive, one of them may be None; not {factors}")
    known = sum(f for f in factors if f != -1)
    if known >= extent:
        parts = " + ".join(str(f) for f in factors if f != -1)
        raise ScheduleError(f"loop_partition: parts of {parts} steps leave none of the {extent} of the loop {loop.name}")
    return [extent - known if f == -1 else f for f in (factors if -1 in factors else [*factors, -1])]


def never_starts(block: BlockOp, loop: ForOp, start: int, size: int) -> bool:
    """Whether no step of a part of a loop has the init of a block. ScheduleError where that is not known."""
    over = [(axis, value) for axis, kind, value in zip(block.axes, block.kinds, block.values) if kind == REDUCE
            and loop.variable in roots(value)]
    if block.init_block is None or not over or not start:
        return False
    reader = Forms({loop.variable: size}, {loop.variable: Linear({loop.variable: 1}, start)}, quotients=False)
    bounds = [reader.bounds(reader.form(value)) for _, value in over]
    if not any(found is not None and isinstance(found[0], int) and found[0] > 0 for found in bounds):
        raise ScheduleError(f"loop_partition: whether {over[0][0]} begins in the steps of {loop.name} from {start} on is not known, and "
                            f"block '{block.name}' has an init there: decompose_reduction makes it a block of its own")
    return True
