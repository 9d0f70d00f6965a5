"""The primitive decompose_padding: a block that pads becomes one that fills, and one that copies what is inside."""
from dataclasses import dataclass
from functools import reduce

from legato.analysis.accesses import buffer_of, indices_of
from legato.analysis.indices.build import build
from legato.analysis.indices.conditions import constraints
from legato.analysis.indices.forms import Forms, linear, roots
from legato.analysis.indices.linear import Linear
from legato.core.ir_helpers import ancestors, body, defining_op, find, index, move_before, present
from legato.core.mlir import arith, ir, memref
from legato.dialects.tir.loops import DYNAMIC, PARALLEL, SERIAL, SPATIAL, UNROLLED, BlockOp, ForOp, before_end, loop_of, make_block
from legato.dialects.tir.walk import FIRST_INDEX, blocks, buffer_name, loops_around
from legato.schedule.block_primitives import under
from legato.schedule.loop_primitives import nest
from legato.schedule.reduction_primitives import conditional, constant_copy, is_constant, rebuild
from legato.schedule.state import (
    Kernel,
    ScheduleError,
    accesses,
    drop_unused,
    from_zero,
    loose,
    only_accessed,
    only_writer,
    plain_axes,
    predicate_of,
    users,
)


@dataclass(frozen=True)
class PaddedBlock:
    """A block that stores ``choice``: an op whose result is ``fill``, a constant, outside of the values of its axes in ``inside`` (from and
    up to, for each axis), and something else in them."""

    store: ir.Operation
    choice: ir.Operation
    fill: ir.Value
    inside: list[tuple[int, int | None]]


def decompose_padding(kernel: Kernel, block: BlockOp, loop: ForOp) -> BlockOp:
    """Makes a block, in front of a loop, that fills what the block writes in the loop with its constant; the block has the steps that are
    inside only. Returns the new block."""
    padded = padding_of(kernel, block, loop)
    around = [f for f in loops_around(block.operation) if f.operation == loop.operation or under(f.operation, loop)]
    filled = fill_block(kernel, block, around, padded)
    with ir.InsertionPoint(padded.choice), padded.choice.location:
        value = taken(padded)
    padded.choice.results[0].replace_all_uses_with(value)
    kernel.erase(padded.choice)
    for n, (low, high) in enumerate(padded.inside):
        if (low, high) != (0, block.extents[n]):
            restrict(block, n, low, present(high), around)
    extents = [e if high is None else high - low for e, (low, high) in zip(block.extents, padded.inside)]
    found = ir.DenseI64ArrayAttr.get([DYNAMIC if e is None else e for e in extents], block.operation.context)
    block.operation.attributes["extents"] = found
    moved = {axis for axis, (low, _) in zip(block.block.arguments, padded.inside) if low}
    for op in find(block.operation, *FIRST_INDEX):
        for number, place in enumerate(indices_of(op)):
            if not isinstance(place.owner, ir.Block) and roots(place) & moved:
                with ir.InsertionPoint(op), op.location:
                    op.operands[FIRST_INDEX[op.name] + number] = build(linear(place))
    drop_unused(kernel, block.operation)
    return filled


def padding_of(kernel: Kernel, block: BlockOp, loop: ForOp) -> PaddedBlock:
    """What a block pads by. ScheduleError where it does not pad by a constant around a box, or cannot be divided at the loop."""
    what = "decompose_padding"
    if not under(block.operation, loop):
        raise ScheduleError(f"{what}: block '{block.name}' is not under the loop {loop.name}")
    stores = accesses(block, "memref.store")
    if len(stores) != 1 or any(kind != SPATIAL for kind in block.kinds) or stores[0].parent != block.operation:
        raise ScheduleError(f"{what}: block '{block.name}' reduces, or does not write one element in each step")
    store, buffer = stores[0], buffer_of(stores[0])
    only_accessed(kernel, buffer, what)
    only_writer(kernel, buffer, block, what)
    axes = plain_axes(store, block, what)
    if any(n not in axes and extent != 1 for n, extent in enumerate(block.extents)):
        raise ScheduleError(f"{what}: block '{block.name}' has an axis that its buffer does not")
    for load in users(buffer, "memref.load"):
        if under(load, loop):
            raise ScheduleError(f"{what}: '{buffer_name(buffer)}' is also read under the loop {loop.name}: a loop around block "
                                f"'{block.name}' alone is needed")
    variables = {f.variable for f in loops_around(block.operation) if f.operation == loop.operation or under(f.operation, loop)}
    for f in loops_around(block.operation):
        if under(f.operation, loop) and any(roots(bound) & variables for bound in f.bounds):
            raise ScheduleError(f"{what}: the bounds of {f.name} depend on the loops around it")
    choice = defining_op(store.operands[0])
    if choice is None or choice.name not in ("scf.if", "arith.select") or choice.block != store.block or len(choice.results) > 1:
        raise ScheduleError(f"{what}: block '{block.name}' does not choose between a constant and something else, by T.if_then_else")
    known = Forms({axis: extent for axis, extent in zip(block.block.arguments, block.extents) if extent is not None})
    for value, holds in zip(reversed(branches(choice)), (True, False)):
        found = constraints(choice.operands[0], known, holds)
        if is_constant(value) and found is not None:
            return PaddedBlock(store, choice, value, box(block, found))
    raise ScheduleError(f"{what}: block '{block.name}' does not write a constant outside of what comparisons of its axes say")


def branches(choice: ir.Operation) -> list[ir.Value]:
    """The values of an ``scf.if`` or ``arith.select`` where its condition holds, and where it does not."""
    if choice.name == "arith.select":
        return list(choice.operands)[1:]
    return [region.blocks[0].operations[len(region.blocks[0].operations) - 1].operation.operands[0] for region in choice.regions]


def taken(padded: PaddedBlock) -> ir.Value:
    """The value of the choice inside, whose computation comes to stand in front of it."""
    values = branches(padded.choice)
    number = 0 if values[1] == padded.fill else 1
    if padded.choice.name == "scf.if":
        move_before(body(padded.choice.regions[number].blocks[0]), padded.choice)
    return values[number]


def box(block: BlockOp, found: list[Linear]) -> list[tuple[int, int | None]]:
    """The values of each axis, from and up to, for which forms are all at least 0. ScheduleError where these are no box."""
    arguments = list(block.block.arguments)
    inside: list[tuple[int, int | None]] = [(0, extent) for extent in block.extents]
    for form in found:
        axis = next(iter(form.terms), None)
        n = arguments.index(axis) if axis in arguments else None
        if n is None or len(form.terms) != 1 or block.extents[n] is None or not isinstance(form.constant, int):
            raise ScheduleError(f"decompose_padding: a condition of block '{block.name}' does not compare one axis of known extent with a "
                                "number")
        factor, (low, high) = form.terms[axis], inside[n]
        first, last = -(form.constant // abs(factor)), form.constant // abs(factor)
        inside[n] = (max(low, first), high) if factor > 0 else (low, min(present(high), last + 1))
    if any(high is not None and high <= low for low, high in inside):
        raise ScheduleError(f"decompose_padding: nothing of block '{block.name}' is inside")
    return inside


def fill_block(kernel: Kernel, block: BlockOp, around: list[ForOp], padded: PaddedBlock) -> BlockOp:
    """The block that writes the constant, under copies of some loops around the block, in front of them."""
    tests = [a.operands[0] for a in reversed(ancestors(block.operation)) if a.name == "scf.if" and under(a, around[0])]
    with ir.InsertionPoint(around[0].operation), block.operation.location:
        made = nest([((rebuild(f.bounds[0], {}), rebuild(f.bounds[1], {})), f.kind, f.name, f.thread) for f in around])
        mapping = {f.variable: m.variable for f, m in zip(around, made)}
        place = before_end(made[-1].block)
        for test in tests:
            with place:
                place = before_end(conditional(rebuild(test, mapping)))
        with place:
            new = make_block(kernel.unique(f"{block.name}_pad_const"), block.axes, block.kinds, block.extents,
                             [rebuild(value, mapping) for value in block.values])
            with before_end(new.block):
                places = [new.block.arguments[n] for n in plain_axes(padded.store, block, "decompose_padding")]
                memref.StoreOp(constant_copy(padded.fill), buffer_of(padded.store), places)
    return new


def restrict(block: BlockOp, axis: int, low: int, high: int, around: list[ForOp]) -> None:
    """Lets an axis count from 0 what was from ``low`` up to ``high``: by a shorter loop, if it is one of ``around`` and nothing else is in
    it, else by a predicate."""
    value, argument = block.values[axis], block.block.arguments[axis]
    loop = loop_of(value)
    if low:
        uses = [(use.owner.operation, use.operand_number) for use in argument.uses]
        first = block.block.operations[0].operation
        with ir.InsertionPoint(first), first.location:
            place = build(Linear({argument: 1}, low))
        for op, number in uses:
            op.operands[number] = place
    if loop is not None and any(loop.operation == f.operation for f in around) and is_own(block, axis, loop):
        with ir.InsertionPoint(loop.operation), loop.operation.location:
            loop.operation.operands[1] = index(high - low)
        return
    predicate, extent = predicate_of(block), block.extents[axis]
    with ir.InsertionPoint(block.operation if predicate is None else predicate), block.operation.location:
        here = value if predicate is None else rebuild(value, {})
        tests = [] if predicate is None else [predicate.operands[0]]
        tests += [arith.CmpIOp(arith.CmpIPredicate.sge, here, index(low)).result] if low else []
        tests += [arith.CmpIOp(arith.CmpIPredicate.slt, here, index(high)).result] if high != extent else []
        together = reduce(lambda a, b: arith.AndIOp(a, b).result, tests)
        block.operation.operands[axis] = build(Linear({here: 1}, -low)) if low else here
        if predicate is None:
            block.operation.move_before(conditional(together).operations[0].operation)
        else:
            predicate.operands[0] = together


def is_own(block: BlockOp, axis: int, loop: ForOp) -> bool:
    """Whether a loop is an axis of a block, whole, and does nothing else."""
    try:
        from_zero(loop, "")
    except ScheduleError:
        return False
    alone = len(blocks(loop.operation)) == 1 and not loose(loop.operation) and len(list(loop.variable.uses)) == 1
    return alone and loop.kind in (SERIAL, PARALLEL, UNROLLED) and loop.extent == block.extents[axis]
