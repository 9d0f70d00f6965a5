"""tir-nest-slices: a slice that is written back into another one is taken from that one.

Upstream's patterns make one slice of a slice of a slice. Where the inner one's result is inserted into the outer one again, as where a loop
over vectors is peeled, bufferization no longer sees that it goes to where it came from: it copies the outer one, twice.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find, mixed
from legato.core.mlir import ir, tensor
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

INSERT, SLICE = "tensor.insert_slice", "tensor.extract_slice"
# the operand in whose place an op computes its only result
IN_PLACE = {INSERT: 1, "tensor.cast": 0, "vector.transfer_write": 1}
BOUNDS = 3   # operands of a loop in front of what it carries


@dataclass(frozen=True)
class NestSlices(ModulePass):
    """In kernels, tensor.extract_slice of a tensor whose result ends in a tensor.insert_slice, at its beginning, into another slice of the
    same tensor at the same place becomes a slice of that one."""

    name: ClassVar[str] = "tir-nest-slices"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for kernel in tir.prim_funcs(module.module):
                for insert in find(kernel.operation, INSERT):
                    part, into = origin(insert.operands[0]), insert.operands[1].owner
                    if part is not None and not isinstance(into, ir.Block) and at_one_place(part, into.operation, insert):
                        nest(part, into.operation)


def origin(value: ir.Value) -> ir.Operation | None:
    """The slice in whose place a value is computed; None where there is none."""
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        if op.name == SLICE:
            return op
        if op.name == "scf.for":
            value = op.operands[BOUNDS + ir.OpResult(value).result_number]
        elif op.name in IN_PLACE:
            value = op.operands[IN_PLACE[op.name]]
        else:
            return None
    return None


def at_one_place(part: ir.Operation, whole: ir.Operation, insert: ir.Operation) -> bool:
    """Whether two slices of one tensor begin at the same element, and ``insert`` writes the one to where it is in the other."""
    if whole.name != SLICE or part == whole or part.operands[0] != whole.operands[0] or not _precedes(whole, part):
        return False
    if any(step != 1 for op in (part, whole, insert) for step in op.attributes["static_strides"]):
        return False
    if any(mixed(insert, "offsets")) or len(part.results[0].type.shape) != len(whole.results[0].type.shape):
        return False
    return mixed(part, "offsets") == mixed(whole, "offsets") and mixed(part, "sizes") == mixed(insert, "sizes")


def _precedes(whole: ir.Operation, part: ir.Operation) -> bool:
    return whole.block == part.block and whole.is_before_in_block(part)


def nest(part: ir.Operation, whole: ir.Operation) -> None:
    """Takes ``part`` from the beginning of ``whole``."""
    sizes = mixed(part, "sizes")
    with ir.InsertionPoint(part), part.location:
        made = slice_of(whole.results[0], sizes)
    part.results[0].replace_all_uses_with(made)
    part.erase()


def slice_of(value: ir.Value, sizes: Sequence[int | ir.Value]) -> ir.Value:
    """The first elements of a tensor in each dimension."""
    static = [size if isinstance(size, int) else ir.ShapedType.get_dynamic_size() for size in sizes]
    type_ = ir.RankedTensorType.get(static, value.type.element_type)
    dynamic = [size for size in sizes if not isinstance(size, int)]
    rank = len(static)
    return tensor.ExtractSliceOp(type_, value, [], dynamic, [], [0] * rank, static, [1] * rank).result
