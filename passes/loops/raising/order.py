"""Checks that loops with several statements can be split into one loop nest for each statement."""
from collections.abc import Iterator
from dataclasses import dataclass

from legato.analysis.accesses import accesses_in, one_step_only
from legato.analysis.indices.linear import Linear
from legato.analysis.kernel_sizes import KernelSizes, Size
from legato.core.mlir import ir
from legato.dialects.tir.loops import ForOp
from legato.passes.loops.raising.axes import AxisForms
from legato.passes.loops.raising.kept import Kept
from legato.passes.loops.raising.statements import Statement


@dataclass
class StatementAccess:
    """An access of a statement, with its indices as forms of loop variables."""

    buffer: ir.Value
    forms: list[Linear]
    writes: bool
    indices: AxisForms


def check_order(statements: list[Statement], sizes: KernelSizes, names: dict[ir.Value, str]) -> None:
    """Kept where the statements of a loop depend on each other across iterations."""
    accesses = {s.order: accesses_of(s, sizes) for s in statements}
    for a in statements:
        for b in statements:
            if a.order >= b.order:
                continue
            for loop in shared(a, b):
                for x, y in touching(accesses[a.order], accesses[b.order]):
                    if not in_one_step(x, y, loop):
                        name = names.get(x.buffer, "a buffer")
                        raise Kept(f"the statements in the loop {loop.name} have to be done in turns: one step of it touches elements of "
                                   f"'{name}' that another step needs")


def shared(a: Statement, b: Statement) -> list[ForOp]:
    """The loops around both statements."""
    return [x for x, y in zip(a.loops, b.loops) if x.operation == y.operation]


def touching(first: list[StatementAccess], second: list[StatementAccess]) -> Iterator[tuple[StatementAccess, StatementAccess]]:
    """Pairs of accesses to one buffer of which one writes."""
    for x in first:
        for y in second:
            if x.buffer == y.buffer and (x.writes or y.writes):
                yield x, y


def in_one_step(x: StatementAccess, y: StatementAccess, loop: ForOp) -> bool:
    """Whether two accesses touch the same element in the same iteration of a loop only."""
    variable = loop.variable
    for f, g in zip(x.forms, y.forms):
        factor = f.coefficient(variable)
        if factor == 0 or g.coefficient(variable) != factor:
            continue
        low_high = [i.bounds(form - Linear({variable: factor})) for form, i in ((f, x.indices), (g, y.indices))]
        if None in low_high or not all(isinstance(b, int) for bounds in low_high for b in bounds or ()):
            if f == g and list(f.terms) == [variable]:
                return True
            continue
        if one_step_only(low_high[0] or (0, 0), low_high[1] or (0, 0), factor):
            return True
    return False


def accesses_of(statement: Statement, sizes: KernelSizes) -> list[StatementAccess]:
    """All accesses of a statement, its axes replaced by the values they are bound to."""
    extents: dict[ir.Value, Size] = {}
    for loop in statement.loops:
        lower, upper = (sizes.of(v) for v in loop.bounds)
        if lower is None or upper is None:
            raise Kept(f"the bounds of the loop {loop.name} depend on other loops, or on data")
        extents[loop.variable] = upper  # assumed to start at 0, which covers later starts
    over = AxisForms(extents, sizes)
    found = []
    block = statement.block
    for inside in (block.init_block, block.block):
        if inside is None:
            continue
        indices = AxisForms(extents, sizes, {a: over.form(v) for a, v in zip(inside.arguments, block.values)})
        found += [StatementAccess(a.buffer, [indices.form(v) for v in a.indices], a.writes, indices) for a in accesses_in([inside])]
    return found
