"""tir-prefetch-weights: the loops of contractions fetch the part of the weight that they read next while they compute.

Inside a model, weights come from memory: between two calls of a kernel the others have filled the caches. The hardware's own prefetching
ends at each page of 4 KB, which a step of a packed weight of 32 columns of f32 goes through in 32 steps.
"""
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from legato.core.dtypes import element_bytes
from legato.core.ir_helpers import body, find, index
from legato.core.mlir import arith, ir, memref
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

LINE = 64               # bytes of a cache line
STEPS = 16              # of the reduction, between a fetch and the use; 16 to 48 measured alike
LARGE = 256 << 10       # bytes of a weight, from which on it leaves the inner caches between two calls
IN_REGISTERS = 16       # accumulators of several contractions in one loop; with more, the addresses of the fetches make them spill


@dataclass(frozen=True)
class PrefetchWeights(ModulePass):
    """Adds memref.prefetch to the reductions of contractions, for large weights that are arguments of the kernel.

    It fetches what is read 16 steps later, behind the weight's end in the last of them, which does no harm.
    """

    name: ClassVar[str] = "tir-prefetch-weights"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for kernel in tir.prim_funcs(module.module):
                for loop in find(kernel.operation, "scf.for") if not kernel.is_external else ():
                    for read in list(_weights(loop)):
                        _prefetch(read, loop)


def _weights(loop: ir.Operation) -> Iterator[ir.Operation]:
    """The reads of large weights in the steps of a contraction."""
    ops = body(loop.regions[0].blocks[0])
    contractions = [op for op in ops if op.name == "vector.contract"]
    if not contractions or (len(contractions) > 1 and sum(_registers(op.results[0].type) for op in contractions) > IN_REGISTERS):
        return
    for op in ops:
        if op.name == "vector.transfer_read" and isinstance(op.operands[0].owner, ir.Block):
            type_ = op.operands[0].type
            if type_.has_static_shape and prod(type_.shape) * element_bytes(type_.element_type) >= LARGE and _steps_through(op, loop):
                yield op


def _registers(type_: ir.Type) -> int:
    """The vector registers of 64 bytes that a vector or a number takes."""
    if not isinstance(type_, ir.VectorType):
        return 1
    return -(-prod(type_.shape) * element_bytes(type_.element_type) // LINE)


def _steps_through(read: ir.Operation, loop: ir.Operation) -> bool:
    """Whether each step of the loop reads whole cache lines of another place."""
    rank = read.operands[0].type.rank
    indices = list(read.operands)[1:1 + rank]
    width = prod(read.results[0].type.shape[-1:]) * element_bytes(read.operands[0].type.element_type)
    return width >= LINE and loop.regions[0].blocks[0].arguments[0] in indices[:-1]


def _prefetch(read: ir.Operation, loop: ir.Operation) -> None:
    """Fetches the lines that ``read`` reads some steps later."""
    buffer, variable = read.operands[0], loop.regions[0].blocks[0].arguments[0]
    size = element_bytes(buffer.type.element_type)
    width = read.results[0].type.shape[-1]
    with ir.InsertionPoint(read), read.location:
        later = arith.addi(variable, index(STEPS))
        *outer, last = [later if value == variable else value for value in list(read.operands)[1:1 + buffer.type.rank]]
        for first in range(0, width, LINE // size):
            memref.PrefetchOp(buffer, [*outer, arith.addi(last, index(first)) if first else last], False, 3, True)
