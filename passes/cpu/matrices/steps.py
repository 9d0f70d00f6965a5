"""Steps of products of pairs of bf16 in the lanes of vectors, by AVX512-BF16, or of pairs of integers of 16 bits, and what they read; those
of matrices are in ``core.matrix_steps``."""
from __future__ import annotations

from collections.abc import Sequence

from legato.core.ir_helpers import marked
from legato.core.mlir import arith, ir, memref, vector
from legato.core.vector_loops import Size, Vectors, scratch, value_of
from legato.dialects.tir import intrinsics
from legato.dialects.tir.markers import FLUSHES
from legato.passes.cpu.matrices.packing import PAIR


def add_products(left: Sequence[ir.Value], right: Sequence[ir.Value], sums: Sequence[ir.Value]) -> list[ir.Value]:
    """The sums, row by row, and the products of pairs in their lanes: of each row's (``left``, in all lanes) with those of columns. Sums of
    pairs of integers are i32."""
    product = "dot2_bf16bf16" if sums[0].type.element_type == ir.F32Type.get() else "dot2_s16s16"
    return [intrinsics.build(product, row, column, sums[len(right) * i + j]) for i, row in enumerate(left)
            for j, column in enumerate(right)]


def load_pairs(vectors: Vectors, buffer: ir.Value, *at: Size) -> ir.Value:
    """Neighbouring pairs of elements of 16 bits, one in each lane."""
    type_ = ir.VectorType.get([PAIR * vectors.lanes], buffer.type.element_type)
    halves = vector.LoadOp(type_, buffer, [*map(value_of, at)]).result
    return vector.BitCastOp(vectors.of(ir.IntegerType.get_signless(32)), halves).result


def spread_pair(vectors: Vectors, buffer: ir.Value, *at: Size) -> ir.Value:
    """A pair of elements of 16 bits in all lanes."""
    halves = vector.LoadOp(ir.VectorType.get([PAIR], buffer.type.element_type), buffer, [*map(value_of, at)]).result
    lane = vector.BitCastOp(ir.VectorType.get([1], ir.IntegerType.get_signless(32)), halves).result
    return vectors.spread(vector.ExtractOp(lane, [], [0]).result)


def rounded(vectors: Vectors, value: ir.Value) -> ir.Value:
    """A vector in bf16, for products of matrices: these take denormal factors for zeros, and so may this."""
    bf16 = vectors.of(ir.BF16Type.get())
    if value.type == bf16:
        return value
    maker = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if maker is not None and maker.name == "arith.extf" and maker.operands[0].type == bf16:
        return maker.operands[0]
    return marked(arith.TruncFOp(bf16, value).result, FLUSHES)


def scratch_rows(*shape: int) -> tuple[ir.Value, ir.Value]:
    """A buffer of rows of bf16 [..., depth], and its view in pairs: [..., depth / 2, 2]."""
    bf16, (*outer, depth) = ir.BF16Type.get(), shape
    made = scratch(*shape, element=bf16)
    in_pairs, rank = [*outer, depth // PAIR, PAIR], len(outer)
    groups = [*([axis] for axis in range(rank)), [rank, rank + 1]]
    return made, memref.ExpandShapeOp(ir.MemRefType.get(in_pairs, bf16), made, groups, [], in_pairs).result
