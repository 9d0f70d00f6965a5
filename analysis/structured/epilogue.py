"""Elementwise ops on the result of one op of a kernel, of which they make the kernel's result."""
from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from legato.analysis.structured.elements import VIEWS, Index, Untraceable, is_given, tensor_leaves
from legato.core.ir_helpers import defining_op, everything
from legato.core.mlir import ir
from legato.core.views import root_of

if TYPE_CHECKING:
    from legato.analysis.structured.kernel_ops import KernelOps


class Epilogue:
    """What forms share. A form has the ``kernel``, and defines ``terms``, ``result``, and ``out`` where the kernel's result has another
    order than the op's."""

    kernel: KernelOps
    with_sizes: ClassVar[bool] = False
    """Whether the elementwise ops may read scalars that the kernel computes of sizes."""

    @property
    def terms(self) -> Index:
        """The terms of an element of the result."""
        raise NotImplementedError

    @property
    def result(self) -> ir.Value:
        """The op's result, of which the epilogue makes the kernel's."""
        raise NotImplementedError

    @property
    def out(self) -> Index:
        """The terms of an element of the kernel's result."""
        return self.terms

    @property
    def returned(self) -> ir.Value:
        """The kernel's result."""
        return self.kernel.ops[-1].operands[0]

    @cached_property
    def reads(self) -> list[tuple[ir.Value, Index]]:
        """The elements that the epilogue reads, besides those of the op's result."""
        return [one for one in self._leaves() if one[0] != self.result]

    @property
    def in_place(self) -> list[ir.BlockArgument]:
        """The arguments in whose memory the kernel's result may lie, where its elements are written one after the other, and once: of the
        result's type, and read by the epilogue only, for the element of the same place."""
        *arguments, out = self.kernel.function.arguments
        before = _ancestors(self.result)
        places = {one: {(tensor, index) for tensor, index in self.reads if root_of(tensor, VIEWS) == one} for one in arguments}
        return [one for one in arguments if one.type == out.type and one not in before and places[one] == {(one, self.out)}]

    def is_traceable(self, operands: Sequence[ir.Value]) -> bool:
        """Whether the epilogue takes each element of the result in its place, and what it reads, and these operands, are given."""
        try:
            own = {index for tensor, index in self._leaves() if tensor == self.result}
            return own == {self.terms} and all(is_given(tensor) for tensor in [*operands, *(tensor for tensor, _ in self.reads)])
        except Untraceable:
            return False

    def _leaves(self) -> list[tuple[ir.Value, Index]]:
        return tensor_leaves(self.kernel, self.returned, self.out, self.result, self.with_sizes)


def _ancestors(value: ir.Value) -> set[ir.Value]:
    """The values that an op's result is computed from, those that bodies read among them."""
    found: set[ir.Value] = set()
    queue = [value]
    while queue:
        owner = defining_op(queue.pop())
        new = set() if owner is None else {operand for op in everything(owner) for operand in op.operands} - found
        found |= new
        queue += new
    return found
