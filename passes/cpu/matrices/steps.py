"""Steps of products of bf16: of matrices, in the form that ``tir-lower-matrix-products`` makes AMX's instructions of, and of pairs in the
lanes of vectors, by AVX512-BF16."""
from __future__ import annotations

from collections.abc import Sequence

from legato.core.ir_helpers import marked
from legato.core.mlir import arith, ir, memref, vector
from legato.core.vector_loops import Size, Vectors, value_of
from legato.dialects.tir import intrinsics
from legato.dialects.tir.markers import FLUSHES
from legato.passes.cpu.matrices.packing import PAIR


def no_sums(rows: int, columns: int) -> ir.Value:
    """The sums that a product begins with."""
    type_ = ir.VectorType.get([rows, columns], ir.F32Type.get())
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(type_.element_type, 0.0))).result


def read_matrix(buffer: ir.Value, at: Sequence[Size], shape: Sequence[int]) -> ir.Value:
    """A factor of this shape from the last dimensions of a buffer."""
    rank, element = buffer.type.rank, buffer.type.element_type
    minor = ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(d) for d in range(rank - len(shape), rank)])
    padding = arith.ConstantOp(element, ir.FloatAttr.get(element, 0.0)).result
    type_ = ir.VectorType.get(list(shape), element)
    return vector.TransferReadOp(type_, buffer, [*map(value_of, at)], ir.AffineMapAttr.get(minor), padding, _in_bounds(len(shape))).result


def contracted(left: ir.Value, right: ir.Value, sums: ir.Value) -> ir.Value:
    """``sums[m, n] + left[m, k, p] * right[k, n, p]``, of widened factors."""
    m, n, k, p = (ir.AffineExpr.get_dim(d) for d in range(4))
    maps = [ir.AffineMap.get(4, 0, results) for results in ([m, k, p], [k, n, p], [m, n])]
    kinds = [ir.Attribute.parse(f"#vector.iterator_type<{kind}>") for kind in ("parallel", "parallel", "reduction", "reduction")]
    f32 = ir.F32Type.get()
    wide = [arith.ExtFOp(ir.VectorType.get(value.type.shape, f32), value).result for value in (left, right)]
    indexing = ir.ArrayAttr.get([ir.AffineMapAttr.get(one) for one in maps])
    return vector.ContractionOp(sums.type, wide[0], wide[1], sums, indexing_maps=indexing, iterator_types=ir.ArrayAttr.get(kinds),
                                kind=ir.Attribute.parse("#vector.kind<add>")).result


def add_products(left: Sequence[ir.Value], right: Sequence[ir.Value], sums: Sequence[ir.Value]) -> list[ir.Value]:
    """The sums, row by row, and the products of pairs in their lanes: of each row's (``left``, in all lanes) with those of columns."""
    return [intrinsics.build("dot2_bf16bf16", row, column, sums[len(right) * i + j]) for i, row in enumerate(left)
            for j, column in enumerate(right)]


def load_pairs(vectors: Vectors, buffer: ir.Value, *at: Size) -> ir.Value:
    """Neighbouring pairs of bf16, one in each lane."""
    type_ = ir.VectorType.get([PAIR * vectors.lanes], ir.BF16Type.get())
    halves = vector.LoadOp(type_, buffer, [*map(value_of, at)]).result
    return vector.BitCastOp(vectors.of(ir.IntegerType.get_signless(32)), halves).result


def spread_pair(vectors: Vectors, buffer: ir.Value, *at: Size) -> ir.Value:
    """A pair of bf16 in all lanes."""
    halves = vector.LoadOp(ir.VectorType.get([PAIR], ir.BF16Type.get()), buffer, [*map(value_of, at)]).result
    lane = vector.BitCastOp(ir.VectorType.get([1], ir.IntegerType.get_signless(32)), halves).result
    return vectors.spread(vector.ExtractOp(lane, [], [0]).result)


def write_sums(sums: ir.Value, buffer: ir.Value, *at: Size) -> None:
    """Writes what a product ends with, to the last two dimensions of a buffer."""
    rank = buffer.type.rank
    minor = ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(d) for d in range(rank - 2, rank)])
    vector.TransferWriteOp(None, sums, buffer, [*map(value_of, at)], ir.AffineMapAttr.get(minor), _in_bounds(2))


def _in_bounds(rank: int) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.BoolAttr.get(True)] * rank)


def rounded(vectors: Vectors, value: ir.Value) -> ir.Value:
    """A vector in bf16, for products of matrices: these take denormal factors for zeros, and so may this."""
    bf16 = vectors.of(ir.BF16Type.get())
    if value.type == bf16:
        return value
    maker = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if maker is not None and maker.name == "arith.extf" and maker.operands[0].type == bf16:
        return maker.operands[0]
    return marked(arith.TruncFOp(bf16, value).result, FLUSHES)


def scratch_rows(rows: int, depth: int) -> tuple[ir.Value, ir.Value]:
    """A buffer of rows of bf16, and its view in pairs: [rows, depth / 2, 2]."""
    bf16 = ir.BF16Type.get()
    made = memref.AllocOp(ir.MemRefType.get([rows, depth], bf16), [], [], alignment=64).result
    shape = [rows, depth // PAIR, PAIR]
    return made, memref.ExpandShapeOp(ir.MemRefType.get(shape, bf16), made, [[0], [1, 2]], [], shape).result
