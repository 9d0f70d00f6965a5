"""tir-keep-partial-writes: what a vector write into a tensor leaves alone survives bufferization.

Upstream's analysis takes a write for one of the whole tensor, whose old content nobody needs, if its indices are the constant 0 and the
sizes of the vector reach those of the tensor. It compares them from the first on, whatever the map of the write says: a ``vector<8xf32>``
passes for all of a ``tensor<1x1x4x8xf32>``, and the other rows are not copied.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import arith, ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

INTO = 1   # the tensor among a write's operands; its indices follow


@dataclass(frozen=True)
class KeepPartialWrites(ModulePass):
    """Vector writes that bufferization would take for writes of the whole tensor get an index that it does not take for a constant."""

    name: ClassVar[str] = "tir-keep-partial-writes"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            keep_partial_writes(module.operation)


def keep_partial_writes(operation: ir.Operation) -> None:
    """Replaces the first index of such writes by 0 + 0, which upstream's canonicalization folds."""
    for op in find(operation, "vector.transfer_write"):
        if taken_for_whole(op):
            with ir.InsertionPoint(op), op.location:
                op.operands[INTO + 1] = arith.AddIOp(op.operands[INTO + 1], op.operands[INTO + 1]).result


def taken_for_whole(op: ir.Operation) -> bool:
    """Whether upstream takes a write that leaves elements alone for one of the whole tensor."""
    into, vector = op.operands[INTO].type, op.operands[0].type
    if not isinstance(into, ir.RankedTensorType) or not into.has_static_shape or not isinstance(vector, ir.VectorType):
        return False
    if not all(is_zero(value) for value in list(op.operands)[INTO + 1:INTO + 1 + into.rank]):
        return False
    written = dict(zip(written_axes(op), vector.shape))
    whole = all(size <= written.get(axis, 1) for axis, size in enumerate(into.shape))
    return not whole and all(size <= length for size, length in zip(into.shape, vector.shape))


def written_axes(op: ir.Operation) -> list[int]:
    """For each axis of a write's vector the axis of the tensor."""
    return [ir.AffineDimExpr(result).position for result in ir.AffineMapAttr(op.attributes["permutation_map"]).value.results]


def is_zero(value: ir.Value) -> bool:
    """Whether an index is the constant 0."""
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.name == "arith.constant" and ir.IntegerAttr(owner.attributes["value"]).value == 0
