"""tir-share-copies: threads share large copies, which have no schedule that splits them: what slices, concatenations and pads move."""
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from legato.core.dtypes import element_bytes
from legato.core.ir_helpers import body, index
from legato.core.mlir import arith, ir, memref, scf
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import EXACT, Rounding

WORTH_IT = 1 << 18  # bytes from which on a parallel region pays
PIECES = (4, 3, 2, 1)   # parts for each thread, which takes the next one when it is through
GRAIN = 1 << 16     # bytes of a part, at least


@dataclass(frozen=True)
class ShareCopies(ModulePass):
    """Copies of static sizes in kernels, outside of loops, become parallel loops over copies of parts.

    Kernels with serial loops stay: these may write to lines of memory that another core has just written, as around an image that is
    padded.
    """

    name: ClassVar[str] = "tir-share-copies"
    rounding: ClassVar[Rounding] = EXACT
    target: TargetText = option("llvm", "the target whose threads share copies")

    def run(self, module: Module, context: PassContext) -> None:
        threads = context.cpu(self.target).threads
        if threads < 2:
            return
        with module.context:
            for kernel in tir.prim_funcs(module.module):
                ops = [] if kernel.is_external else body(kernel.body.blocks[0])
                for op in ops if all(op.name != "scf.for" and not op.name.startswith("linalg.") for op in ops) else ():
                    if op.name == "memref.copy" and (split := split_of(op.operands[0].type, threads)) is not None:
                        with ir.InsertionPoint(op), op.location:
                            share(op, *split)
                        op.erase()


def split_of(type_: ir.MemRefType, threads: int) -> tuple[int, int, int] | None:
    """The dimension that is split, into how many parts, and the size of a part; None where one thread is as fast. Parts leave as little as
    possible for the thread that starts them."""
    if not type_.has_static_shape:
        return None
    size = prod(type_.shape) * element_bytes(type_.element_type)
    if size < WORTH_IT:
        return None
    for dim, extent in enumerate(type_.shape):
        counts = [threads * pieces for pieces in PIECES if threads * pieces <= extent and (pieces == 1 or size >= threads * pieces * GRAIN)]
        if counts:
            count = min(counts, key=lambda count: extent % count)
            return dim, count, extent // count
    return None


def share(copy: ir.Operation, dim: int, count: int, part: int) -> None:
    """Builds the parallel loop over the parts of a copy, and the copy of what they leave over."""
    loop = scf.ForallOp([0], [count], [1], [])
    with ir.InsertionPoint(loop.body):
        begin = arith.muli(loop.induction_variables[0], index(part))
        memref.CopyOp(*slices(copy, dim, begin, part))
        scf.InParallelOp()
    if rest := copy.operands[0].type.shape[dim] - count * part:
        memref.CopyOp(*slices(copy, dim, index(count * part), rest))


def slices(copy: ir.Operation, dim: int, begin: ir.Value, size: int) -> Iterator[ir.Value]:
    """What is copied and where to, from ``begin`` on, ``size`` elements of a dimension."""
    for buffer in copy.operands:
        type_, unknown = buffer.type, ir.ShapedType.get_dynamic_stride_or_offset()
        shape = [size if number == dim else extent for number, extent in enumerate(type_.shape)]
        layout = ir.StridedLayoutAttr.get(unknown, list(type_.get_strides_and_offset()[0]))
        offsets = [unknown if number == dim else 0 for number in range(type_.rank)]
        yield memref.SubViewOp(ir.MemRefType.get(shape, type_.element_type, layout), buffer, [begin], [], [], offsets, shape,
                               [1] * type_.rank).result
