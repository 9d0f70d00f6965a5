"""Kernels that put tensors beside each other, through which bf16 passes; what of it is f32 is rounded on the way."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import StructuredKernel
from legato.core.mlir import func, ir
from legato.passes.cpu.matrices.rounding import rounded_into

INSERT = "tensor.insert_slice"
OTHERS = ("arith.constant", "tensor.dim", "affine.apply", "arith.addi", "arith.muli")


@dataclass(frozen=True)
class ConcatCalls:
    """A kernel that inserts its arguments, each once, into its result, and its calls."""

    kernel: StructuredKernel
    calls: Sequence[ir.Operation]
    inserts: Sequence[ir.Operation]
    needed: ClassVar[frozenset[int]] = frozenset()      # operands that have to be bf16 where the result is

    @classmethod
    def of(cls, kernel: StructuredKernel, calls: Sequence[ir.Operation]) -> ConcatCalls | None:
        """The calls of a kernel of f32; None for another one."""
        *ops, end = [op.operation for op in kernel.function.body.blocks[0].operations]
        inserts = [op for op in ops if op.name == INSERT]
        *arguments, out = list(kernel.function.arguments)
        if not calls or not inserts or not all(op.name in (INSERT, *OTHERS) for op in ops) or len(end.operands) != 1:
            return None
        chain = [out, *(op.results[0] for op in inserts)]
        follow = all(op.operands[1] == before for op, before in zip(inserts, chain)) and end.operands[0] == chain[-1]
        sources = [op.operands[0] for op in inserts]
        plain = all(isinstance(one.type, ir.RankedTensorType) and one.type.element_type == ir.F32Type.get() for one in (*sources, out))
        return cls(kernel, calls, inserts) if follow and plain and sources == arguments else None

    @property
    def operands(self) -> frozenset[int]:
        """The numbers of the operands that can be bf16."""
        return frozenset(range(len(self.inserts)))

    @property
    def function(self) -> func.FuncOp:
        """The kernel's function."""
        return self.kernel.function

    def copied(self, function: func.FuncOp) -> ConcatCalls | None:
        """The same of a copy of the kernel."""
        return ConcatCalls.of(StructuredKernel(function), self.calls)

    def narrow(self) -> None:
        """Lets the kernel, whose result is bf16 already, and so are some of its arguments, round the others."""
        bf16 = ir.BF16Type.get()
        for op in self.inserts:
            source = op.operands[0]
            op.results[0].set_type(ir.RankedTensorType.get(op.results[0].type.shape, bf16))
            if source.type.element_type != bf16:
                with ir.InsertionPoint(op), op.location:
                    op.operands[0] = _rounded(source, op)


def _rounded(source: ir.Value, insert: ir.Operation) -> ir.Value:
    """A tensor rounded to bf16, in the memory that it is inserted into."""
    bf16, kept = ir.BF16Type.get(), ("static_offsets", "static_sizes", "static_strides")
    _, into, *sizes = insert.operands
    _, _, *segments = insert.attributes["operandSegmentSizes"]
    attributes = {name: insert.attributes[name] for name in kept} | {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, *segments])}
    type_ = ir.RankedTensorType.get(source.type.shape, bf16)
    memory = ir.Operation.create("tensor.extract_slice", [type_], [into, *sizes], attributes).results[0]
    return rounded_into(source, memory)
