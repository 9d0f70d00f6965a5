"""tir-halves-as-integers: casts of half floats that the machine cannot convert become integer arithmetic.

bf16: LLVM would call a library function for its casts that the process does not have, and splits vectors of it. f16 on an x86 without
F16C: each cast would be a call of compiler-rt, which not every host process and no bare linker has. Arithmetic is in f32 by now; only
casts, and ops that move values, are left.

The casts that stay lose the flag ``contract``, with which upstream's arith-emulate-unsupported-floats makes them: with it, upstream folds a
cast to f16 and back, and a sum that f16 must hold would be kept in f32.

Upstream's arith-expand{include-bf16=true} makes the same arithmetic of bf16's casts, but of no f16's, and leaves bf16 as the type of
buffers, vectors and constants, which this pass changes for both: the walk over all types would stay, for 10 lines saved.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core import search
from legato.core.dtypes import array_of
from legato.core.halves import HALVES, half_types, is_half, rounded_to_odd
from legato.core.ir_helpers import find, with_element
from legato.core.mlir import arith, ir, vector
from legato.dialects.module import Module
from legato.dialects.tir.markers import FLUSHES
from legato.passes.loops.half_bits import HalfBits, from_bf16, from_f16, to_bf16, to_f16
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

Kinds = Sequence[type[ir.Type]]  # element types that become i16
CASTS = ("arith.extf", "arith.truncf")
INTRINSIC = "llvm.call_intrinsic"
LANES = 16      # of f32 in a register of AVX-512


@dataclass(frozen=True)
class HalvesAsIntegers(ModulePass):
    """Casts of bf16, and of f16 where the target is a CPU without F16C, become integer arithmetic; buffers and vectors of them hold
    i16. Other casts of half floats round, whatever follows them."""

    name: ClassVar[str] = "tir-halves-as-integers"
    target: TargetText = option("llvm", "whose CPU may have F16C")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.target(self.target).cpu
        casts_f16 = machine is None or machine.has("f16c")
        rounds = machine is not None and machine.has("avx512bf16")
        if halves := half_types(module.module):
            with module.context, ir.Location.unknown():
                halves_as_integers(module.module, halves, (ir.BF16Type,) if casts_f16 else HALVES, rounds)


def halves_as_integers(module: ir.Module, types: Sequence[ir.Type], kinds: Kinds, rounds: bool = False) -> None:
    """Rewrites every function of ``module``, whose ``half_types`` are ``types``; no value has a type of ``kinds`` then but operands of
    calls of LLVM's intrinsics, which take them so. ``rounds``: whether the CPU has AVX-512's instruction that rounds to bf16, and flushes
    denormal numbers."""
    casts: list[tuple[ir.Operation, bool]] = []  # each cast, and whether it is of bf16
    others: list[ir.Operation] = []
    rounding = ir.Attribute.parse("#arith.fastmath<none>")

    for op in [*search.by.of_types(module.operation, types), *find(module, "memref.global")]:
        halves = [v.type for v in (*op.operands, *op.results) if is_half(v.type, kinds)] if op.name in CASTS else ()
        if halves:
            casts.append((op, is_half(halves[0], (ir.BF16Type,))))
        else:
            if op.name in CASTS and "fastmath" in op.attributes and any(is_half(v.type) for v in (*op.operands, *op.results)):
                op.attributes["fastmath"] = rounding
            others.append(op)
    for op, brain in casts:
        with ir.InsertionPoint(op), op.location:
            if op.name == "arith.extf":
                value = _extended(op, brain)
            else:
                value = _rounded_at_once(op) if rounds and FLUSHES in op.attributes and _fills_registers(op) else _truncated(op, brain)
        op.results[0].replace_all_uses_with(value)
        op.erase()
    given = [(op, place, v.type) for op in others if op.name == INTRINSIC for place, v in enumerate(op.operands) if is_half(v.type, kinds)]
    for op in others:
        retype(op, kinds)
    for op, place, type_ in given:
        with ir.InsertionPoint(op), op.location:
            op.operands[place] = arith.BitcastOp(type_, op.operands[place]).result


def as_integer(type_: ir.Type, kinds: Kinds) -> ir.Type:
    """The type with i16 in place of the element types ``kinds``; other types as they are."""
    i16 = ir.IntegerType.get_signless(16)
    if not is_half(type_, kinds):
        return type_
    if isinstance(type_, ir.MemRefType):
        return ir.MemRefType.get(type_.shape, i16, type_.layout, type_.memory_space)
    return with_element(type_, i16)


def retype(op: ir.Operation, kinds: Kinds) -> None:
    """Replaces half floats by i16 in the types of an op's results, block arguments and attributes."""
    for value in [*op.results, *(a for region in op.regions for block in region.blocks for a in block.arguments)]:
        if is_half(value.type, kinds):
            value.set_type(as_integer(value.type, kinds))
    if op.name == "func.func":
        type_ = op.attributes["function_type"].value
        types = [as_integer(t, kinds) for t in type_.inputs], [as_integer(t, kinds) for t in type_.results]
        op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*types))
    elif op.name == "memref.global" and is_half(op.attributes["type"].value, kinds):
        op.attributes["type"] = ir.TypeAttr.get(as_integer(op.attributes["type"].value, kinds))
        if "initial_value" in op.attributes:
            op.attributes["initial_value"] = bits_of(op.attributes["initial_value"], kinds)
    elif op.name == "arith.constant":
        op.attributes["value"] = bits_of(op.attributes["value"], kinds)


def bits_of(attribute: ir.Attribute, kinds: Kinds) -> ir.Attribute:
    """A constant of half floats as i16 of the same bits; other attributes as they are."""
    if not hasattr(attribute, "type") or not is_half(attribute.type, kinds):
        return attribute
    i16 = ir.IntegerType.get_signless(16)
    if isinstance(attribute, ir.FloatAttr):
        if isinstance(attribute.type, ir.F16Type):
            return ir.IntegerAttr.get(i16, int(np.float16(attribute.value).view(np.int16)))
        return ir.IntegerAttr.get(i16, int(np.array(attribute.value, np.float32).view(np.int32) >> 16))
    type_ = attribute.type
    integers = ir.VectorType.get(type_.shape, i16) if isinstance(type_, ir.VectorType) else ir.RankedTensorType.get(type_.shape, i16)
    if attribute.is_splat:
        return ir.DenseElementsAttr.get_splat(integers, bits_of(attribute.get_splat_value(), kinds))
    return ir.DenseElementsAttr.get(array_of(attribute).view(np.int16), type=integers)


def _extended(op: ir.Operation, brain: bool) -> ir.Value:
    """A half float as f32 or f64. The operand still has its half type here; ``retype`` changes it afterwards."""
    x, result = op.operands[0], op.results[0].type
    bits = HalfBits(x.type)
    half = arith.ExtUIOp(bits.i32, bits.of(x, bits.i16)).result
    wide = from_bf16(bits, half) if brain else from_f16(bits, half)
    return wide if wide.type == result else arith.ExtFOp(result, wide).result


def _truncated(op: ir.Operation, brain: bool) -> ir.Value:
    """A float as the bits of a half float (i16), rounded to nearest even; a NaN stays a NaN."""
    x = op.operands[0]
    bits = HalfBits(x.type)
    if x.type != bits.f32:
        x = arith.TruncFOp(bits.f32, x).result if brain else rounded_to_odd(x)
    half = to_bf16(bits, x) if brain else to_f16(bits, x)
    return arith.TruncIOp(bits.i16, half).result


def _fills_registers(op: ir.Operation) -> bool:
    """Whether the rows of a vector, if it is one, fill registers of AVX-512."""
    type_ = op.operands[0].type
    return isinstance(type_, ir.VectorType) and type_.rank > 0 and type_.shape[-1] % LANES == 0


def _rounded_at_once(op: ir.Operation) -> ir.Value:
    """The bits of bf16, i16, of a vector of f32 whose rows fill registers of AVX-512, by an instruction for each of these."""
    given = op.operands[0]
    *outer, row = given.type.shape
    i16 = ir.IntegerType.get_signless(16)
    if not outer and row == LANES:
        return _rounded_register(given)
    made = vector.BroadcastOp(ir.VectorType.get(given.type.shape, i16), arith.ConstantOp(i16, ir.IntegerAttr.get(i16, 0)).result).result
    for place in np.ndindex(*outer):
        one = vector.ExtractOp(given, [], list(place)).result if outer else given
        for first in range(0, row, LANES):
            part = vector.ExtractStridedSliceOp(ir.VectorType.get([LANES], one.type.element_type), one, [first], [LANES], [1]).result
            made = vector.InsertStridedSliceOp(_rounded_register(part), made, [*place, first], [1]).result
    return made


def _rounded_register(value: ir.Value) -> ir.Value:
    """The bits of one register's elements."""
    made = ir.Operation.create(INTRINSIC, [with_element(value.type, ir.BF16Type.get())], [value], {
        "intrin": ir.StringAttr.get("llvm.x86.avx512bf16.cvtneps2bf16.512"), "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0])})
    return arith.BitcastOp(with_element(value.type, ir.IntegerType.get_signless(16)), made.results[0]).result
