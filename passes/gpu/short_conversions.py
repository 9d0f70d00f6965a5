"""tir-short-conversions: an index becomes a float by way of 32 bits, where indices have no more."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import defining_op, element_of, find, with_element
from legato.core.mlir import arith, ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

INDEX_CASTS = {"arith.sitofp": "arith.index_cast", "arith.uitofp": "arith.index_castui"}
SHORT = 32      # bits of an index


@dataclass(frozen=True)
class ShortConversions(ModulePass):
    """Of GPU kernels, the casts to a float of an index that was cast to an integer of more than 32 bits take one of 32 bits: for devices
    whose indices have so many, which may have no longer integers.
    """

    name: ClassVar[str] = "tir-short-conversions"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for holder in find(module.operation, "gpu.module"):
                for op in find(holder, *INDEX_CASTS):
                    shorten(op)


def shorten(op: ir.Operation) -> None:
    """Shortens the operand of one cast, if it is an index as a long integer."""
    operand = op.operands[0]
    cast = defining_op(operand)
    if cast is None or cast.name != INDEX_CASTS[op.name] or element_of(operand.type).width <= SHORT:
        return
    with ir.InsertionPoint(op), op.location:
        type_ = with_element(operand.type, ir.IntegerType.get_signless(SHORT))
        make = arith.IndexCastOp if op.name == "arith.sitofp" else arith.IndexCastUIOp
        op.operands[0] = make(type_, cast.operands[0]).result
    if not list(operand.uses):
        cast.erase()
