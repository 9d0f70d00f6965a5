"""A ``linalg.generic`` that computes each element of a tensor from the same element of another."""
from __future__ import annotations

from collections.abc import Callable

from legato.core.mlir import ir, linalg, tensor
from legato.core.slices import dim


def elementwise(value: ir.Value, element: ir.Type, body: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """A tensor of ``value``'s shape and of element type ``element``, built at the insertion point.

    ``body`` builds an element of it from one of ``value``'s.
    """
    rank = value.type.rank
    identity = ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))
    kinds = ir.ArrayAttr.get([ir.Attribute.parse("#linalg.iterator_type<parallel>")] * rank)
    out = tensor.EmptyOp([dim(value, axis) for axis in range(rank)], element).result
    made = linalg.GenericOp([out.type], [value], [out], ir.ArrayAttr.get([identity, identity]), kinds)
    block = made.regions[0].blocks.append(value.type.element_type, element)
    with ir.InsertionPoint(block):
        linalg.YieldOp([body(block.arguments[0])])
    return made.results[0]
