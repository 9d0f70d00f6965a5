"""tir-lower: kernels and main on memrefs become functions of the LLVM dialect for one target.

The order: ops of the target's table (elementary functions as polynomials, ...), vectors down to rank 1, the table again for what that
brought, loops, OpenMP where the target has threads, LLVM.
"""
from dataclasses import dataclass
from typing import Any, ClassVar

from ..dialects import tir
from ..dialects.module import Module
from ..mlir import ir, passmanager, rewrite
from .base import ModulePass, PassContext, TargetText, option
from .lower_copies import lower_copies
from .lower_llvm import mark_functions, to_llvm
from .lower_vectors import lower_vectors

WIDEN = ("builtin.module(func.func(arith-emulate-unsupported-floats{source-types=f16,bf16 target-type=f32},"
         "math-extend-to-supported-types,canonicalize,cse))")


@dataclass(frozen=True)
class Lower(ModulePass):
    """Kernels and main on memrefs become LLVM functions for the target's CPU."""

    name: ClassVar[str] = "tir-lower"
    target: TargetText = option("llvm", "whose CPU, threads and intrinsics")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        with module.context, ir.Location.unknown():
            lower(module.module, target.machine, target.intrinsics)


def lower(module: ir.Module, machine: Any, intrinsics: dict[str, Any]) -> None:
    """Lowers all functions of ``module``.

    machine: has cpu, features, threads. intrinsics: op name -> ``expand(op, machine) -> value | None``.
    """
    kernels = {k.name.value for k in tir.prim_funcs(module)}
    if has_narrow_floats(module):
        passmanager.PassManager.parse(WIDEN).run(module.operation)
    lower_copies(module, machine)
    expand(module, machine, intrinsics)
    lower_vectors(module)
    expand(module, machine, intrinsics)
    to_llvm(module, machine.threads)
    mark_functions(module, machine.cpu, machine.features, kernels)


def has_narrow_floats(module: ir.Module) -> bool:
    """Whether anything computes in f16 or bf16."""
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        for value in op.results:
            type_ = value.type
            element = type_.element_type if isinstance(type_, ir.ShapedType) else type_
            if isinstance(element, (ir.F16Type, ir.BF16Type)):
                found = True
                return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def expand(module: ir.Module, machine: Any, intrinsics: dict[str, Any]) -> None:
    """Replaces each op of the table by what its function builds; a None leaves the op."""
    patterns = rewrite.RewritePatternSet()
    keep = []
    for name, function in intrinsics.items():
        def rewrite_one(op: Any, rewriter: Any, function: Any = function) -> bool | None:
            with rewriter.ip, op.location:
                value = function(op.operation, machine)
                if value is None:
                    return True  # "did not match"
                rewriter.replace_op(op, [value])
            return None

        keep.append(rewrite_one)
        patterns.add(name, rewrite_one)
    rewrite.walk_and_apply_patterns(module.operation, patterns.freeze())
