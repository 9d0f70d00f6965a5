"""Kernels that differ only in numbers that they compute with, as the layers of a quantized network do in their scales, are scheduled once.

While the first of them is scheduled, its numbers that differ are arguments. The others get copies of what the schedule makes of it, and
each its own numbers back, as constants: what comes later asks for them.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from legato.analysis.kernel_text import SameKernels, is_table
from legato.core.ir_helpers import element_of
from legato.core.mlir import arith, func, ir
from legato.dialects.tir.kernel import add_argument

COMPUTES = ("arith.", "math.")
INTEGER_USERS = ("arith.addi", "arith.subi", "arith.select")


def is_free(constant: ir.Operation, user: str) -> bool:
    """Whether no schedule depends on a constant that an op of this name takes: a float of arithmetic, rather than the start of a reduction
    or padding, and an integer that is added or selected."""
    return user.startswith(COMPUTES) and not is_table(constant) and (
        isinstance(element_of(constant.results[0].type), ir.FloatType) or user in INTEGER_USERS)


@dataclass(frozen=True)
class SharedSchedule:
    """Kernels, by name, of which only the first is scheduled. ``numbers``: for each argument that it has meanwhile, that of each kernel;
    ``attributes``: the kernels' own."""

    kernels: Sequence[str]
    numbers: Sequence[Sequence[ir.Attribute]]
    attributes: Sequence[Mapping[str, ir.Attribute]]

    @classmethod
    def begin(cls, same: SameKernels) -> SharedSchedule:
        """Gives the first kernel arguments in the place of numbers."""
        attributes = [dict(kernel.attributes.items()) for kernel in same.kernels]
        differing = same.differing()
        for numbers, uses in differing.items():
            argument = add_argument(same.kernels[0], numbers[0].type)
            for op, place in uses:
                op.operands[place] = argument
        return cls([kernel.name.value for kernel in same.kernels], list(differing), attributes)

    def end(self, kernels: Mapping[str, func.FuncOp]) -> None:
        """Gives the others the body of the first, which is scheduled, and all their numbers."""
        first, *others = (kernels[name] for name in self.kernels)
        for place, other in enumerate(others, 1):
            body = first.operation.clone()
            self._put(body, place)
            with ir.InsertionPoint(other), other.location:
                made = ir.Operation.create("func.func", attributes=dict(self.attributes[place]), regions=1)
            body.regions[0].blocks[0].append_to(made.regions[0])
            for used in (body, other.operation):
                used.erase()
        self._put(first.operation, 0)

    def _put(self, kernel: ir.Operation, place: int) -> None:
        """Puts constants in the place of the arguments."""
        block = kernel.regions[0].blocks[0]
        arguments = list(block.arguments)
        with ir.InsertionPoint.at_block_begin(block), kernel.location:
            for argument, numbers in zip(arguments[len(arguments) - len(self.numbers):], self.numbers, strict=True):
                argument.replace_all_uses_with(arith.ConstantOp(argument.type, numbers[place]).result)
        for _ in self.numbers:
            block.erase_argument(len(block.arguments) - 1)
        for name, attribute in self.attributes[place].items():
            kernel.attributes[name] = attribute
