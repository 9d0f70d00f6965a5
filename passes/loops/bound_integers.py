"""tir-bound-integers: integers become f16 by way of f32, where they are bounded.

LLVM takes the cast of an integer with few significant bits for exact (``isKnownExactCastIntToFP``), though from 65520 on f16 is infinite:
widened again, as for a comparison, 2^55 would still be 2^55. Integers up to 2^24 are exact in f32, and greater ones infinite in f16. Behind
upstream's arith-emulate-unsupported-floats such casts are casts to f32 that are rounded, of which upstream's patterns make one again.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import defining_op, element_of, find, with_element
from legato.core.mlir import arith, ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

CASTS = ("arith.sitofp", "arith.uitofp")
BOUND = 65536.0     # infinite in f16
WIDE = 16           # bits, up to which an integer that is exact in f16 is finite, too


@dataclass(frozen=True)
class BoundIntegers(ModulePass):
    """Casts of integers of more than 16 bits to f16 become casts to f32, bounded by 65536, and roundings to f16."""

    name: ClassVar[str] = "tir-bound-integers"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for op in find(module.module.operation, *CASTS, "arith.truncf"):
                cast = op if op.name in CASTS else defining_op(op.operands[0])
                if cast is not None and cast.name in CASTS and becomes_infinite(cast, op):
                    with ir.InsertionPoint(op), op.location:
                        op.results[0].replace_all_uses_with(bounded(cast, op.results[0].type))
                    op.erase()


def becomes_infinite(cast: ir.Operation, op: ir.Operation) -> bool:
    """Whether an op may give an infinity for an integer, by a cast, which it may be itself."""
    source, result = (element_of(value.type) for value in (cast.operands[0], op.results[0]))
    return isinstance(result, ir.F16Type) and source.width > WIDE


def bounded(cast: ir.Operation, type_: ir.Type) -> ir.Value:
    """The integer of a cast as a type of f16, by way of f32."""
    value = ir.Operation.create(cast.name, [with_element(type_, ir.F32Type.get())], [cast.operands[0]]).results[0]
    for bound, below in ((BOUND, True), (-BOUND, False)) if cast.name == "arith.sitofp" else ((BOUND, True),):
        limit = _constant(value.type, bound)
        inside = arith.cmpf(arith.CmpFPredicate.OLT if below else arith.CmpFPredicate.OGT, value, limit)
        value = arith.select(inside, value, limit)
    return arith.TruncFOp(type_, value).result


def _constant(type_: ir.Type, number: float) -> ir.Value:
    attribute = ir.FloatAttr.get(ir.F32Type.get(), number)
    is_vector = isinstance(type_, ir.VectorType)
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, attribute) if is_vector else attribute).result
