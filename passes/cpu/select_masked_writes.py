"""tir-select-masked-writes: a masked write over a vector that is in registers becomes a select.

A reduction along rows keeps partial results in the lanes of a vector; the end of a row changes the first of them, under a mask. Upstream
writes the vector, reads and writes the lanes of a slice, and reads the whole again: through memory, where a masked read has to wait until
what was just written arrives.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import constant_number, find
from legato.core.mlir import arith, ir, vector
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

READ, WRITE, SLICE, INSERT = "vector.transfer_read", "vector.transfer_write", "tensor.extract_slice", "tensor.insert_slice"


@dataclass(frozen=True)
class SelectMaskedWrites(ModulePass):
    """Masked reads and writes of the first elements of a tensor that has just been written as one vector become selects of its lanes."""

    name: ClassVar[str] = "tir-select-masked-writes"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for kernel in tir.prim_funcs(module.module):
                for op in find(kernel.operation, INSERT):
                    select_masked_write(op)


@dataclass(frozen=True)
class Whole:
    """A tensor written as one vector: the op, the vector of rank 1, and the vector as it was written."""

    op: ir.Operation
    lanes: ir.Value
    written: ir.Value


def select_masked_write(insert: ir.Operation) -> None:
    """Rewrites the insertion of a slice whose elements a masked write has changed, where all of the tensor is one vector.

    A mask has no lanes outside of the slice: these transfers are in bounds.
    """
    write, whole = insert.operands[0].owner, written_whole(insert.operands[1])
    if whole is None or not is_op(write, WRITE) or not is_op(write.operands[1].owner, SLICE):
        return
    part = write.operands[1].owner
    mask = mask_of(write, 2)
    if mask is None or part.operands[0] != insert.operands[1] or write.operands[0].type != whole.lanes.type:
        return
    if not (starts_at_zero(part) and starts_at_zero(insert) and at_zero(write, 2)):
        return
    readers = [use.owner for use in part.results[0].uses if use.owner.operation != write]
    if any(not is_op(one, READ) or mask_of(one, 1) != mask or not at_zero(one, 1) or one.results[0].type != whole.lanes.type
           for one in readers):
        return
    for one in readers:
        with ir.InsertionPoint(one), one.location:
            padding, kept = one.operands[2], whole.lanes
            if not is_op(padding.owner, "ub.poison"):
                kept = arith.SelectOp(mask, kept, vector.BroadcastOp(kept.type, padding).result).result
        one.results[0].replace_all_uses_with(kept)
        one.erase()
    replace(insert, write, whole, mask)
    for op in (write, part, whole.op):
        if not list(op.results[0].uses):
            op.erase()


def has_same_place(reader: ir.Operation, write: ir.Operation) -> bool:
    """Whether a read without a mask takes what a write has written."""
    return (reader.attributes["permutation_map"] == write.attributes["permutation_map"]
            and reader.attributes["in_bounds"] == write.attributes["in_bounds"]
            and all(map(is_zero, list(reader.operands)[1:1 + reader.operands[0].type.rank])))


def replace(insert: ir.Operation, write: ir.Operation, whole: Whole, mask: ir.Value) -> None:
    """Writes the whole vector anew, in place of an insertion, and gives it to those that read the whole."""
    with ir.InsertionPoint(insert), insert.location:
        lanes = arith.SelectOp(mask, write.operands[0], whole.lanes).result
        shape = whole.written.type
        value = lanes if lanes.type == shape else vector.ShapeCastOp(shape, lanes).result
    for use in list(insert.results[0].uses):
        reader = use.owner
        if is_op(reader, READ) and reader.results[0].type == shape and mask_of(reader, 1) is None and has_same_place(reader, whole.op):
            reader.results[0].replace_all_uses_with(value)
            reader.erase()
    if list(insert.results[0].uses):
        with ir.InsertionPoint(insert), insert.location:
            attributes = {name: whole.op.attributes[name] for name in whole.op.attributes}
            again = ir.Operation.create(WRITE, [insert.results[0].type], [value, *list(whole.op.operands)[1:]], attributes)
        insert.results[0].replace_all_uses_with(again.results[0])
    insert.erase()


def written_whole(tensor: ir.Value) -> Whole | None:
    """The vector that the tensor consists of, in bounds and in order; None for another tensor."""
    op = tensor.owner
    if not is_op(op, WRITE) or mask_of(op, 2) is not None or not all(flag.value for flag in op.attributes["in_bounds"]):
        return None
    stored, shape = op.operands[0], list(tensor.type.shape)
    sizes = [size for size in shape if size != 1]
    identity = ir.AffineMap.get_minor_identity(len(shape), stored.type.rank)
    if len(sizes) != 1 or [size for size in stored.type.shape if size != 1] != sizes or op.attributes["permutation_map"].value != identity:
        return None
    if not all(is_zero(place) for place in list(op.operands)[2:2 + len(shape)]):
        return None
    flat = ir.VectorType.get(sizes, stored.type.element_type)
    if stored.type == flat:
        return Whole(op, stored, stored)
    with ir.InsertionPoint(op), op.location:
        return Whole(op, vector.ShapeCastOp(flat, stored).result, stored)


def is_op(op: object, name: str) -> bool:
    """Whether this is an op of a name; a block, which owns its arguments, is none."""
    return not isinstance(op, ir.Block) and op.name == name     # pyright: ignore[reportAttributeAccessIssue]


def mask_of(transfer: ir.Operation, places: int) -> ir.Value | None:
    """The mask of a transfer whose positions begin at operand ``places``."""
    rank = transfer.operands[places - 1].type.rank
    rest = list(transfer.operands)[places + rank:]
    masks = rest[1:] if transfer.name == READ else rest
    return masks[0] if masks else None


def at_zero(transfer: ir.Operation, places: int) -> bool:
    """Whether a transfer along one dimension begins at its first element."""
    return transfer.operands[places - 1].type.rank == 1 and is_zero(transfer.operands[places])


def is_zero(value: ir.Value) -> bool:
    """Whether an index is the constant 0."""
    return constant_number(value) == 0


def starts_at_zero(op: ir.Operation) -> bool:
    """Whether a slice takes neighbours from the first element on."""
    offsets, strides = (list(op.attributes[name]) for name in ("static_offsets", "static_strides"))
    return not any(offsets) and all(stride == 1 for stride in strides)
