"""tir-flatten-transposes: narrow rows that a transpose reads or writes, and that follow each other in memory, are one vector.

An image of three channels, channels last, has rows of three elements: stored one by one, they take as many stores as there are positions,
and as many shuffles in front of them. What a transpose of vectors makes is in the order of memory already.
"""
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from legato.core.dtypes import element_bytes
from legato.core.ir_helpers import find
from legato.core.mlir import ir, memref, vector
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

WIDEST = 32     # bytes of a row: wider ones fill half a vector, and more


@dataclass(frozen=True)
class FlattenTransposes(ModulePass):
    """Transfers of several narrow rows next to a transpose, which are whole rows of a buffer, become transfers of one row."""

    name: ClassVar[str] = "tir-flatten-transposes"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for transpose in find(module.module, "vector.transpose"):
                given, result = transpose.operands[0], transpose.results[0]
                read = None if isinstance(given.owner, ir.Block) or _uses(given) != [transpose] else given.owner.operation
                if read is not None and read.name == "vector.transfer_read" and _is_flat(read, 0, given.type):
                    _read(read)
                for write in _uses(result):
                    if write.name == "vector.transfer_write" and write.operands[0] == result and _is_flat(write, 1, result.type):
                        _write(write)


def _uses(value: ir.Value) -> list[ir.Operation]:
    return [use.owner.operation for use in value.uses]


def _is_flat(transfer: ir.Operation, buffer: int, type_: ir.VectorType) -> bool:
    """Whether a transfer is of narrow rows that follow each other in its buffer, the operand of this number, and of nothing else."""
    memory = transfer.operands[buffer].type
    if not isinstance(memory, ir.MemRefType) or type_.rank != 2 or memory.rank < 2:
        return False
    rank, columns = memory.rank, type_.shape[1]
    minor = ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(d) for d in (rank - 2, rank - 1)])
    if transfer.attributes["permutation_map"].value != minor or not all(flag.value for flag in transfer.attributes["in_bounds"]):
        return False
    masked = len(transfer.operands) != buffer + 1 + rank + (1 if buffer == 0 else 0)
    narrow = columns * element_bytes(type_.element_type) <= WIDEST
    return not masked and narrow and memory.shape[-1] == columns and memory.get_strides_and_offset()[0][-2:] == [columns, 1]


def _flat(transfer: ir.Operation, buffer: int) -> tuple[ir.Value, list[ir.Value], ir.VectorType]:
    """The buffer with its last two dimensions as one, the place in that, and the type of a vector of all rows."""
    memory = transfer.operands[buffer]
    rank, vector_type = memory.type.rank, transfer.operands[0].type if buffer else transfer.results[0].type
    groups = [*([d] for d in range(rank - 2)), [rank - 2, rank - 1]]
    shape, (strides, offset) = list(memory.type.shape), memory.type.get_strides_and_offset()
    rows, columns = shape[-2:]
    dynamic = ir.ShapedType.get_dynamic_size()
    flat_shape = [*shape[:-2], dynamic if rows == dynamic else rows * columns]
    identity = ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))
    layout = None if memory.type.layout == identity else ir.StridedLayoutAttr.get(offset, [*strides[:-2], 1])
    flat = memref.CollapseShapeOp(ir.MemRefType.get(flat_shape, memory.type.element_type, layout), memory, groups).result
    *outer, row, column = list(transfer.operands)[buffer + 1: buffer + 1 + rank]
    expression = ir.AffineExpr.get_dim(0) * columns + ir.AffineExpr.get_dim(1)
    place = ir.Operation.create("affine.apply", [ir.IndexType.get()], [row, column],
                                {"map": ir.AffineMapAttr.get(ir.AffineMap.get(2, 0, [expression]))}).results[0]
    return flat, [*outer, place], ir.VectorType.get([prod(vector_type.shape)], vector_type.element_type)


def _minor(rank: int) -> ir.AffineMapAttr:
    return ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(rank - 1)]))


def _read(read: ir.Operation) -> None:
    with ir.InsertionPoint(read), read.location:
        flat, place, type_ = _flat(read, 0)
        padding, in_bounds = list(read.operands)[-1], ir.ArrayAttr.get([ir.BoolAttr.get(True)])
        rows = vector.TransferReadOp(type_, flat, place, _minor(flat.type.rank), padding, in_bounds).result
        read.results[0].replace_all_uses_with(vector.ShapeCastOp(read.results[0].type, rows).result)
    read.erase()


def _write(write: ir.Operation) -> None:
    with ir.InsertionPoint(write), write.location:
        flat, place, type_ = _flat(write, 1)
        rows = vector.ShapeCastOp(type_, write.operands[0]).result
        vector.TransferWriteOp(None, rows, flat, place, _minor(flat.type.rank), ir.ArrayAttr.get([ir.BoolAttr.get(True)]))
    write.erase()
