"""tir-widen-masked-halves: arithmetic on half floats under a mask is in f32.

Upstream's arith-emulate-unsupported-floats widens the op inside of a ``vector.mask`` and leaves the cast of its result there, too; a mask
encloses one op. Lowered, its f32 was stored where f16 stood, over the next element.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.halves import has_halves, is_half
from legato.core.ir_helpers import find, with_element
from legato.core.mlir import arith, ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

ARITHMETIC = ("vector.contract", "vector.multi_reduction", "vector.outerproduct", "vector.reduction")


@dataclass(frozen=True)
class WidenMaskedHalves(ModulePass):
    """Operands of a masked contraction or reduction of f16 or bf16 are extended before the mask, its result is rounded after it."""

    name: ClassVar[str] = "tir-widen-masked-halves"

    def run(self, module: Module, context: PassContext) -> None:
        if has_halves(module.module):
            with module.context:
                for mask in find(module, "vector.mask"):
                    inner = mask.regions[0].blocks[0].operations[0].operation
                    if inner.name in ARITHMETIC and any(is_half(value.type) for value in (*inner.operands, *inner.results)):
                        widen(mask, inner)


def widen(mask: ir.Operation, inner: ir.Operation) -> None:
    """Makes the masked op, and what the mask passes through, f32."""
    f32 = ir.F32Type.get()
    with ir.InsertionPoint(mask), mask.location:
        for op in (mask, inner):
            for place, value in enumerate(op.operands):
                if is_half(value.type):
                    op.operands[place] = arith.ExtFOp(with_element(value.type, f32), value).result
    for inside, result in zip(inner.results, mask.results, strict=True):
        if is_half(half := result.type):
            for value in (inside, result):
                value.set_type(with_element(half, f32))
            with ir.InsertionPoint.after(mask), mask.location:
                rounded = arith.TruncFOp(half, result)
            result.replace_all_uses_except(rounded.result, rounded.operation)
