"""Vectors of neighbouring elements along a tensor's last axis."""
from collections.abc import Sequence

from legato.core.mlir import ir, vector


def read_vector(source: ir.Value, at: Sequence[ir.Value], lanes: int, beyond: ir.Value, inside: bool = True) -> ir.Value:
    """A vector of a tensor's elements from a place on; ``beyond`` in lanes after the last axis, unless all are ``inside``."""
    type_ = ir.VectorType.get([lanes], source.type.element_type)
    return vector.TransferReadOp(type_, source, at, _last_axis(source), beyond, _in_bounds(inside)).result


def write_vector(value: ir.Value, into: ir.Value, at: Sequence[ir.Value], inside: bool = True) -> ir.Value:
    """``into`` with a vector from a place on, without the lanes after its last axis, unless all are ``inside``."""
    return vector.TransferWriteOp(into.type, value, into, at, _last_axis(into), _in_bounds(inside)).result


def _last_axis(tensor_: ir.Value) -> ir.AffineMapAttr:
    rank = tensor_.type.rank
    return ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(rank - 1)]))


def _in_bounds(inside: bool) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.BoolAttr.get(inside)])
