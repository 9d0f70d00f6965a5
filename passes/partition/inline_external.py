"""relax-inline-external: inlines the functions of external modules, and composites, into the host again."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import text_of
from legato.core.mlir import func
from legato.dialects.module import Module
from legato.dialects.relax.markers import ARTIFACTS, COMPOSITE
from legato.passes.partition.groups import inline
from legato.passes.partition.inlining import inline_module
from legato.passes.partition.marks import CODEGEN, calls_of
from legato.passes.pipeline.base import ModulePass, PassContext, option
from legato.passes.pipeline.rounding import EXACT, Rounding
from legato.passes.pipeline.scope import external_modules, symbol


@dataclass(frozen=True)
class InlineExternal(ModulePass):
    """Inlines the functions of external modules where the host calls them, and composites that have not been outlined.

    Modules that have generated code stay.
    """

    name: ClassVar[str] = "relax-inline-external"
    rounding: ClassVar[Rounding] = EXACT
    sees_external: ClassVar[bool] = True
    backend: str = option("", "only modules of this backend (default: of all)")

    def run(self, module: Module, context: PassContext) -> None:
        for external in external_modules(module.module, self.backend or None):
            if ARTIFACTS not in external.attributes:
                inline_module(module, external, symbol(external) or "")
                external.erase()
        for function in [f for f in module.functions() if _is_meant(f, self.backend)]:
            _put_back(function, calls_of(module).get(function.name.value, []))


def _is_meant(function: func.FuncOp, backend: str) -> bool:
    """Whether it is a composite or marked for a backend: for this one, if there is a name."""
    composite = text_of(function, COMPOSITE)
    found = text_of(function, CODEGEN) or (composite.split(".")[0] if composite else None)
    return found is not None and not function.is_external and backend in ("", found)


def _put_back(function: func.FuncOp, calls: list[func.CallOp]) -> None:
    """Inlines a function where it is called; a public one stays, without the mark."""
    for call in calls:
        inline(call, function)
    if text_of(function, "sym_visibility") == "private":
        function.operation.erase()
    elif CODEGEN in function.operation.attributes:
        del function.operation.attributes[CODEGEN]

