"""tir-hoist-row-math: functions of what is one number for each row, as the logarithm of a row's sum, move to a nest of their own.

Fusion puts them into the nest over the elements of rows, where each row computes one in a scalar. On their own, schedules of rows compute
those of as many rows as a vector has lanes at once.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import StructuredKernel, StructuredOp
from legato.core.elementwise import elementwise
from legato.core.ir_helpers import copy
from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class HoistRowMath(ModulePass):
    """Moves functions of the results of reductions out of the nests that read these for each element of a row."""

    name: ClassVar[str] = "tir-hoist-row-math"
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for kernel in tir.schedulable(module.module):
                structured = context.kernels.of(kernel)
                found = list(row_math(structured))
                for one in found:
                    one.hoist()
                if found:
                    context.kernels.drop(kernel)


@dataclass
class RowMath:
    """A function in a nest, of its ``operand``, the result of a reduction, alone. ``ops``: of the nest's body, the function the last."""

    nest: StructuredOp
    operand: int
    ops: list[ir.Operation]

    def hoist(self) -> None:
        """Computes it in a nest before, whose result takes the operand's place."""
        op, scalar = self.nest.op, self.nest.scalars[self.operand]
        result = self.ops[-1].results[0]
        with ir.InsertionPoint(op), op.location:
            made = elementwise(op.operands[self.operand], result.type, lambda element: copy(self.ops, {scalar: element})[result])
        result.replace_all_uses_with(scalar)
        for one in reversed(self.ops):
            one.erase()
        op.operands[self.operand] = made


def row_math(kernel: StructuredKernel) -> Iterator[RowMath]:
    """All of a kernel."""
    reductions = {result for nest in kernel.nests if not nest.parallel for result in nest.op.results}
    for nest in kernel.nests if reductions else ():
        if not nest.parallel or len(nest.op.results) != 1 or not nest.writes_plainly or not nest.out_loops:
            continue
        for operand, value in enumerate(nest.inputs):
            if value not in reductions:
                continue
            loops = nest.loops_of(operand)
            if None not in loops and len(set(loops)) == len(loops) and nest.out_loops[-1] not in loops:
                ops = function_of(nest.scalars[operand])
                if ops is not None:
                    yield RowMath(nest, operand, ops)


def function_of(scalar: ir.Value) -> list[ir.Operation] | None:
    """The ops that are computed one after the other of a scalar that only the first reads, up to the last that takes long and has its type;
    None where none does."""
    ops: list[ir.Operation] = []
    longest, value = 0, scalar
    while len(users := {use.owner.operation for use in value.uses}) == 1:
        (user,) = users
        if len(user.results) != 1 or any(one != value and not is_outside(one, scalar.owner) for one in user.operands):
            break
        ops.append(user)
        value = user.results[0]
        if StructuredOp.takes_long(user) and value.type == scalar.type:
            longest = len(ops)
    return ops[:longest] or None


def is_outside(value: ir.Value, block: ir.Block) -> bool:
    """Whether a value is made outside of a nest's body, as a constant."""
    return value.owner != block if isinstance(value.owner, ir.Block) else value.owner.operation.block != block
