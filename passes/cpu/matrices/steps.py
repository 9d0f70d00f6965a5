"""Steps of products of pairs of bf16 in the lanes of vectors, by AVX512-BF16, and what they read; those of matrices are in
``core.matrix_steps``."""
from __future__ import annotations

from collections.abc import Sequence

from legato.core.ir_helpers import marked
from legato.core.mlir import arith, ir, memref, vector
from legato.core.vector_loops import Size, Vectors, scratch, value_of
from legato.dialects.tir import intrinsics
from legato.dialects.tir.markers import FLUSHES
from legato.passes.cpu.matrices.packing import PAIR


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
