"""Floats of 16 bits, f16 and bf16: which types are such, and whether a module has any."""
from collections.abc import Sequence

from legato.core import search
from legato.core.ir_helpers import element_of, find
from legato.core.mlir import ir

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
