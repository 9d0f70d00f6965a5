"""tir-expand-float8: floats of 8 bits, in which kernels convert elements of memory, become bytes, and the conversions integer arithmetic.

Upstream lowers such conversions for no CPU. Before it, a float of 8 bits is a value: a byte of memory by ``arith.bitcast``, converted by
``arith.extf`` and ``arith.truncf``, so that a schedule can give a product of them to an instruction that takes them.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.diagnostics import PassFailed
from legato.core.dtypes import is_float8, numpy_dtype
from legato.core.ir_helpers import everything
from legato.core.mlir import arith, ir
from legato.dialects.module import Module
from legato.dialects.tir.narrow import decode, encode
from legato.passes.pipeline.base import ModulePass, PassContext

MOVED = ("arith.select", "scf.if", "scf.yield")     # ops that hand values on


@dataclass(frozen=True)
class ExpandFloat8(ModulePass):
    """Makes scalars of floats of 8 bits bytes, and their conversions from and to f32 integer arithmetic on bits.

    Conversions from and to other types, which upstream folds out of two, go through f32.

    Vectors of them stay: they are operands of matrix instructions.
    """

    name: ClassVar[str] = "tir-expand-float8"
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            found = [(op, types[0]) for op in everything(module.operation)
                     if (types := [v.type for v in (*op.operands, *op.results) if is_float8(v.type)])]
            for op, type_ in found:
                expand(op, type_)
            if found:
                context.kernels.clear()


def expand(op: ir.Operation, type_: ir.Type) -> None:
    """Rewrites one op on floats of this type, whose operands are bytes by now. PassFailed for an op that computes in them."""
    if op.name in MOVED:
        for result in op.results:
            if is_float8(result.type):
                result.set_type(ir.IntegerType.get_signless(8))
        return
    if op.name not in CONVERSIONS:
        raise PassFailed(f"{op.name} computes in {type_}: kernels convert floats of 8 bits to f32 first", op)
    with ir.InsertionPoint(op), op.location:
        op.results[0].replace_all_uses_with(CONVERSIONS[op.name](op, type_))
    op.erase()


def constant(op: ir.Operation, type_: ir.Type) -> ir.Value:
    """A number as its code."""
    code = np.array(ir.FloatAttr(op.attributes["value"]).value).astype(numpy_dtype(type_)).view(np.int8)
    return arith.ConstantOp(ir.IntegerType.get_signless(8), int(code)).result


def extend(op: ir.Operation, type_: ir.Type) -> ir.Value:
    """A wider float of a code."""
    return to_float(decode(op.operands[0], type_), op.results[0].type)


def truncate(op: ir.Operation, type_: ir.Type) -> ir.Value:
    """The code of a wider float."""
    return encode(to_float(op.operands[0], ir.F32Type.get()), type_)


def to_float(value: ir.Value, type_: ir.Type) -> ir.Value:
    """The float as one of another type."""
    if value.type == type_:
        return value
    return (arith.extf if ir.FloatType(type_).width > ir.FloatType(value.type).width else arith.truncf)(type_, value)


CONVERSIONS: dict[str, Callable[[ir.Operation, ir.Type], ir.Value]] = {
    "arith.bitcast": lambda op, type_: op.operands[0], "arith.constant": constant, "arith.extf": extend, "arith.truncf": truncate,
    "arith.sitofp": lambda op, type_: encode(arith.sitofp(ir.F32Type.get(), op.operands[0]), type_),
    "arith.uitofp": lambda op, type_: encode(arith.uitofp(ir.F32Type.get(), op.operands[0]), type_)}
