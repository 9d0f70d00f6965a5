"""tir-fill-memory: fresh memory holds NaNs, or bytes 0xAB, so that what is read before it is written shows in results.

Buffers share an arena by their lifetimes, and calls share arenas: memory that nobody wrote holds what another buffer left there, often
something plausible. So each buffer is filled where its life begins, before memory is planned: main's intermediates and results, kernels'
workspaces and what they put on the stack.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core import fills
from legato.core.ir_helpers import find
from legato.core.mlir import arith, ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

BYTE = 0xAB     # of integers: a number that no shape, index or boolean has


@dataclass(frozen=True)
class FillMemory(ModulePass):
    """Fills each buffer with NaNs, integers with bytes 0xAB, where it is allocated: reads of memory that nobody wrote show in results.

    Runs between tir-extract-workspaces and tir-plan-memory, which puts results into memory of the caller: that is filled, too.
    """

    name: ClassVar[str] = "tir-fill-memory"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for op in find(module.module.operation, "memref.alloc", "memref.alloca"):
                fill(op)


def fill(op: ir.Operation) -> None:
    """Fills the buffer that an op allocates, behind it. Buffers of other elements than numbers stay as they are."""
    buffer = op.results[0]
    value = poison(buffer.type.element_type)
    if value is None:
        return
    operations = op.block.operations
    behind = operations[next(i for i, one in enumerate(operations) if one.operation == op) + 1]
    with ir.InsertionPoint(behind), op.location:
        fills.fill(arith.ConstantOp(buffer.type.element_type, value).result, buffer)


def poison(element: ir.Type) -> ir.Attribute | None:
    """A NaN for floats, bytes 0xAB for integers and indices; None for other types."""
    if isinstance(element, ir.FloatType):
        return ir.FloatAttr.get(element, float("nan"))
    if not isinstance(element, ir.IndexType | ir.IntegerType):
        return None
    bits = 64 if isinstance(element, ir.IndexType) else element.width
    number = int.from_bytes(bytes([BYTE]) * (-(-bits // 8)), "little") & ((1 << bits) - 1)
    return ir.IntegerAttr.get(element, number - (1 << bits) if number >> (bits - 1) else number)
