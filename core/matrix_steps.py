"""Steps of products of matrices of bf16, in the form that ``tir-lower-matrix-products`` makes AMX's instructions of."""
from __future__ import annotations

from collections.abc import Sequence

from legato.core.constants import constant, filled
from legato.core.ir_helpers import marked
from legato.core.mlir import arith, ir, vector
from legato.core.vector_loops import Size, value_of

PARTS = "tir.parts"    # of a contraction: its factors are in parts, the first ones the greatest, and products of the least may be left out


def no_sums(rows: int, columns: int) -> ir.Value:
    """The sums that a product begins with."""
    type_ = ir.VectorType.get([rows, columns], ir.F32Type.get())
    return filled(type_, ir.FloatAttr.get(type_.element_type, 0.0))


def read_matrix(buffer: ir.Value, at: Sequence[Size], shape: Sequence[int]) -> ir.Value:
    """A factor of this shape from the last dimensions of a buffer."""
    rank, element = buffer.type.rank, buffer.type.element_type
    minor = ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(d) for d in range(rank - len(shape), rank)])
    padding = constant(ir.FloatAttr.get(element, 0.0), element)
    type_ = ir.VectorType.get(list(shape), element)
    return vector.TransferReadOp(type_, buffer, [*map(value_of, at)], ir.AffineMapAttr.get(minor), padding, _in_bounds(len(shape))).result


def contracted(left: ir.Value, right: ir.Value, sums: ir.Value) -> ir.Value:
    """``sums[m, n] + left[m, k, p] * right[k, n, p]``, of widened factors; of factors in parts, ``left[s, m, k, p] * right[t, k, n, p]``,
    for all s and t, of which those below the precision of all parts may be left out."""
    m, n, k, p, s, t = (ir.AffineExpr.get_dim(d) for d in range(6))
    in_parts = left.type.rank == 4
    read = ([s, m, k, p], [t, k, n, p]) if in_parts else ([m, k, p], [k, n, p])
    maps = [ir.AffineMap.get(6 if in_parts else 4, 0, results) for results in (*read, [m, n])]
    kinds = ["parallel", "parallel", *["reduction"] * (4 if in_parts else 2)]
    f32 = ir.F32Type.get()
    wide = [arith.ExtFOp(ir.VectorType.get(value.type.shape, f32), value).result for value in (left, right)]
    indexing = ir.ArrayAttr.get([ir.AffineMapAttr.get(one) for one in maps])
    types = ir.ArrayAttr.get([ir.Attribute.parse(f"#vector.iterator_type<{kind}>") for kind in kinds])
    made = vector.ContractionOp(sums.type, wide[0], wide[1], sums, indexing_maps=indexing, iterator_types=types,
                                kind=ir.Attribute.parse("#vector.kind<add>")).result
    return marked(made, PARTS) if in_parts else made


def write_sums(sums: ir.Value, buffer: ir.Value, *at: Size) -> None:
    """Writes what a product ends with, to the last two dimensions of a buffer."""
    rank = buffer.type.rank
    minor = ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(d) for d in range(rank - 2, rank)])
    vector.TransferWriteOp(None, sums, buffer, [*map(value_of, at)], ir.AffineMapAttr.get(minor), _in_bounds(2))


def _in_bounds(rank: int) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.BoolAttr.get(True)] * rank)
