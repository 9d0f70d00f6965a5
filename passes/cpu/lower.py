"""tir-lower: kernels and main on memrefs become functions of the LLVM dialect for one target.

The order: the target's rules for intrinsics (elementary functions as polynomials, ...), vectors down to rank 1, the rules again for what
that brought, loops, OpenMP where the target has threads, LLVM.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.interfaces import TargetLike
from legato.core.mlir import ir
from legato.core.records import RuleRecord
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.copies import lower_copies
from legato.passes.cpu.halves import halves_as_integers
from legato.passes.cpu.to_llvm import mark_functions, to_llvm
from legato.passes.cpu.vectors import lower_vectors
from legato.passes.legalize.intrinsics import legalize_intrinsics, lower_intrinsics
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

WIDEN = ("func.func(convert-linalg-to-loops,arith-emulate-unsupported-floats{source-types=f16,bf16 target-type=f32},"
         "math-extend-to-supported-types)")


@dataclass(frozen=True)
class Lower(ModulePass):
    """Kernels and main on memrefs become LLVM functions for the target's CPU."""

    name: ClassVar[str] = "tir-lower"
    target: TargetText = option("llvm", "whose CPU, threads and intrinsics")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.report["target"] = context.target(self.target)
        with module.context, ir.Location.unknown():
            lower(module.module, target, context.report.setdefault("intrinsics", []))


def lower(module: ir.Module, target: TargetLike, report: list[RuleRecord]) -> None:
    """Lowers all functions of ``module``. ``target``: its machine (cpu, features, threads) and its rules for intrinsics."""
    machine = target.machine
    kernels = {k.name.value for k in tir.prim_funcs(module)}
    if has_narrow_floats(module):
        legalize_intrinsics(module, target, report)  # while half floats are still seen as such
        lower_intrinsics(module, target, report)
        run_on(module.operation, WIDEN)
        halves_as_integers(module, (ir.BF16Type,) if machine.has("f16c") else (ir.BF16Type, ir.F16Type))
    lower_copies(module, machine)
    legalize_intrinsics(module, target, report)
    lower_vectors(module)
    legalize_intrinsics(module, target, report)
    lower_intrinsics(module, target, report)
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
