"""The primitive merge: loops that follow each other become one, with the bodies of all."""
from collections.abc import Sequence
from itertools import combinations, pairwise
from math import inf

from legato.analysis.accesses import buffer_of, indices_of
from legato.analysis.indices.linear import Linear
from legato.core.ir_helpers import ancestors, body, everything, move_before, terminator
from legato.core.mlir import ir
from legato.dialects.tir.loops import SERIAL, ForOp, constant_of
from legato.dialects.tir.walk import FIRST_INDEX, buffer_name, loops
from legato.schedule.note_primitives import notes
from legato.schedule.order import place_of
from legato.schedule.state import STRUCTURE, Kernel, ScheduleError, arithmetic, from_zero, holder, no_view, statements

MOVED = ("memref.dim", "tir.alloc_buffer")  # ops between nests that may stand before both


def merge(kernel: Kernel, given: list[ForOp]) -> list[ForOp]:
    """Makes one loop of loops of different nests, and of those around each, up to where the nests stand beside each other. Returns it: the
    first of them, with the bodies of the others at its end."""
    nests = nests_of(given)
    for one, other in combinations(nests, 2):
        check_order(one, other)
    first = nests[0]
    for nest in nests[1:]:
        place = nest[0].operation.block
        following = [o.operation for o in place.operations]
        between = following[following.index(first[0].operation) + 1:following.index(nest[0].operation)]
        move_before(between, first[0].operation)
        for mine, loop in zip(first, nest):
            loop.variable.replace_all_uses_with(mine.variable)
        for mine, loop in zip(first[:-1], nest[:-1]):
            inner = next(op for op in statements(mine.block))
            move_before([op for op in body(loop.block) if arithmetic(op)], inner)
        move_before(body(nest[-1].block), terminator(first[-1].block))
        kernel.erase(nest[0].operation)
    for loop in first:
        loop.operation.attributes["name"] = ir.StringAttr.get(f"{loop.name}_m", loop.operation.context)
    return [first[-1]]


def nests_of(given: Sequence[ForOp]) -> list[list[ForOp]]:
    """Each loop with those around it up to where the nests stand beside each other, outermost first; nests in the kernel's order.
    ScheduleError where they are no serial loops of the same extents that stand alone, or something is between them."""
    if len({loop.operation for loop in given}) < 2:
        raise ScheduleError("merge: takes several loops")
    chains = [[loop.operation, *(a for a in ancestors(loop.operation) if a.name != "func.func")] for loop in given]
    homes = [[op.block for op in chain] for chain in chains]
    home = next((block for block in homes[0] if all(block in others for others in homes[1:])), None)
    nests = [[op.opview for op in reversed(chain[:blocks.index(home) + 1])] if home is not None else []
             for chain, blocks in zip(chains, homes)]
    names, ops = ", ".join(loop.name for loop in given), [one.operation for nest in nests for one in nest]
    if home is None or len({nest[0].operation for nest in nests}) < len(nests) or any(op.name != "tir.for" for op in ops):
        raise ScheduleError(f"merge: the loops {names} are not in nests of loops beside each other")
    if len({len(nest) for nest in nests}) > 1:
        raise ScheduleError(f"merge: the loops {names} have different numbers of loops around them in their nests")
    for nest in nests:
        for loop, inner in pairwise(nest):
            if statements(loop.block) != [inner.operation]:
                raise ScheduleError(f"merge: the loop {inner.name} does not stand directly in {loop.name}, alone")
        for loop in nest:
            from_zero(loop, "merge")
            if loop.kind != SERIAL or notes(loop.operation):
                raise ScheduleError(f"merge: the loop {loop.name} is {loop.thread or loop.kind}, or annotated: merge comes before")
    for level in zip(*nests):
        if any(constant_of(loop.bounds[1]) is None or loop.extent != level[0].extent for loop in level) and len(
                {loop.bounds[1] for loop in level}) > 1:
            raise ScheduleError(f"merge: the loops {', '.join(loop.name for loop in level)} have different, or unknown, extents")
    order = {o.operation: n for n, o in enumerate(home.operations)}
    nests.sort(key=lambda nest: order[nest[0].operation])
    tops = [nest[0].operation for nest in nests]
    for op in list(order)[order[tops[0]]:order[tops[-1]]]:
        if op not in tops and not arithmetic(op) and op.name not in MOVED:
            what = f"the loop {op.opview.name}" if op.name == "tir.for" else op.name
            raise ScheduleError(f"merge: {what} stands between the loops {names}")
    return nests


def check_order(one: Sequence[ForOp], other: Sequence[ForOp]) -> None:
    """ScheduleError where a step of the second nest may use what a later step of the first one does, which would come after it."""
    found = [[op for op in everything(nest[0].operation) if op.name not in STRUCTURE and not arithmetic(op)] for nest in (one, other)]
    for op in (op for some in found for op in some):
        if op.name not in FIRST_INDEX and any(isinstance(operand.type, ir.MemRefType) for operand in op.operands):
            raise ScheduleError(f"merge: {op.name} uses '{buffer_name(op.operands[0])}', in which its elements are not seen")
    for op in (op for some in found for op in some if op.name in FIRST_INDEX):
        no_view(buffer_of(op), "merge")
    early, late = ([op for op in some if op.name in FIRST_INDEX] for some in found)
    for a in early:
        for b in late:
            if buffer_of(a) == buffer_of(b) and "memref.store" in (a.name, b.name) and not comes_first(a, b, one, other):
                raise ScheduleError(f"merge: {holder(b)} may use of '{buffer_name(buffer_of(a))}' what {holder(a)} uses in a later step of "
                                    f"{', '.join(loop.name for loop in one)}")


def comes_first(a: ir.Operation, b: ir.Operation, one: Sequence[ForOp], other: Sequence[ForOp]) -> bool:
    """Whether an access in the first nest is of the same step as one of the same element in the second, or of an earlier step."""
    same = {loop.variable: mine.variable for mine, loop in zip(one, other)}
    pairs = [(place_of(a, d), place_of(b, d)) for d in range(len(indices_of(a)))]
    inner = {loop.variable: loop.extent for nest in (one, other) for loop in loops(nest[0].operation) if loop.extent is not None
             and constant_of(loop.bounds[0]) == 0}
    for level, (mine, loop) in enumerate(zip(one, other)):
        if mine.extent == 1:
            continue
        outer = dict(list(same.items())[:level])
        ahead = min(distance(x, y.renamed(outer), mine, loop, inner) for x, y in pairs) if pairs else inf
        if ahead < 0:
            return True
        if ahead >= 1:
            return False
    return True


def distance(x: Linear, y: Linear, mine: ForOp, loop: ForOp, extents: dict[ir.Value, int]) -> float:
    """By how much at most the variable of the first loop exceeds that of the second one where two indices are equal."""
    factor = x.coefficient(mine.variable)
    if factor == 0 or y.coefficient(loop.variable) != factor:
        return inf
    rest = (y - x).without([mine.variable, loop.variable])    # factor * (the first - the second) = rest
    found = rest.range(extents)
    return inf if found is None else max(found[0] / factor, found[1] / factor)
