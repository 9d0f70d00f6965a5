"""Loops whose steps may happen at once although they write the same place, or one reads what another writes."""

from legato.analysis.linear import Linear, in_loops
from legato.core.ir_helpers import ancestors, find
from legato.core.mlir import ir
from legato.dialects.tir.loops import PARALLEL, REDUCE, VECTORIZED, AllocBufferOp, ForOp, constant_of, loop_of
from legato.dialects.tir.walk import FIRST_INDEX, blocks, buffer_name


def race(loop: ForOp) -> str | None:
    """What is wrong with the loop's kind, where it can be seen for certain."""
    if loop.kind not in (PARALLEL, VECTORIZED) or loop.extent in (0, 1):
        return None
    for block in blocks(loop.operation):
        for axis, kind, value in zip(block.axes, block.kinds, block.values):
            if kind == REDUCE and loop.variable in roots(value):
                return (f"the loop {loop.name} is {loop.kind}, and the axis {axis} of block '{block.name}' is reduced over it: its steps "
                        "write the same place at once")
    return _same_place(loop)


def roots(value: ir.Value) -> set[ir.Value]:
    """The loop variables and arguments that a value is computed from."""
    seen, todo = {value}, [value]
    while todo:
        one = todo.pop()
        if not isinstance(one.owner, ir.Block):
            new = [operand for operand in one.owner.operation.operands if operand not in seen]
            seen.update(new)
            todo += new
    return {one for one in seen if isinstance(one.owner, ir.Block)}


def _same_place(loop: ForOp) -> str | None:
    """Two steps that write one place, or of which one reads what the other writes."""
    accesses = [op for op in find(loop.operation, *FIRST_INDEX) if _shared(_buffer(op), loop) and _unconditional(op, loop)]
    places = [(op, place) for op in accesses if (place := _place(op, loop)) is not None]
    for store, here in places:
        if store.name != "memref.store":
            continue
        if not any(form.coefficient(loop.variable) for form in here):
            return f"the loop {loop.name} is {loop.kind}, and all its steps write the same place of '{buffer_name(_buffer(store))}'"
        for other, there in places:
            if _buffer(other) == _buffer(store) and (steps := _distance(here, there, loop)):
                does = "reads" if other.name == "memref.load" else "writes"
                which = f"{abs(steps)} step{'s' if abs(steps) > 1 else ''} {'later' if steps > 0 else 'earlier'}"
                return (f"the loop {loop.name} is {loop.kind}, and what a step writes in '{buffer_name(_buffer(store))}', the one {which} "
                        f"{does}: they may happen at once")
    return None


def _buffer(access: ir.Operation) -> ir.Value:
    return access.operands[FIRST_INDEX[access.name] - 1]


def _shared(buffer: ir.Value, loop: ForOp) -> bool:
    """Whether all steps of the loop have the same buffer. One of the kernel's own that is used inside only becomes one for each step."""
    owner = buffer.owner
    home = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
    if home == loop.operation or loop.operation in ancestors(home):
        return False
    if isinstance(owner, ir.Block) or not isinstance(owner.opview, AllocBufferOp):
        return True
    return any(loop.operation not in ancestors(use.owner.operation) for use in buffer.uses)


def _unconditional(access: ir.Operation, loop: ForOp) -> bool:
    """Whether each step of the loop does the access, for the same steps of the loops inside."""
    for op in ancestors(access):
        if op == loop.operation:
            return True
        if op.name == "tir.block":
            continue
        if op.name != "tir.for" or not op.opview.extent or constant_of(op.operands[0]) is None:
            return False
    return False


def _place(access: ir.Operation, loop: ForOp) -> list[Linear] | None:
    """The indices as linear forms of loop variables, and of what does not change in the loop; None where they are not."""
    forms = [in_loops(v) for v in list(access.operands)[FIRST_INDEX[access.name]:]]
    for form in forms:
        for value in form.terms:
            owner = value.owner
            home = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
            if loop_of(value) is None and (home == loop.operation or loop.operation in ancestors(home)):
                return None
    return forms


def _distance(here: list[Linear], there: list[Linear], loop: ForOp) -> int | None:
    """After how many steps of the loop ``there`` is the place that ``here`` was, the loops inside being at one step; None if never."""
    steps: set[int] = set()
    for one, other in zip(here, there):
        gap, factor = one - other, one.coefficient(loop.variable)
        if not gap.is_constant or (gap.constant % factor if factor else gap.constant):
            return None
        if factor:
            steps.add(gap.constant // factor)
    found = next(iter(steps)) if len(steps) == 1 else None
    return None if found is None or (loop.extent is not None and abs(found) >= loop.extent) else found
