"""Slices the operands of structured ops so that unit dimensions can be dropped from windows.

Dropping a loop of one step ``o`` turns the index ``o * 2 + k`` into ``k``, and the dimension's size, which the window may not use up,
into the extent of ``k``. The verifier finds that the operands then disagree only where all sizes are static. On an operand that is
cut to what the window reads, both extents are equal.
"""
from collections.abc import Sequence

from legato.analysis.structured import StructuredOp
from legato.analysis.structured.maps import dims_in
from legato.core.ir_helpers import everything
from legato.core.mlir import func, ir
from legato.core.slices import dim, inserted, slice_of


def fit_windows(kernel: func.FuncOp) -> bool:
    """Slices the operands of a kernel's structured ops that are larger than what their windows read. True where there are any."""
    ops = [StructuredOp(op) for op in everything(kernel.operation) if op.name.startswith("linalg.") and op.regions]
    loose = [(op, loose_dims(op)) for op in ops]
    for op, dims in loose:
        if dims:
            fit(op, dims)
    return any(dims for _, dims in loose)


def has_loose_windows(op: StructuredOp) -> bool:
    """Whether dropping the op's unit loops would give one of its other loops the extent of a larger dimension."""
    return bool(loose_dims(op))


def loose_dims(op: StructuredOp) -> dict[int, dict[int, int]]:
    """By operand, its dimensions that a window indexes, with the loop that would be their index without unit loops.

    Dimensions are left out whose size is known to be the loop's extent.
    """
    found: dict[int, dict[int, int]] = {}
    for operand, map_ in enumerate(op.maps):
        type_ = op.op.operands[operand].type
        for axis, expression in enumerate(map_.results):
            if len(dims_in(expression)) < 2:
                continue
            loop = only_loop(expression, [extent == 1 for extent in op.extents])
            if loop is not None and (type_.is_dynamic_dim(axis) or type_.shape[axis] != op.extents[loop]):
                found.setdefault(operand, {})[axis] = loop
    return found


def only_loop(expression: ir.AffineExpr, unit: Sequence[bool]) -> int | None:
    """The loop that an index is where loops of one step are 0; None where it is another expression."""
    replaced = [ir.AffineConstantExpr.get(0) if one else ir.AffineDimExpr.get(loop) for loop, one in enumerate(unit)]
    left = expression.compose(ir.AffineMap.get(len(unit), 0, replaced)).maybe_downcast()
    return left.position if isinstance(left, ir.AffineDimExpr) else None


def fit(op: StructuredOp, dims: dict[int, dict[int, int]]) -> None:
    """Slices the operands; the results of outputs that are sliced are inserted into them."""
    inputs = len(op.inputs)
    extents = {loop: extent_of(op, loop) for axes in dims.values() for loop in axes.values()}
    for operand, axes in dims.items():
        value = op.op.operands[operand]
        offsets = [0] * value.type.rank
        with ir.InsertionPoint(op.op), op.op.location:
            sizes = [extents[axes[axis]] if axis in axes else dim(value, axis) for axis in range(value.type.rank)]
            cut = slice_of(value, offsets, sizes)
        op.op.operands[operand] = cut
        if operand < inputs:
            continue
        result = op.op.results[operand - inputs]
        result.set_type(cut.type)
        with ir.InsertionPoint.after(op.op), op.op.location:
            whole = inserted(result, value, offsets, sizes)
        result.replace_all_uses_except(whole, whole.owner.operation)


def extent_of(op: StructuredOp, loop: int) -> int | ir.Value:
    """A loop's extent, from an operand that it indexes directly."""
    if op.extents[loop] >= 0:
        return op.extents[loop]
    operand, axis = next((number, axis) for number in range(len(op.maps)) for axis, l in enumerate(op.loops_of(number)) if l == loop)
    with ir.InsertionPoint(op.op), op.op.location:
        return dim(op.op.operands[operand], axis)
