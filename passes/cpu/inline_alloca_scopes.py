"""tir-inline-alloca-scopes: memref.alloca_scope becomes a saved and restored stack pointer around its body.

Upstream's conversion to OpenMP puts a scope around each step of a parallel loop, and lowers scopes with memrefs; in between, a scope holds
the branches that scf becomes, which its verifier refuses.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import body, find, move_before, terminator
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class InlineAllocaScopes(ModulePass):
    """Replaces memref.alloca_scope by its body between llvm.intr.stacksave and llvm.intr.stackrestore."""

    name: ClassVar[str] = "tir-inline-alloca-scopes"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for scope in find(module.module.operation, "memref.alloca_scope", inner_first=True):
                inline_scope(scope)


def inline_scope(scope: ir.Operation) -> None:
    """Puts the body of one scope, which is one block, in its place."""
    block = scope.regions[0].blocks[0]
    with ir.InsertionPoint(scope), scope.location:
        stack = ir.Operation.create("llvm.intr.stacksave", [ir.Type.parse("!llvm.ptr")]).results[0]
        move_before(body(block), scope)
        ir.Operation.create("llvm.intr.stackrestore", [], [stack])
    for old, new in zip(scope.results, terminator(block).operands, strict=True):
        old.replace_all_uses_with(new)
    scope.erase()
