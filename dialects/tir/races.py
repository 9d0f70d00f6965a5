"""Loops whose steps may happen at once although they write the same place."""

from ...mlir import ir
from .loops import PARALLEL, REDUCE, VECTORIZED, ForOp
from .walk import blocks


def race(loop: ForOp) -> str | None:
    """What is wrong with the loop's kind, where it can be seen: a block under it reduces over a loop whose steps are not in order."""
    if loop.kind not in (PARALLEL, VECTORIZED):
        return None
    for block in blocks(loop.operation):
        for axis, kind, value in zip(block.axes, block.kinds, block.values):
            if kind == REDUCE and loop.variable in roots(value):
                return (f"the loop {loop.name} is {loop.kind}, and the axis {axis} of block '{block.name}' is reduced over it: its steps "
                        "write the same place at once")
    return None


def roots(value: ir.Value) -> set[ir.Value]:
    """The loop variables and arguments that a value is computed from."""
    found, todo = set(), [value]
    while todo:
        one = todo.pop()
        if isinstance(one.owner, ir.Block):
            found.add(one)
        else:
            todo += one.owner.operation.operands
    return found
