"""tir-slice-transfers: transfers of several rows, or not along a buffer's last dimensions, go through a subview; those of one element
(vectors of rank 0) become loads and stores.

Along other dimensions, upstream's patterns would widen the vector by unit dimensions in between, drop them, and widen it again, for ever.
Rows of one subview are at constant distances from one address; without it, each row's address is computed from all indices.
Upstream lowers transfers of rank 0 only where the buffer's last stride is 1.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir, memref, vector
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class SliceTransfers(ModulePass):
    """Transfers of several rows, or not along a buffer's last dimensions, become transfers of a subview of their dimensions; those of one
    element become loads and stores."""

    name: ClassVar[str] = "tir-slice-transfers"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            slice_transfers(module.module)


def slice_transfers(module: ir.Module) -> None:
    """Rewrites the transfers of ``module`` along several dimensions, or along other than the last."""
    for op in find(module.operation, "vector.transfer_read", "vector.transfer_write"):
        buffer = 0 if op.name == "vector.transfer_read" else 1
        type_ = op.operands[buffer].type
        dims = stepped_dims(op.attributes["permutation_map"].value)
        if not isinstance(type_, ir.MemRefType) or dims is None:
            continue
        if not dims and len(op.operands) == type_.rank + 2:   # the buffer; the padding, or what is written: no mask
            with ir.InsertionPoint(op), op.location:
                move_element(op, buffer)
            continue
        if dims != list(range(type_.rank - len(dims), type_.rank)) or has_whole_rows(op, buffer, len(dims)):
            with ir.InsertionPoint(op), op.location:
                slice_transfer(op, buffer, dims)


def move_element(op: ir.Operation, buffer: int) -> None:
    """Replaces a transfer of a vector of rank 0, which is always in bounds, by a load or a store."""
    indices = list(op.operands)[buffer + 1: buffer + 1 + op.operands[buffer].type.rank]
    if buffer == 0:
        element = memref.LoadOp(op.operands[0], indices).result
        op.results[0].replace_all_uses_with(vector.BroadcastOp(op.results[0].type, element).result)
    else:
        memref.StoreOp(vector.ExtractOp(op.operands[0], [], []).result, op.operands[1], indices)
    op.erase()


def has_whole_rows(op: ir.Operation, buffer: int, rank: int) -> bool:
    """Whether a transfer of a vector of this rank moves several rows, in bounds and without a mask."""
    unmasked = len(op.operands) == op.operands[buffer].type.rank + 2  # the buffer; the padding, or the vector that is written
    return rank > 1 and unmasked and all(flag.value for flag in op.attributes["in_bounds"])


def stepped_dims(map_: ir.AffineMap) -> list[int] | None:
    """The dimensions that a transfer moves along; None where they are not in order or some are broadcast."""
    dims = [e.position for e in map_.results if isinstance(e, ir.AffineDimExpr)]
    return dims if len(dims) == len(map_.results) and dims == sorted(dims) else None


def slice_transfer(op: ir.Operation, buffer: int, dims: list[int]) -> None:
    """Replaces a transfer by one of a subview with the dimensions ``dims`` only; ``buffer``: the buffer's operand number."""
    source, rank = op.operands[buffer], op.operands[buffer].type.rank
    vector_type = op.results[0].type if buffer == 0 else op.operands[0].type
    indices = list(op.operands)[buffer + 1: buffer + 1 + rank]
    sizes = [vector_type.shape[dims.index(d)] if d in dims else 1 for d in range(rank)]
    strides, _ = source.type.get_strides_and_offset()
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    layout = ir.StridedLayoutAttr.get(unknown, [strides[d] for d in dims])
    type_ = ir.MemRefType.get(list(vector_type.shape), source.type.element_type, layout, source.type.memory_space)
    part = memref.SubViewOp(type_, source, indices, [], [], [unknown] * rank, sizes, [1] * rank).result
    zero = ir.Operation.create("arith.constant", [ir.IndexType.get()], [], {"value": ir.IntegerAttr.get(ir.IndexType.get(), 0)}).results[0]
    rest = list(op.operands)[buffer + 1 + rank:]  # the padding of a read, a mask
    map_ = ir.AffineMapAttr.get(ir.AffineMap.get_identity(len(dims)))
    zeros, bounds = [zero] * len(dims), op.attributes["in_bounds"]
    if buffer == 0:
        mask = rest[1] if rest[1:] else None
        new = vector.TransferReadOp(vector_type, part, zeros, map_, rest[0], bounds, mask=mask)
        op.results[0].replace_all_uses_with(new.result)
    else:
        vector.TransferWriteOp(None, op.operands[0], part, zeros, map_, bounds, mask=rest[0] if rest else None)
    op.erase()
