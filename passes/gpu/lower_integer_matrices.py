"""tir-lower-integer-matrices: ``nvgpu.mma.sync`` of bytes becomes ``nvvm.mma.sync``, which knows the signs of its factors.

Upstream's conversion takes all bytes as signed.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir, vector
from legato.dialects.module import Module
from legato.dialects.tir.markers import FACTOR_TYPES
from legato.passes.pipeline.base import ModulePass, PassContext

SUMS = 4    # of a thread


@dataclass(frozen=True)
class LowerIntegerMatrices(ModulePass):
    """Lowers the products of matrices of bytes in kernels, whose sums wrap."""

    name: ClassVar[str] = "tir-lower-integer-matrices"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for op in find(module.operation, "nvgpu.mma.sync"):
                if FACTOR_TYPES in op.attributes:
                    with ir.InsertionPoint(op), op.location:
                        op.results[0].replace_all_uses_with(lowered(op))
                    op.erase()


def lowered(op: ir.Operation) -> ir.Value:
    """The sums of a thread, at the insertion point."""
    left, right, sums = op.operands
    words = [*words_of(left), *words_of(right)]
    added = [vector.ExtractOp(sums, [], list(place)).result for place in places(sums.type)]
    signs = [one.value for one in op.attributes[FACTOR_TYPES]]
    rows, columns, depth = (size.value for size in op.attributes["mmaShape"])
    made = ir.Operation.create("nvvm.mma.sync", [ir.Type.parse(f"!llvm.struct<({', '.join(['i32'] * SUMS)})>")], [*words, *added], {
        "shape": ir.Attribute.parse(f"#nvvm.shape<m = {rows}, n = {columns}, k = {depth}>"),
        "layoutA": ir.Attribute.parse("#nvvm.mma_layout<row>"), "layoutB": ir.Attribute.parse("#nvvm.mma_layout<col>"),
        "multiplicandAPtxType": ir.Attribute.parse(f"#nvvm.mma_type<{signs[0]}>"),
        "multiplicandBPtxType": ir.Attribute.parse(f"#nvvm.mma_type<{signs[1]}>"),
        "intOverflowBehavior": ir.Attribute.parse("#nvvm.mma_int_overflow<wrapped>"),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([left.type.shape[0], right.type.shape[0], SUMS])}).results[0]
    found = [ir.Operation.create("llvm.extractvalue", [sums.type.element_type], [made], {
        "position": ir.DenseI64ArrayAttr.get([number])}).results[0] for number in range(SUMS)]
    return vector.FromElementsOp(sums.type, found).result


def words_of(factor: ir.Value) -> list[ir.Value]:
    """A thread's rows of four bytes of a factor, each as a word."""
    count, _ = factor.type.shape
    words = vector.BitCastOp(ir.VectorType.get([count, 1], ir.IntegerType.get_signless(32)), factor).result
    return [vector.ExtractOp(words, [], [number, 0]).result for number in range(count)]


def places(type_: ir.VectorType) -> list[tuple[int, int]]:
    """All places in a vector of rank 2."""
    return [(i, j) for i in range(type_.shape[0]) for j in range(type_.shape[1])]
