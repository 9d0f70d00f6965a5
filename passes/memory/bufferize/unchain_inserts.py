"""tir-unchain-inserts: a long chain of inserts into a kernel's output becomes as many writes into slices of the output's buffer.

That is what bufferization makes of the chain, by an analysis that is cubic in its length: a concatenation of 500 tensors took 47 s.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import terminator
from legato.core.mlir import bufferization, func, ir, memref
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

SHORTEST = 16  # up to here the analysis takes less than a millisecond an insert
INSERT = "tensor.insert_slice"
SOURCE, INTO = 0, 1  # operands of an insert; dynamic offsets, sizes and strides follow


@dataclass(frozen=True)
class UnchainInserts(ModulePass):
    """Long chains of tensor.insert_slice into outputs of kernels write to slices of the output's buffer."""

    name: ClassVar[str] = "tir-unchain-inserts"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for kernel in tir.prim_funcs(module.module):
                unchain_inserts(kernel)


def unchain_inserts(kernel: func.FuncOp) -> None:
    """Rewrites the chains of one kernel. Nothing but the next insert may read a link; nothing else may read the output."""
    last = terminator(kernel.body.blocks[0])
    for i, value in enumerate(list(last.operands)):
        inserts = chain(value)
        if len(inserts) < SHORTEST:
            continue
        out = inserts[0].operands[INTO]
        if not isinstance(out.owner, ir.Block) or uses(out) != 1 or out not in list(kernel.arguments)[-len(last.operands):]:
            continue
        type_ = ir.MemRefType.get(out.type.shape, out.type.element_type)
        with ir.InsertionPoint.at_block_begin(kernel.body.blocks[0]), last.location:
            buffer = bufferization.ToBufferOp(type_, out).result
        for insert in inserts:
            with ir.InsertionPoint(insert), insert.location:
                write(insert, buffer)
        with ir.InsertionPoint(last), last.location:
            last.operands[i] = bufferization.ToTensorOp(out.type, buffer, restrict=True, writable=True).result
        for insert in reversed(inserts):
            insert.erase()


def chain(value: ir.Value) -> list[ir.Operation]:
    """The inserts that make a value, the first one first, as far as each is read by the next alone."""
    found: list[ir.Operation] = []
    while not isinstance(value.owner, ir.Block) and value.owner.name == INSERT and uses(value) == 1:
        found.append(value.owner)
        value = value.owner.operands[INTO]
    return found[::-1]


def uses(value: ir.Value) -> int:
    """The number of uses of a value."""
    return sum(1 for _ in value.uses)


def write(insert: ir.Operation, buffer: ir.Value) -> None:
    """Writes what is inserted to its place in the buffer."""
    offsets, sizes, strides = (list(insert.attributes[f"static_{name}"]) for name in ("offsets", "sizes", "strides"))
    dynamic = list(insert.operands)[INTO + 1:]
    counts = [int(n) for n in insert.attributes["operandSegmentSizes"]][INTO + 1:]
    at, extents, by = (dynamic[sum(counts[:n]): sum(counts[:n + 1])] for n in range(3))
    whole, source = buffer.type, insert.operands[SOURCE]
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    around, _ = whole.get_strides_and_offset()
    steps = [times(a, s) for a, s in zip(around, strides)]
    moved = [times(o, a) for o, a in zip(offsets, around)]
    start = unknown if unknown in moved else sum(moved)
    kept = kept_dims(sizes, list(source.type.shape))
    layout = ir.StridedLayoutAttr.get(start, [steps[d] for d in kept])
    type_ = ir.MemRefType.get(source.type.shape, whole.element_type, layout)
    part = memref.SubViewOp(type_, buffer, at, extents, by, offsets, sizes, strides).result
    bufferization.MaterializeInDestinationOp(None, source, part, restrict=True, writable=True)


def times(a: int, b: int) -> int:
    """A product of numbers that may be unknown; 0 times any number is 0, as in the type that memref.subview verifies."""
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    return 0 if 0 in (a, b) else unknown if unknown in (a, b) else a * b


def kept_dims(sizes: list[int], shape: list[int]) -> list[int]:
    """The dimensions of a slice of these sizes that a tensor of this shape has: the others are of size 1, the first that can be."""
    kept, left = [], len(sizes) - len(shape)
    for d, size in enumerate(sizes):
        if left and size == 1 and (len(kept) == len(shape) or shape[len(kept)] != 1):
            left -= 1
            continue
        kept.append(d)
    return kept
