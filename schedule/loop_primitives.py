"""Primitives on loops: split, fuse, reorder."""
from itertools import pairwise
from math import prod

from legato.analysis.indices.forms import roots
from legato.core.ir_helpers import ancestors, body, find, index, is_made_in, move_before, replace_uses, terminator
from legato.core.mlir import arith, ir, scf
from legato.dialects.tir.loops import PARALLEL, SERIAL, THREAD, VECTORIZED, ForOp, before_end, make_for
from legato.dialects.tir.walk import blocks
from legato.schedule.crossing import check_crossed
from legato.schedule.kind_primitives import check_independent
from legato.schedule.order import check_carried, check_starts
from legato.schedule.state import (
    Kernel,
    ScheduleError,
    arithmetic,
    from_zero,
    loose,
    statements,
    within,
)

LONGEST_NAME = 100  # limit for names of fused loops, which repeated splits and fusions would double


def split(kernel: Kernel, loop: ForOp, factors: list[int]) -> list[ForOp]:
    """Replaces a loop by nested ones; one of the factors may be -1, which is computed. Where they do not divide, the last iteration
    is partial. Of a loop whose extent is not known, the -1 is the extent of the loop that has it, and the last iteration may be."""
    from_zero(loop, "split")
    extent = loop.extent
    if not factors or any(f < 1 and f != -1 for f in factors) or factors.count(-1) > 1:
        raise ScheduleError(f"split: the factors are positive, one of them may be None; not {factors}")
    known = prod(f for f in factors if f != -1)
    if extent is None and -1 not in factors:
        raise ScheduleError(f"split: the extent of the loop {loop.name} is not known, and the factors {factors} make {known} steps: one of "
                            "them has to be None")
    if extent is not None:
        factors = [f if f != -1 else -(-extent // known) for f in factors]
        if prod(factors) < extent:
            raise ScheduleError(f"split: the factors {factors} make {prod(factors)} steps, and the loop {loop.name} has {extent}")
    if (extent is None or prod(factors) > extent) and loose(loop.operation):
        raise ScheduleError(f"split: a statement under {loop.name} stands in no block: it would be done beyond the loop's end in the last, "
                            "partial step")
    with ir.InsertionPoint(outermost(loop, [loop.bounds[1]])), loop.operation.location:
        bounds = [f if f != -1 else (index(0), steps_of(loop.bounds[1], known)) for f in factors]
    with ir.InsertionPoint(loop), loop.operation.location:
        kind = SERIAL if extent == 1 and bounds[0] != 1 and loop.kind in (PARALLEL, VECTORIZED) else loop.kind  # one step depends on none
        made = nest([(b, SERIAL if n else kind, f"{loop.name}_{n}", None if n else loop.thread) for n, b in enumerate(bounds)])
        into = made[-1].block
        with before_end(into):
            value = made[0].variable
            for step, bound in zip(made[1:], bounds[1:]):
                value = plus(times(value, bound) if isinstance(bound, int) else arith.MulIOp(value, bound[1]).result, step.variable)
        take(loop, into, value)
        if extent is None or prod(factors) > extent:
            limit(into, value, extent if extent is not None else loop.bounds[1])
    kernel.erase(loop.operation)
    return made


def steps_of(extent: ir.Value, each: int) -> ir.Value:
    """How many steps of ``each`` iterations an extent takes, the last one partial."""
    return arith.DivUIOp(plus(extent, index(each - 1)), index(each)).result if each > 1 else extent


def outermost(loop: ForOp, values: list[ir.Value]) -> ir.Operation:
    """The outermost of a loop and those around it in front of which these values are known."""
    found = loop.operation
    for around in [a for a in ancestors(loop.operation) if a.name == "tir.for"]:
        if any(around == o or around in ancestors(o) for v in values
               for o in [v.owner.owner.operation if isinstance(v.owner, ir.Block) else v.owner.operation]):
            break
        found = around
    return found


def nest(loops: list[tuple[int | tuple[ir.Value, ir.Value], str, str, str | None]]) -> list[ForOp]:
    """Nested loops at the insertion point: (extent or bounds, kind, name, thread), outermost first."""
    made: list[ForOp] = []
    for bounds, kind, name, thread in loops:
        with before_end(made[-1].block) if made else ir.InsertionPoint.current:
            lower, upper = bounds if isinstance(bounds, tuple) else (index(0), index(bounds))
            made.append(make_for(lower, upper, kind, name, thread))
    return made


def take(loop: ForOp, into: ir.Block, value: ir.Value) -> None:
    """Moves a loop's body to the end of a block, its variable replaced by ``value``."""
    replace_uses(loop.block, [value])
    move_before(body(loop.block), terminator(into))


def limit(block: ir.Block, value: ir.Value, extent: int | ir.Value) -> None:
    """Puts the blocks in a block under the predicate ``value < extent``."""
    for op in [b.operation for b in blocks(block.owner.operation) if block.owner.operation in ancestors(b.operation)]:
        if any(a.name == "tir.block" for a in within(op, block.owner.operation)):
            continue  # the one around it has it already
        with ir.InsertionPoint(op), op.location:
            bound = index(extent) if isinstance(extent, int) else extent
            test = scf.IfOp(arith.CmpIOp(arith.CmpIPredicate.slt, value, bound).result)
            with ir.InsertionPoint(test.then_block):
                end = scf.YieldOp([])
        op.move_before(end.operation)


def times(value: ir.Value, factor: int) -> ir.Value:
    """value * factor."""
    return value if factor == 1 else arith.MulIOp(value, index(factor)).result


def plus(a: ir.Value, b: ir.Value) -> ir.Value:
    """a + b."""
    return arith.AddIOp(a, b).result


def fuse(kernel: Kernel, loops: list[ForOp]) -> list[ForOp]:
    """Replaces perfectly nested loops by one."""
    for loop in loops:
        from_zero(loop, "fuse")
    extents = [loop.extent for loop in loops]
    for outer, inner in pairwise(loops):
        if statements(outer.block) != [inner.operation]:
            raise ScheduleError(f"fuse: the loop {inner.name} does not stand directly in {outer.name}, alone")
    first, last = loops[0], loops[-1]
    kind = fused_kind(loops)
    inner = [loop.bounds[1] for loop, extent in zip(loops, extents) if extent is None and loop is not first]
    if any(not isinstance(bound.owner, ir.Block) and first.operation in ancestors(bound.owner.operation) for bound in inner):
        raise ScheduleError(f"fuse: the extent of a loop inside of {first.name} is computed in it")
    with ir.InsertionPoint(outermost(first, [loop.bounds[1] for loop in loops if loop.extent is None])), first.operation.location:
        total = product([extent if extent is not None else loop.bounds[1] for loop, extent in zip(loops, extents)])
    with ir.InsertionPoint(first), first.operation.location:
        name = "_".join([*(loop.name for loop in loops), "fused"])
        made = make_for(index(0), total, kind, name if len(name) <= LONGEST_NAME else "fused", first.thread)
        with before_end(made.block):
            rest, values = made.variable, []
            for loop, extent in reversed(list(zip(loops, extents))[1:]):
                size = index(extent) if extent is not None else loop.bounds[1]
                values.insert(0, arith.RemUIOp(rest, size).result)
                rest = arith.DivUIOp(rest, size).result
            values.insert(0, rest)
            values = [index(0) if extent == 1 else value for value, extent in zip(values, extents)]
    for loop, value in zip(loops, values):
        loop.variable.replace_all_uses_with(value)
    for loop in loops[:-1]:
        move_before([op for op in body(loop.block) if arithmetic(op)], terminator(made.block))
    move_before(body(last.block), terminator(made.block))
    kernel.erase(first.operation)
    return [made]


def product(extents: list[int | ir.Value]) -> ir.Value:
    """The product of extents."""
    known = prod(e for e in extents if isinstance(e, int))
    dynamic = [e for e in extents if not isinstance(e, int)]
    if not dynamic:
        return index(known)
    total = dynamic[0]
    for one in dynamic[1:]:
        total = arith.MulIOp(total, one).result
    return times(total, known)


def fused_kind(loops: list[ForOp]) -> str:
    """The kind of the first loop. ScheduleError where the others cannot have it."""
    kinds = [loop.kind for loop in loops]
    if len(loops) > 1 and (THREAD in kinds or (len(set(kinds)) > 1 and not {*kinds} <= {SERIAL, PARALLEL})):
        described = ", ".join(f"{loop.name} ({loop.thread or loop.kind})" for loop in loops)
        raise ScheduleError(f"fuse: the loops are of different kinds: {described}")
    if kinds[0] == PARALLEL:
        for loop in loops[1:]:
            check_independent(loop, "fuse")
    return kinds[0]


def reorder(kernel: Kernel, loops: list[ForOp]) -> list[ForOp]:
    """Puts loops of one nest in this order; loops between them that are not named stay where they are."""
    if len({loop.operation for loop in loops}) != len(loops):
        raise ScheduleError("reorder: a loop is named twice")
    depth = {loop.operation: len(ancestors(loop.operation)) for loop in loops}
    inner = max(loops, key=lambda loop: depth[loop.operation])
    outer = min(loops, key=lambda loop: depth[loop.operation])
    chain = [a.opview for a in reversed([inner.operation, *ancestors(inner.operation)]) if a.name == "tir.for"]
    around = [c.operation for c in chain]
    for loop in loops:
        if loop.operation not in around:
            raise ScheduleError(f"reorder: the loop {loop.name} is not one of the loops around {inner.name}")
    chain = chain[around.index(outer.operation):]
    variables = [c.variable for c in chain]
    for one, following in pairwise(chain):
        if statements(one.block) != [following.operation]:
            raise ScheduleError(f"reorder: {one.name} and {following.name} are no perfect nest: something else stands between them")
        if any(v in variables for b in following.bounds for v in roots(b)):
            raise ScheduleError(f"reorder: the bounds of {following.name} depend on the loops around it")
    check_order_free(inner)
    places = [n for n, c in enumerate(chain) if any(c.operation == loop.operation for loop in loops)]
    order = list(chain)
    for place, loop in zip(places, loops):
        order[place] = loop
    check_starts(chain, order)
    check_carried(chain, order)
    check_crossed(chain, order)
    inside = [op for old in chain[:-1] for op in body(old.block) if arithmetic(op)] + body(inner.block)
    with ir.InsertionPoint(outer), outer.operation.location:
        here = index(0).owner.operation
    for one in order:  # taken apart, then nested anew: the loops stay, with their handles
        one.operation.move_before(here)
    move_before(inside, terminator(order[-1].block))
    for around_it, one in reversed(list(pairwise(order))):
        one.operation.move_before(terminator(around_it.block))
    here.erase()
    bounds_first(order)
    return []


def bounds_first(order: list[ForOp]) -> None:
    """Moves bounds computed between loops before them."""
    for loop in order:
        for value in loop.bounds:
            compute_before(value, order[0].operation)


def compute_before(value: ir.Value, loop: ir.Operation) -> None:
    """Moves the computation of a bound that stands in a loop, and does not depend on it, before the loop."""
    if is_made_in(value, loop):
        for operand in value.owner.operation.operands:
            compute_before(operand, loop)
        value.owner.operation.move_before(loop)


def check_order_free(loop: ForOp) -> None:
    """ScheduleError for statements outside of blocks and opaque axes, which cannot be reordered."""
    for access in [*find(loop.operation, "memref.store"), *find(loop.operation, "func.call")]:
        if not any(a.name == "tir.block" for a in ancestors(access)):
            raise ScheduleError(f"reorder: a statement under {loop.name} stands in no block: whether its order matters is not known")
    for block in blocks(loop.operation):
        if "opaque" in block.kinds:
            raise ScheduleError(f"reorder: block '{block.name}' has an opaque axis, whose order matters")
