"""tir-mark-pieces: marks kernels whose output is a contiguous piece of their input, for tir-plan-memory."""
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.indices.arithmetic import Evaluator
from legato.analysis.indices.sizes import SizeNumbers
from legato.core.dtypes import element_bytes
from legato.core.ir_helpers import body, constant_number, defining_op, mixed, terminator
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax.dims import UNKNOWN, Size, product, symbol
from legato.dialects.tir.markers import PIECE
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

SLICE = "tensor.extract_slice"
RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape", "tensor.cast")
DIM, ARITHMETIC = "tensor.dim", ("arith.", "affine.")
AXIS = "x"      # and a number: the name of the size of an axis of the input


@dataclass(frozen=True)
class MarkPieces(ModulePass):
    """Marks a kernel that only takes a slice whose elements are next to each other in memory: ``tir.piece``, the byte of its input at which
    its output begins. Where that depends on the input's sizes it is a text, in which these are ``x0``, ``x1``, ... To be run before the
    kernel is scheduled, while it is a slice."""

    name: ClassVar[str] = "tir-mark-pieces"
    rounding: ClassVar[Rounding] = EXACT
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in tir.prim_funcs(module.module):
                begin = UNKNOWN if kernel.is_external else first_byte(kernel)
                if begin is not UNKNOWN:
                    kernel.attributes[PIECE] = (ir.IntegerAttr.get(ir.IntegerType.get_signless(64), begin) if isinstance(begin, int)
                                                else ir.StringAttr.get(str(begin)))


def first_byte(kernel: func.FuncOp) -> Size:
    """Where in its only input a kernel's only output begins, in bytes; UNKNOWN for a kernel that does more than take a contiguous slice,
    and where it depends on more than the input's sizes."""
    block = kernel.body.blocks[0]
    ops = list(body(block))
    slices = [op for op in ops if op.name == SLICE]
    if tir.out_count(kernel) != 1 or len(block.arguments) != 2 or len(slices) != 1 or any(
            op.name not in (SLICE, *RESHAPES, DIM) and not op.name.startswith(ARITHMETIC) for op in ops):
        return UNKNOWN
    value = terminator(block).operands[0]
    while (op := defining_op(value)) is not None:
        value = op.operands[0]
    return contiguous_offset(slices[0], value) * element_bytes(value.type.element_type) if value == block.arguments[0] else UNKNOWN


def contiguous_offset(op: ir.Operation, given: ir.Value) -> Size:
    """The number of a slice's first element in its source, in row-major order; UNKNOWN where its elements are not known to be next to each
    other there, or its place is not known. ``given``: the kernel's input."""
    def dimension(value: ir.Value) -> Size | None:
        made = defining_op(value)
        axis = None if made is None or made.name != DIM or made.operands[0] != given else constant_number(made.operands[1])
        return None if axis is None else axis_size(given.type, int(axis))

    known = Evaluator(SizeNumbers(dimension))

    def sizes_of(name: str) -> list[Size]:
        found = (one if isinstance(one, int) else known.value(one) for one in mixed(op, name))
        return [UNKNOWN if one is None else one for one in found]

    source = op.operands[0]
    shape = [axis_size(source.type, axis) if source == given or not source.type.is_dynamic_dim(axis) else UNKNOWN
             for axis in range(source.type.rank)]
    offsets, sizes, strides = map(sizes_of, ("offsets", "sizes", "strides"))
    first = next((axis for axis, size in enumerate(sizes) if size != 1), len(sizes))
    if strides[first:first + 1] not in ([], [1]) or any(
            shape[axis] is UNKNOWN or (offsets[axis], sizes[axis], strides[axis]) != (0, shape[axis], 1)
            for axis in range(first + 1, len(sizes))):
        return UNKNOWN
    # behind the first axis offsets are 0
    return sum((offset * product(shape[axis + 1:]) for axis, offset in enumerate(offsets[:first + 1])), 0)


def axis_size(type_: ir.Type, axis: int) -> Size:
    """The size of an axis of the input."""
    return symbol(f"{AXIS}{axis}") if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
