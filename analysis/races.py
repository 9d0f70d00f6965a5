"""Detection of parallel and vectorized loops whose iterations write one element, or read what another writes."""

from legato.analysis.accesses import ElementAccess, accesses_under, chain
from legato.analysis.indices.forms import in_loops, roots
from legato.analysis.indices.linear import Linear, variables, variables_of
from legato.core.ir_helpers import ancestors, is_made_in
from legato.core.mlir import ir
from legato.dialects.tir.loops import PARALLEL, REDUCE, VECTORIZED, AllocBufferOp, ForOp, constant_of, loop_of
from legato.dialects.tir.walk import blocks, buffer_name


def race(loop: ForOp) -> str | None:
    """The message for a loop whose kind is certain to be wrong, else None."""
    if loop.kind not in (PARALLEL, VECTORIZED) or loop.extent in (0, 1):
        return None
    for block in blocks(loop.operation):
        for axis, kind, value in zip(block.axes, block.kinds, block.values):
            if kind == REDUCE and loop.variable in roots(value):
                return (f"the loop {loop.name} is {loop.kind}, and the axis {axis} of block '{block.name}' is reduced over it: its steps "
                        "write the same place at once")
    return _same_place(loop)


def _same_place(loop: ForOp) -> str | None:
    """The message for two iterations of which one writes an element that the other reads or writes."""
    accesses = [a for a in accesses_under(loop.operation) if _shared(a.buffer, loop) and _unconditional(a.op, loop)]
    places = [(access, place) for access in accesses if (place := _place(access, loop)) is not None]
    for store, here in places:
        if not store.writes:
            continue
        if not any(form.coefficient(loop.variable) for form in here):
            return f"the loop {loop.name} is {loop.kind}, and all its steps write the same place of '{buffer_name(store.buffer)}'"
        for other, there in places:
            if other.buffer == store.buffer and (steps := _distance(here, there, loop)):
                does = "writes" if other.writes else "reads"
                which = f"{abs(steps)} step{'s' if abs(steps) > 1 else ''} {'later' if steps > 0 else 'earlier'}"
                return (f"the loop {loop.name} is {loop.kind}, and what a step writes in '{buffer_name(store.buffer)}', the one {which} "
                        f"{does}: they may happen at once")
    return None


def _shared(buffer: ir.Value, loop: ForOp) -> bool:
    """Whether all iterations use one buffer. A buffer allocated in the kernel and used only in the loop becomes one for each
    iteration."""
    owner = buffer.owner
    if is_made_in(buffer, loop.operation):
        return False
    if isinstance(owner, ir.Block) or not isinstance(owner.opview, AllocBufferOp):
        return True
    return any(loop.operation not in ancestors(use.owner.operation) for use in buffer.uses)


def _unconditional(access: ir.Operation, loop: ForOp) -> bool:
    """Whether each iteration does the access, in the same iterations of inner loops."""
    for op in chain(access, loop.operation):
        if op.name == "tir.block":
            continue
        if op.name != "tir.for" or not op.opview.extent or constant_of(op.operands[0]) is None:
            return False
    return True


def _place(access: ElementAccess, loop: ForOp) -> list[Linear] | None:
    """The indices as linear forms of loop variables and of values that are constant in the loop; None where they are not."""
    forms = [in_loops(v) for v in access.indices]
    for form in forms:
        if any(is_made_in(v, loop.operation) and loop_of(v) is None for v in variables(form)):
            return None
        if any(loop.variable in variables_of(term) for term in form.terms if term != loop.variable):
            return None
    return forms


def _distance(here: list[Linear], there: list[Linear], loop: ForOp) -> int | None:
    """The number of iterations after which ``there`` accesses the element of ``here``, with inner loops at one iteration; None for
    never."""
    steps: set[int] = set()
    for one, other in zip(here, there):
        gap, factor = one - other, one.coefficient(loop.variable)
        if not gap.is_constant or (gap.constant % factor if factor else gap.constant):
            return None
        if factor:
            steps.add(gap.constant // factor)
    found = next(iter(steps)) if len(steps) == 1 else None
    return None if found is None or (loop.extent is not None and abs(found) >= loop.extent) else found
