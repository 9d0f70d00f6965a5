"""How the tools print IR: mlir-opt's options for the printer."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from legato.core.mlir import ir
    from legato.dialects.module import Module


@dataclass(frozen=True)
class IrPrinter:
    """The printer's options. ``elements_limit``: dense attributes of more elements are printed as ``__elided__``; ``resource_limit``:
    resources of longer text; None: none."""

    debuginfo: bool = False
    generic: bool = False
    local_scope: bool = False
    elements_limit: int | None = None
    resource_limit: int | None = None

    def text(self, operation: ir.Operation, assume_verified: bool = False) -> str:
        """The text of an op. ``assume_verified``: the op is not verified before it is printed."""
        text = operation.get_asm(
            enable_debug_info=self.debuginfo, print_generic_op_form=self.generic, use_local_scope=self.local_scope,
            large_elements_limit=self.elements_limit, large_resource_limit=self.resource_limit, assume_verified=assume_verified)
        return text.rstrip("\n")

    def module(self, module: Module) -> str:
        """The text of a module."""
        return self.text(module.module.operation)
