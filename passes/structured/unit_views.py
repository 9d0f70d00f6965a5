"""Reshapes that add or drop axes of length 1, as of keys that all heads of an attention share, folded into what reads them."""
from collections.abc import Sequence

from legato.core.ir_helpers import defining_op, find
from legato.core.mlir import func, ir, linalg

RESHAPES = EXPAND, COLLAPSE = "tensor.expand_shape", "tensor.collapse_shape"


def fold_unit_views(kernel: func.FuncOp) -> None:
    """Has generic ops of a kernel read tensors in place of their reshapes by axes of length 1, which are read at 0."""
    for op in find(kernel.operation, "linalg.generic"):
        maps = [attribute.value for attribute in linalg.get_indexing_maps(op)]
        inputs = len(op.operands) - len(op.results)
        for number in range(inputs):
            value, map_ = op.operands[number], maps[number]
            while (found := _before(value, map_)) is not None:
                value, map_ = found
            op.operands[number], maps[number] = value, map_
        op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps])


def _before(value: ir.Value, map_: ir.AffineMap) -> tuple[ir.Value, ir.AffineMap] | None:
    """What a value is a reshape of by axes of length 1, and the indexing map of that; None for any other value."""
    view = defining_op(value)
    if view is None or view.name not in RESHAPES:
        return None
    source = view.operands[0]
    groups = [[ir.IntegerAttr(axis).value for axis in ir.ArrayAttr(group)] for group in ir.ArrayAttr(view.attributes["reassociation"])]
    long = source.type.shape if view.name == COLLAPSE else value.type.shape
    own = [_own(axes, long) for axes in groups]
    if None in own:
        return None
    if view.name == EXPAND:
        return source, ir.AffineMap.get(map_.n_dims, 0, [map_.results[axis] for axis in own])
    zero = ir.AffineExpr.get_constant(0)
    indices = [map_.results[number] if axis == mine else zero
               for number, (axes, mine) in enumerate(zip(groups, own)) for axis in axes]
    return source, ir.AffineMap.get(map_.n_dims, 0, indices)


def _own(axes: Sequence[int], shape: Sequence[int]) -> int | None:
    """The only axis of a group that is longer than 1, or its first if none is; None where there are several."""
    long = [axis for axis in axes if shape[axis] != 1]
    return None if len(long) > 1 else (long or axes)[0]
