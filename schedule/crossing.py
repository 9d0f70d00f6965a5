"""Accesses of one block under a loop that meet what another block writes in other steps of the loop: these keep their order."""
from collections.abc import Collection
from math import gcd
from typing import Any

from legato.analysis.accesses import buffer_of, indices_of
from legato.analysis.coverage.boxes import at_most
from legato.analysis.coverage.stores import StoredBox, covers_load
from legato.analysis.indices.forms import PLAIN
from legato.analysis.indices.linear import Linear
from legato.analysis.kernel_sizes import UnknownSizeError, sizes_of
from legato.core.ir_helpers import ancestors, find
from legato.core.mlir import ir
from legato.dialects.tir.loops import ForOp, loop_of
from legato.dialects.tir.walk import buffer_name
from legato.schedule.order import loops_around_both, place_of
from legato.schedule.state import ScheduleError, is_shared


def check_crossed(loops: list[ForOp], order: list[ForOp]) -> None:
    """ScheduleError where a block meets what another writes in other steps of several loops, and these come in another order."""
    crossed = {loop.operation: found for loop in loops if (found := crossing(loop)) is not None}
    before, after = ([loop.operation for loop in some if loop.operation in crossed] for some in (loops, order))
    if before != after:
        raise ScheduleError(f"reorder: {met_by(*crossed[before[0]])} in other steps of "
                            f"{' and '.join(one.opview.name for one in before)}: their order matters")


def met_by(access: ir.Operation, buffer: ir.Value) -> str:
    """What ``crossing`` has found, in words."""
    block, verb = block_of(access), "read" if access.name == "memref.load" else "write"
    who = "a statement" if block is None else f"block '{block.opview.name}'"
    return f"{who} may {verb} of '{buffer_name(buffer)}' what another block writes"


def crossing(loop: ForOp) -> tuple[ir.Operation, ir.Value] | None:
    """An access in a block, and its buffer, that may meet what another block under a loop writes in another step of the loop; None where
    there is none: their places move with the loop together, or lie apart, or the same step has written before all that is read."""
    stores: dict[ir.Value, list[ir.Operation]] = {}
    for store in find(loop.operation, "memref.store"):
        stores.setdefault(buffer_of(store), []).append(store)
    for op in find(loop.operation, "memref.load", "memref.store"):
        buffer = buffer_of(op)
        others = [store for store in stores.get(buffer, []) if block_of(store) != block_of(op)]
        if is_shared(buffer) or not any(may_meet(op, store, loop) for store in others):
            continue    # the compiler puts barriers around what threads share
        own = all(loop.operation in ancestors(use.owner.operation) for use in buffer.uses)    # each step has memory of its own
        if not (reads_own_step(op, stores[buffer]) if op.name == "memref.load" else own or all(writes_as(op, other) for other in others)):
            return op, buffer
    return None


def block_of(op: ir.Operation) -> ir.Operation | None:
    """The innermost block around an op."""
    return next((a for a in ancestors(op) if a.name == "tir.block"), None)


def may_meet(op: ir.Operation, store: ir.Operation, loop: ForOp) -> bool:
    """Whether an access and a store of another block may be of one element in different steps of a loop."""
    pairs = [(place_of(op, axis), place_of(store, axis)) for axis in range(len(indices_of(op)))]
    if any(stays_with(place, written, loop) for place, written in pairs):
        return False
    return not any(apart(place, written) for place, written in pairs)


def stays_with(one: Linear, other: Linear, loop: ForOp) -> bool:
    """Whether two forms can be equal in the same step of a loop only: what loops inside add is less than what a step does."""
    step = one.coefficient(loop.variable)
    inner = [[term for term in form.terms if is_inside(term, loop)] for form in (one, other)]
    outer = [form.without([loop.variable, *terms]).terms for form, terms in zip((one, other), inner)]
    if step == 0 or other.coefficient(loop.variable) != step or outer[0] != outer[1]:
        return False
    if not all(isinstance(term, ir.Value) and loop_of(term) is not None for term in outer[0]):
        return False
    reach = [PLAIN.bounds(form.only(terms)) for form, terms in zip((one, other), inner)]
    if reach[0] is None or reach[1] is None:
        return False
    distance = one.constant - other.constant
    return at_most(reach[0][1] - reach[1][0] + distance + 1, abs(step)) and at_most(reach[1][1] - reach[0][0] - distance + 1, abs(step))


def is_inside(variable: Any, loop: ForOp) -> bool:
    """Whether a term is the variable of a loop inside of another."""
    inner = loop_of(variable) if isinstance(variable, ir.Value) else None
    return inner is not None and loop.operation in ancestors(inner.operation)


def writes_as(store: ir.Operation, other: ir.Operation) -> bool:
    """Whether two stores write the same elements in each step of the loops around both, or one a part of the other's, as the init of a sum
    and its steps do: they meet in other steps where the stores of one of them do."""
    kernel = next(a.opview for a in ancestors(store) if a.name == "func.func")
    fixed = [loop.variable for loop in loops_around_both(store, other)]
    try:
        sizes = sizes_of(kernel)
        one, two = (StoredBox(op, sizes.shapes[buffer_of(op)], sizes, False, fixed) for op in (store, other))
    except UnknownSizeError:
        return False
    if one.box is None or two.box is None or one.parts != two.parts:
        return False
    return any(all(at_most(a.low, b.low) and at_most(b.high, a.high) for a, b in zip(x, y))
               for x, y in ((one.box, two.box), (two.box, one.box)))


def apart(one: Linear, other: Linear) -> bool:
    """Whether two forms have no value in common, whatever their variables are: in no multiple of their factors, or in no range."""
    distance = one.constant - other.constant
    if not isinstance(distance, int):
        return False
    factor = gcd(*one.terms.values(), *other.terms.values())
    if distance % factor if factor else distance:
        return True
    ranges = [PLAIN.bounds(form) for form in (one, other)]
    if ranges[0] is None or ranges[1] is None:
        return False
    return at_most(ranges[0][1] + 1, ranges[1][0]) or at_most(ranges[1][1] + 1, ranges[0][0])


def reads_own_step(load: ir.Operation, stores: Collection[ir.Operation]) -> bool:
    """Whether a store has written, before a load and in the same step of the loops around both, all that the load reads."""
    kernel = next(a.opview for a in ancestors(load) if a.name == "func.func")
    try:
        sizes = sizes_of(kernel)
        return any(covers_load(load, store, sizes.shapes[buffer_of(load)], sizes) for store in stores)
    except UnknownSizeError:
        return False
