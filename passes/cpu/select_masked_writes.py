"""tir-select-masked-writes: a masked write over a vector that is in registers becomes a select.

A reduction along rows keeps partial results in the lanes of a vector; the end of a row changes the first of them, under a mask. Upstream
writes the vector, reads and writes the lanes of a slice, and reads the whole again: through memory, where a masked read has to wait until
what was just written arrives. Where only the call knows a row's length, its end is a loop of at most one step, which carries the tensor:
each step reads and writes the vector as a whole, which is a register in the end.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import constant_number, defining_op, find, index, terminator
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
                    write_whole(op)
                    found = MaskedWrite.of(op)
                    if found is not None:
                        found.rewrite()


def write_whole(insert: ir.Operation) -> None:
    """Has each step of a loop write the tensor that it carries as one vector first, as it is, where it puts a slice back at its end."""
    tensor, loop = insert.operands[1], insert.parent
    if not isinstance(tensor.owner, ir.Block) or loop.name != "scf.for" or tensor.owner != insert.block:
        return
    carried = ir.BlockArgument(tensor).arg_number - 1
    start = made_by(WRITE, loop.opview.initArgs[carried]) if carried >= 0 else None
    if start is None or one_vector(start) is None:
        return
    users = [use.owner.operation for use in tensor.uses]
    if terminator(tensor.owner).operands[carried] != insert.results[0] or not starts_at_zero(insert):
        return
    if any(user.name not in (SLICE, INSERT) for user in users):
        return
    names = {name: start.attributes[name] for name in start.attributes}
    with ir.InsertionPoint.at_block_begin(tensor.owner), insert.location:
        zeros = [index(0)] * tensor.type.rank
        stored = start.operands[0].type
        reads = names | {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, len(zeros), 1, 0])}
        poison = ir.Operation.create("ub.poison", [stored.element_type]).results[0]
        value = ir.Operation.create(READ, [stored], [tensor, *zeros, poison], reads).results[0]
        written = ir.Operation.create(WRITE, [tensor.type], [value, tensor, *zeros], names).results[0]
    for user in users:
        for place, operand in enumerate(user.operands):
            if operand == tensor:
                user.operands[place] = written


@dataclass(frozen=True)
class MaskedWrite:
    """A slice of the first elements of a tensor that is one vector, read and written under a mask, and put back.

    A mask has no lanes outside of the slice: these transfers are in bounds. ``whole``: the write of the vector; ``reads``: those of the
    slice; ``lanes``: the vector's type, of rank 1.
    """

    whole: ir.Operation
    part: ir.Operation
    reads: list[ir.Operation]
    write: ir.Operation
    insert: ir.Operation
    lanes: ir.VectorType

    @classmethod
    def of(cls, insert: ir.Operation) -> "MaskedWrite | None":
        """What ends with this insertion; None where it is another one."""
        write, tensor = made_by(WRITE, insert.operands[0]), insert.operands[1]
        whole, part = made_by(WRITE, tensor), None if write is None else made_by(SLICE, write.operands[1])
        lanes = None if whole is None else one_vector(whole)
        if whole is None or write is None or part is None or lanes is None:
            return None
        mask = mask_of(write, 2)
        if mask is None or part.operands[0] != tensor or write.operands[0].type != lanes or not at_zero(write, 2):
            return None
        reads = [use.owner.operation for use in part.results[0].uses if use.owner.operation != write]
        ours = all(one.name == READ and mask_of(one, 1) == mask and at_zero(one, 1) and one.results[0].type == lanes for one in reads)
        return cls(whole, part, reads, write, insert, lanes) if ours and starts_at_zero(part) and starts_at_zero(insert) else None

    def rewrite(self) -> None:
        """Replaces the reads, and the insertion, by vectors."""
        mask, stored = mask_of(self.write, 2), self.whole.operands[0]
        with ir.InsertionPoint(self.whole), self.whole.location:
            old = stored if stored.type == self.lanes else vector.ShapeCastOp(self.lanes, stored).result
        for one in self.reads:
            with ir.InsertionPoint(one), one.location:
                padding, kept = one.operands[2], old
                if made_by("ub.poison", padding) is None:
                    kept = arith.SelectOp(mask, old, vector.BroadcastOp(self.lanes, padding).result).result
            one.results[0].replace_all_uses_with(kept)
            one.erase()
        with ir.InsertionPoint(self.insert), self.insert.location:
            new = arith.SelectOp(mask, self.write.operands[0], old).result
            self._replace_insert(new if stored.type == self.lanes else vector.ShapeCastOp(stored.type, new).result)
        for op in (self.write, self.part, self.whole):
            if not list(op.results[0].uses):
                op.erase()

    def _replace_insert(self, value: ir.Value) -> None:
        """Gives the vector to those that read the whole, and writes it anew for other uses."""
        result, attributes = self.insert.results[0], self.whole.attributes
        for use in list(result.uses):
            one = use.owner.operation
            if one.name == READ and one.results[0].type == value.type and reads_what_is_written(one, self.whole):
                one.results[0].replace_all_uses_with(value)
                one.erase()
        if list(result.uses):
            operands = [value, *list(self.whole.operands)[1:]]
            made = ir.Operation.create(WRITE, [result.type], operands, {name: attributes[name] for name in attributes})
            result.replace_all_uses_with(made.results[0])
        self.insert.erase()


def one_vector(op: ir.Operation) -> ir.VectorType | None:
    """The type, of rank 1, of a vector that is written as a whole tensor, in bounds and in order; None for another write."""
    if mask_of(op, 2) is not None or not all(flag.value for flag in op.attributes["in_bounds"]):
        return None
    stored, shape = op.operands[0].type, list(op.results[0].type.shape)
    sizes = [size for size in shape if size != 1]
    in_order = op.attributes["permutation_map"].value == ir.AffineMap.get_minor_identity(len(shape), stored.rank)
    if len(sizes) != 1 or [size for size in stored.shape if size != 1] != sizes or not in_order:
        return None
    places = list(op.operands)[2:2 + len(shape)]
    return ir.VectorType.get(sizes, stored.element_type) if all(map(is_zero, places)) else None


def made_by(name: str, value: ir.Value) -> ir.Operation | None:
    """The op that makes a value, if it has this name."""
    op = defining_op(value)
    return op if op is not None and op.name == name else None


def mask_of(transfer: ir.Operation, places: int) -> ir.Value | None:
    """The mask of a transfer whose positions begin at operand ``places``."""
    rest = list(transfer.operands)[places + transfer.operands[places - 1].type.rank:]
    masks = rest[1:] if transfer.name == READ else rest
    return masks[0] if masks else None


def reads_what_is_written(read: ir.Operation, write: ir.Operation) -> bool:
    """Whether a read without a mask takes the elements that a write at the tensor's first element has written."""
    same = mask_of(read, 1) is None and all(read.attributes[name] == write.attributes[name] for name in ("permutation_map", "in_bounds"))
    return same and all(map(is_zero, list(read.operands)[1:1 + read.operands[0].type.rank]))


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
