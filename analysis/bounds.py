"""Detection of accesses that are certain to lie outside of their buffers."""

from collections.abc import Sequence

from legato.analysis.accesses import ElementAccess
from legato.analysis.indices.forms import in_loops
from legato.core.mlir import ir
from legato.dialects.tir.loops import DYNAMIC, constant_of
from legato.dialects.tir.walk import buffer_name


def outside(sizes: Sequence[int | None], indices: Sequence[ir.Value], around: ir.Operation) -> tuple[int, int, int] | None:
    """The axis, least and greatest index of an access in ``around`` that leaves a buffer of these sizes; None where none is seen.

    Accesses under conditions and dynamic sizes (None) are not checked.
    """
    extents = extents_around(around)
    if extents is None:
        return None
    for axis, (size, index) in enumerate(zip(sizes, indices, strict=True)):
        reach = in_loops(index).range(extents)
        if size is not None and reach is not None and (reach[0] < 0 or reach[1] >= size):
            return axis, *reach
    return None


def extents_around(op: ir.Operation) -> dict[ir.Value, int] | None:
    """The extents of all loops around (and at) an op; None where one does not start at 0 or has a dynamic extent, or where a
    condition is among them.
    """
    extents: dict[ir.Value, int] = {}
    while op.name != "func.func":
        if op.name == "tir.for":
            loop = op.opview
            if constant_of(loop.bounds[0]) != 0 or loop.extent is None or loop.extent <= 0:
                return None
            extents[loop.variable] = loop.extent
        elif op.name != "tir.block":
            return None
        op = op.parent.operation
    return extents


def leaves_buffer(access: ir.Operation) -> str | None:
    """The message for a load or store that is certain to leave its buffer, else None."""
    one = ElementAccess(access)
    sizes = [None if size == DYNAMIC else size for size in one.buffer.type.shape]
    found = outside(sizes, one.indices, access.parent.operation)
    if found is None:
        return None
    axis, low, high = found
    return f"the indices of '{buffer_name(one.buffer)}' on axis {axis} go from {low} to {high}, and its size there is {sizes[axis]}"
