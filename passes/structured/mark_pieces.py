"""tir-mark-pieces: marks kernels whose output is a contiguous piece of their input, for tir-plan-memory."""
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from legato.core.dtypes import element_bytes
from legato.core.ir_helpers import body, defining_op, terminator
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.markers import PIECE
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

SLICE = "tensor.extract_slice"
RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape", "tensor.cast")


@dataclass(frozen=True)
class MarkPieces(ModulePass):
    """Marks a kernel that only takes a slice of static sizes whose elements are next to each other in memory: ``tir.piece``, the byte of
    its input at which its output begins. To be run before the kernel is scheduled, while it is a slice."""

    name: ClassVar[str] = "tir-mark-pieces"
    rounding: ClassVar[Rounding] = EXACT
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in tir.prim_funcs(module.module):
                begin = None if kernel.is_external else first_byte(kernel)
                if begin is not None:
                    kernel.attributes[PIECE] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), begin)


def first_byte(kernel: func.FuncOp) -> int | None:
    """Where in its only input a kernel's only output begins, in bytes; None for a kernel that does more than take a contiguous slice."""
    block = kernel.body.blocks[0]
    ops = list(body(block))
    slices = [op for op in ops if op.name == SLICE]
    if tir.out_count(kernel) != 1 or len(block.arguments) != 2 or len(slices) != 1 or any(op.name not in (SLICE, *RESHAPES) for op in ops):
        return None
    value = terminator(block).operands[0]
    while (op := defining_op(value)) is not None:
        value = op.operands[0]
    offset = contiguous_offset(slices[0])
    return None if value != block.arguments[0] or offset is None else offset * element_bytes(value.type.element_type)


def contiguous_offset(op: ir.Operation) -> int | None:
    """The number of a slice's first element in its source, in row-major order; None where its elements are not next to each other there, or
    its place is not static."""
    shape = op.operands[0].type.shape
    offsets, sizes, strides = (list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"])) for name in ("offsets", "sizes", "strides"))
    if len(op.operands) > 1 or any(one < 0 for one in (*shape, *offsets, *sizes)):
        return None
    first = next((axis for axis, size in enumerate(sizes) if size != 1), len(sizes))
    if strides[first:first + 1] not in ([], [1]) or any(
            (offsets[axis], sizes[axis], strides[axis]) != (0, shape[axis], 1) for axis in range(first + 1, len(sizes))):
        return None
    return sum(offset * prod(shape[axis + 1:]) for axis, offset in enumerate(offsets))
