"""Kernels that do nothing but put the elements of one tensor into another order, computed on arrays."""
from __future__ import annotations

import numpy as np

from legato.analysis.structured import StructuredOp
from legato.analysis.structured.maps import dims_in
from legato.core.mlir import ir

Step = tuple[list[int], list[int]]  # the order of dimensions, as numbers of the input's; the dimensions of the result that are reversed


def rearrangement(ops: list[ir.Operation], value: ir.Value) -> list[Step] | None:
    """The steps that make the last op's result from ``value``; None where the ops do anything but transpose and reverse it, one after
    the other."""
    steps: list[Step] = []
    for op in ops:
        if not op.name.startswith("linalg."):
            continue
        step = _step(StructuredOp(op), value)
        if step is None:
            return None
        steps.append(step)
        value = op.results[0]
    return steps or None


def rearranged(array: np.ndarray, steps: list[Step]) -> np.ndarray:
    """The elements of an array in the order that the steps give, contiguous."""
    for order, reversed_ in steps:
        array = np.flip(array.transpose(order), tuple(reversed_))
    return np.ascontiguousarray(array).reshape(array.shape)


def _step(op: StructuredOp, value: ir.Value) -> Step | None:
    if op.op.name != "linalg.generic" or op.body_names != ["linalg.yield"] or len(op.maps) != 2 or op.op.operands[0] != value:
        return None
    if op.body[0].operands[0] != op.scalars[0] or op.out_loops != list(range(len(op.out_loops))):
        return None
    read = [_loop(e, size) for e, size in zip(op.maps[0].results, value.type.shape)]
    loops = [found[0] for found in read if found is not None]
    if sorted(loops) != op.out_loops or len(loops) != len(read) or [op.extents[loop] for loop in loops] != list(value.type.shape):
        return None
    return [loops.index(d) for d in range(len(loops))], [found[0] for found in read if found is not None and found[1]]


def _loop(index: ir.AffineExpr, size: int) -> tuple[int, bool] | None:
    """The loop that a dimension follows, and whether backwards; None for another index expression."""
    if isinstance(index, ir.AffineDimExpr):
        return index.position, False
    for dim in dims_in(index):
        if index == ir.AffineExpr.get_dim(dim) * -1 + (size - 1):
            return dim, True
    return None
