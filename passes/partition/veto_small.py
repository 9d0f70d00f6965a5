"""relax-veto-small: leaves groups of few ops to the host, where a call would cost more than it saves."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import func, ir
from legato.dialects.module import Module
from legato.dialects.relax.markers import COMPOSITE, VETO
from legato.passes.partition.marks import backend_of_function
from legato.passes.pipeline.base import ModulePass, PassContext, option

NO_OPS = ("relax.constant", "tensor.empty", "func.return")


@dataclass(frozen=True)
class VetoSmall(ModulePass):
    """Marks groups of fewer ops than a backend wants (relax.veto): relax-outline-external puts them back. It runs after the merging of
    groups, whose ops count together. Functions that were marked for the backend by hand stay."""

    name: ClassVar[str] = "relax-veto-small"
    backend: str = option("", "the backend")
    min_ops: int = option(0, "the fewest ops of a group (0: as the backend says)")

    def run(self, module: Module, context: PassContext) -> None:
        least = self.min_ops or context.backend(self.backend).min_ops
        table = {f.name.value: f for f in module.functions()}
        for function in table.values() if least > 1 else ():
            if backend_of_function(function) != self.backend or VETO in function.operation.attributes:
                continue
            parts = composites(function, table)
            count = sum(op_count(part) for part in parts)
            if parts and count < least:
                reason = f"{count} op{'s' if count > 1 else ''}, fewer than the {least} that a group for '{self.backend}' has at least"
                for one in {function.name.value: function, **{p.name.value: p for p in parts}}.values():
                    one.operation.attributes[VETO] = ir.StringAttr.get(reason)


def composites(function: func.FuncOp, table: dict[str, func.FuncOp]) -> list[func.FuncOp]:
    """The composites of a group: itself, or those that a merged group calls, once for each call; none for other functions."""
    if COMPOSITE in function.operation.attributes:
        return [function]
    called = [table[call.attributes["callee"].value] for call in find(function.operation, "func.call")]
    return called if called and all(COMPOSITE in f.operation.attributes for f in called) else []


def op_count(function: func.FuncOp) -> int:
    """The ops of a composite, without constants and the buffers of kernels."""
    return sum(op.operation.name not in NO_OPS for op in function.body.blocks[0].operations)
