"""Helpers for passes that decide which groups are worth a call: they run between matching and merging, and may veto groups.

    class OnlyLarge(ModulePass):
        name = "my-only-large"

        def run(self, module, context):
            for group in groups(module, "npu"):
                if group.result_elements() < 4096:
                    veto(group, "too small to pay for a call")
"""
from __future__ import annotations

from dataclasses import dataclass

from legato.core.errors import LegatoError
from legato.core.ir_helpers import text_of
from legato.core.mlir import func, ir
from legato.dialects.module import Module
from legato.dialects.relax.markers import COMPOSITE, VETO
from legato.dialects.relax.types import TensorType
from legato.passes.partition.marks import CODEGEN


@dataclass(frozen=True)
class Group:
    """A composite. ``function`` contains its ops; ``backend``: its backend; ``composite``: its pattern (``"npu.conv2d"``)."""

    function: func.FuncOp
    backend: str
    composite: str

    @property
    def ops(self) -> list[ir.Operation]:
        """The ops of the group, without constants and the return."""
        return [op.operation for op in self.function.body.blocks[0].operations
                if op.operation.name not in ("relax.constant", "func.return")]

    @property
    def inputs(self) -> list[TensorType]:
        """Sizes and element types of the inputs, without constants."""
        return [TensorType.of(t) for t in self.function.type.inputs]

    @property
    def results(self) -> list[TensorType]:
        """Sizes and element types of the results."""
        return [TensorType.of(t) for t in self.function.type.results]

    def result_elements(self) -> int:
        """The number of elements of the results; a symbolic size counts as 1."""
        total = 0
        for result in self.results:
            count = 1
            for size in result.dims:
                count *= size if isinstance(size, int) else 1
            total += count
        return total


def groups(module: Module, backend: str | None = None) -> list[Group]:
    """The composites in the host part that have no veto, in order."""
    found = []
    for function in module.functions():
        composite, of = text_of(function, COMPOSITE), text_of(function, CODEGEN)
        if composite and of and VETO not in function.operation.attributes and backend in (None, of):
            found.append(Group(function, of, composite))
    return found


def veto(group: Group, reason: str) -> None:
    """Leaves the group to the host: it is not merged with others, and is inlined again when the others are outlined. ``reason``: for
    explain; LegatoError without one."""
    if not isinstance(reason, str) or not reason:
        raise LegatoError(f"veto takes the reason why @{group.function.name.value} stays with the host, found {reason!r}")
    group.function.operation.attributes[VETO] = ir.StringAttr.get(reason)
