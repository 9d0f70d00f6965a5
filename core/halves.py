"""Floats of 16 bits, f16 and bf16: which types are such, whether a module has any, and how f64 are rounded to f16."""
from collections.abc import Sequence

from legato.core import search
from legato.core.ir_helpers import element_of, find, with_element
from legato.core.mlir import arith, ir, math

HALVES = (ir.F16Type, ir.BF16Type)


def is_half(type_: ir.Type, kinds: Sequence[type[ir.Type]] = HALVES) -> bool:
    """Whether a type, or the element type of a shaped one, is one of ``kinds``."""
    return isinstance(element_of(type_), tuple(kinds))


def half_types(root: ir.Operation | ir.Module) -> list[ir.Type]:
    """The types of values in the tree of ``root`` that are half floats, or made of them: what no op makes is a parameter, or comes from
    one."""
    signatures = [op.attributes["function_type"].value for op in find(root, "func.func")]
    types = [*search.by.result_types(root.operation), *(type_ for of in signatures for type_ in (*of.inputs, *of.results))]
    return [type_ for type_ in dict.fromkeys(types) if is_half(type_)]


def has_halves(root: ir.Operation | ir.Module) -> bool:
    """Whether a value in the tree of ``root`` is a half float, or made of them."""
    return bool(half_types(root))


def rounded_to_odd(x: ir.Value) -> ir.Value:
    """An f64, or a vector of them, as f32, of which another rounding, to f16, gives what one of the f64 would: of the two f32 around it the
    one whose last bit is 1. (S. Boldo, G. Melquiond: "When double rounding is odd", 2005.)"""
    f32, i32 = (with_element(x.type, element) for element in (ir.F32Type.get(), ir.IntegerType.get_signless(32)))
    nearest = arith.truncf(f32, x)
    back = arith.extf(x.type, nearest)
    beyond = arith.cmpf(arith.CmpFPredicate.OGT, math.absf(back), math.absf(x))
    inexact = arith.cmpf(arith.CmpFPredicate.ONE, back, x)
    towards_zero = arith.subi(arith.bitcast(i32, nearest), arith.extui(i32, beyond))
    return arith.bitcast(f32, arith.ori(towards_zero, arith.extui(i32, inexact)))
