"""Dot products of four bytes as instructions of GPUs: NVIDIA's dp4a, and SPIR-V's of packed vectors."""
from typing import Any

from legato.core.mlir import ir, vector
from legato.dialects.tir.markers import DOT_PRODUCT
from legato.targets.rule import Rule, make_rules

SIGNS = {"tir.dot4_u8s8": ("unsigned", "signed"), "tir.dot4_s8s8": ("signed", "signed"), "tir.dot4_u8u8": ("unsigned", "unsigned")}
SPIRV = {"tir.dot4_u8s8": "SUDot", "tir.dot4_s8s8": "SDot", "tir.dot4_u8u8": "UDot"}


def dp4a(op: Any, x: ir.Value, y: ir.Value, sums: ir.Value) -> ir.Value:
    """NVIDIA's instruction, which wraps."""
    kinds = [ir.Attribute.parse(f"#nvvm.dot_accumulate_type<{sign}>") for sign in SIGNS[op.name]]
    bytes_ = ir.VectorType.get([4], ir.IntegerType.get_signless(8))

    def one(a: ir.Value, b: ir.Value, total: ir.Value) -> ir.Value:
        parts = [vector.bitcast(bytes_, vector.from_elements(ir.VectorType.get([1], v.type), [v])) for v in (a, b)]
        return ir.Operation.create("nvvm.dot.accumulate.4way", [total.type], [*parts, total], {
            "a_type": kinds[0], "b_type": kinds[1]}).results[0]

    return op.each(one)


def packed_dot(op: Any, x: ir.Value, y: ir.Value, sums: ir.Value) -> ir.Value:
    """SPIR-V's instruction, of which OpSUDot takes the signed operand first, added to the sums: another op of these operands, with a
    marker. Upstream's passes refuse the instruction's own op in every environment; it takes its place when the module is written."""
    def one(a: ir.Value, b: ir.Value, total: ir.Value) -> ir.Value:
        given = [b, a, total] if op.name == "tir.dot4_u8s8" else [a, b, total]
        kind = ir.StringAttr.get(SPIRV[op.name])
        return ir.Operation.create("spirv.BitFieldUExtract", [total.type], given, {DOT_PRODUCT: kind}).results[0]

    return op.each(one)


def _rules(function: Any) -> tuple[Rule, ...]:
    return tuple(make_rules(tuple(SIGNS), "intrinsic", function, moment="lower"))


NVIDIA, VULKAN = _rules(dp4a), _rules(packed_dot)
