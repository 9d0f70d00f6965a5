"""Kernels that round what they return to bf16, where only convolutions of bf16 read it."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import ELEMENTWISE, StructuredKernel
from legato.analysis.structured.contraction import VIEWS
from legato.analysis.structured.depthwise import DepthwiseForm
from legato.analysis.structured.ops import StructuredOp
from legato.core.ir_helpers import copy, defining_op, marked
from legato.core.mlir import arith, func, ir, linalg
from legato.dialects.tir.markers import FLUSHES


@dataclass(frozen=True)
class RoundingCalls:
    """A kernel that ends with an elementwise op, which can round its result, too, and its calls."""

    kernel: StructuredKernel
    calls: Sequence[ir.Operation]
    last: StructuredOp
    operands: ClassVar[frozenset[int]] = frozenset()

    @classmethod
    def of(cls, kernel: StructuredKernel, calls: Sequence[ir.Operation]) -> RoundingCalls | None:
        """The calls of a kernel of elementwise ops, or of a depthwise convolution and such ops; None for another one."""
        if not calls or (kernel.kind != ELEMENTWISE and DepthwiseForm.of(kernel) is None) or len(kernel.ops[-1].operands) != 1:
            return None
        result = list(_behind(kernel.ops[-1].operands[0]))[-1]
        op = defining_op(result)
        last = None if op is None or op.name != "linalg.generic" else kernel.op(op)
        if last is None or result.type.element_type != ir.F32Type.get() or not _keeps_order(last) or list(last.scalars[-1].uses):
            return None
        given, returned = list(_behind(last.outputs[0])), list(_behind(kernel.ops[-1].operands[0]))
        is_out = given[-1] == list(kernel.function.arguments)[-1]
        return cls(kernel, calls, last) if is_out and all(map(_has_one_reader, (*given, *returned))) else None

    @property
    def function(self) -> func.FuncOp:
        """The kernel's function."""
        return self.kernel.function

    def copied(self, function: func.FuncOp) -> RoundingCalls | None:
        """The same of a copy of the kernel."""
        return RoundingCalls.of(StructuredKernel(function), self.calls)

    def round(self) -> None:
        """Rounds the result. The argument that it is written to is bf16 already."""
        last, bf16 = self.last, ir.BF16Type.get()
        for value in (*_behind(last.outputs[0]), *_behind(self.kernel.ops[-1].operands[0])):
            value.set_type(ir.RankedTensorType.get(value.type.shape, bf16))
        with ir.InsertionPoint(last.op), last.op.location:
            maps, kinds = (last.op.attributes[name] for name in ("indexing_maps", "iterator_types"))
            made = linalg.GenericOp([last.outputs[0].type], last.inputs, last.outputs, maps, kinds)
        block = made.regions[0].blocks.append(*[scalar.type for scalar in last.scalars[:-1]], bf16)
        with ir.InsertionPoint(block), last.op.location:
            *body, end = last.body
            known = copy(body, dict(zip(last.scalars, block.arguments)))
            value = known.get(end.operands[0], end.operands[0])
            linalg.YieldOp([marked(arith.TruncFOp(bf16, value).result, FLUSHES)])
        last.op.results[0].replace_all_uses_with(made.results[0])
        last.op.erase()


def rounded_into(value: ir.Value, memory: ir.Value) -> ir.Value:
    """A tensor of f32, rounded to bf16 in the memory of another."""
    rank, bf16 = value.type.rank, ir.BF16Type.get()
    identity = ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))
    kinds = ir.ArrayAttr.get([ir.Attribute.parse("#linalg.iterator_type<parallel>")] * rank)
    made = linalg.GenericOp([memory.type], [value], [memory], ir.ArrayAttr.get([identity, identity]), kinds)
    block = made.regions[0].blocks.append(value.type.element_type, bf16)
    with ir.InsertionPoint(block):
        linalg.YieldOp([marked(arith.TruncFOp(bf16, block.arguments[0]).result, FLUSHES)])
    return made.results[0]


def _keeps_order(op: StructuredOp) -> bool:
    """Whether all that an elementwise op reads is in the order in which it writes: a transpose writes single elements, and the narrower
    these, the slower."""
    orders = [[loop for loop in op.loops_of(number) if loop is not None] for number in range(len(op.maps))]
    return op.parallel and op.plain and all(order == sorted(order) for order in orders)


def _has_one_reader(value: ir.Value) -> bool:
    """Whether one op uses a tensor, besides those that take its sizes."""
    return sum(use.owner.name != "tensor.dim" for use in value.uses) == 1


def _behind(value: ir.Value) -> Iterator[ir.Value]:
    """A tensor, and what it is a view of."""
    yield value
    op = defining_op(value)
    while op is not None and op.name in VIEWS:
        value = op.operands[0]
        yield value
        op = defining_op(value)
