"""Attributes of Legato's own that are not of their kind, as in IR written by hand: MLIR has no verifier for attributes of func.func."""
from collections.abc import Callable

from legato.core.locations import describe
from legato.core.mlir import ir
from legato.dialects.module import walk
from legato.dialects.relax import markers as relax
from legato.dialects.tir import markers as tir


def _is_strings(attribute: ir.Attribute) -> bool:
    return isinstance(attribute, ir.ArrayAttr) and all(isinstance(one, ir.StringAttr) for one in attribute)


def _is_rows(attribute: ir.Attribute) -> bool:
    return isinstance(attribute, ir.ArrayAttr) and all(_is_strings(row) and len(row) in (2, 3) for row in attribute)


def _is_function_type(attribute: ir.Attribute) -> bool:
    return isinstance(attribute, ir.TypeAttr) and isinstance(attribute.value, ir.FunctionType)


STRING = ("a string", lambda a: isinstance(a, ir.StringAttr))
STRINGS = ("an array of strings", _is_strings)
FUNCTION_TYPE = ("a function type", _is_function_type)
KINDS: dict[str, tuple[str, Callable[[ir.Attribute], bool]]] = {
    **dict.fromkeys((relax.NAME, relax.WEIGHT, relax.DEFAULT, relax.SYMBOL, relax.PACKED, relax.CODEGEN, relax.COMPOSITE, relax.VETO,
                     tir.STATE, tir.TIR_PACKED, tir.BUFFER_NAME), STRING),
    **dict.fromkeys((relax.OPS, relax.CONSTANT_INPUTS, relax.PACKED_NAMES, relax.CALLERS, relax.LATE_SYMBOLS,
                     tir.NAMES, tir.SHARED_NAMES), STRINGS),
    **dict.fromkeys((relax.SIGNATURE, tir.SIGNATURE), FUNCTION_TYPE),
    **dict.fromkeys((relax.REQUIRES, relax.BYTES, relax.REGION_REQUIRES), ("an array of arrays of two or three strings", _is_rows)),
    **dict.fromkeys((relax.ARGUMENTS, relax.ARTIFACTS, relax.PACKED_RESULTS),
                    ("an array", lambda a: isinstance(a, ir.ArrayAttr))),
    **dict.fromkeys((relax.EXTERNAL, tir.SCHEDULE), ("a symbol", lambda a: isinstance(a, ir.SymbolRefAttr | ir.FlatSymbolRefAttr))),
    **dict.fromkeys((tir.HELD, tir.LATE_ARENAS), ("an integer", lambda a: isinstance(a, ir.IntegerAttr))),
    **dict.fromkeys((relax.DONATED, tir.INPLACE), ("an array of i64", lambda a: isinstance(a, ir.DenseI64ArrayAttr))),
}


def malformed(module: ir.Module) -> str | None:
    """What is wrong with the first attribute of Legato's own that is not of its kind; None where all are."""
    for op in walk(module.operation):
        attributes = {name: op.attributes[name] for name in op.attributes}
        for lists in ("arg_attrs", "res_attrs"):
            for one in attributes.get(lists, ()):
                attributes |= {given.name: given.attr for given in ir.DictAttr(one)}
        for name, attribute in attributes.items():
            what, fits = KINDS.get(name, ("", None))
            if fits is not None and not fits(attribute):
                return f"{describe(op)}: the attribute {name} must be {what}, is {attribute}"
    return None
