"""Slices of tensors with unit strides, by sizes that are ints or index values."""
from collections.abc import Sequence

from legato.core.mlir import arith, ir, tensor

Sizes = Sequence[int | ir.Value]


def dim(value: ir.Value, axis: int) -> int | ir.Value:
    """The size of a dimension: an int, or an index value at the insertion point."""
    if not value.type.is_dynamic_dim(axis):
        return value.type.get_dim_size(axis)
    return tensor.DimOp(value, arith.ConstantOp(ir.IndexType.get(), axis).result).result


def shape_of(sizes: Sizes) -> list[int]:
    """Sizes as a static shape with dynamic entries."""
    return [s if isinstance(s, int) else ir.ShapedType.get_dynamic_size() for s in sizes]


def slice_of(value: ir.Value, offsets: Sequence[int], sizes: Sizes) -> ir.Value:
    """The slice of a tensor that begins at ``offsets``."""
    type_ = ir.RankedTensorType.get(shape_of(sizes), value.type.element_type)
    dynamic = [s for s in sizes if not isinstance(s, int)]
    return tensor.ExtractSliceOp(type_, value, [], dynamic, [], offsets, shape_of(sizes), [1] * len(sizes)).result


def inserted(value: ir.Value, into: ir.Value, offsets: Sequence[int], sizes: Sizes) -> ir.Value:
    """``into`` with ``value`` inserted at ``offsets``."""
    dynamic = [s for s in sizes if not isinstance(s, int)]
    return tensor.InsertSliceOp(value, into, [], dynamic, [], offsets, shape_of(sizes), [1] * len(sizes)).result
