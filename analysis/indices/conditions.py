"""Reads conditions as linear forms that are at least 0."""
from legato.analysis.indices.arithmetic import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, UNSIGNED, bits_of
from legato.analysis.indices.forms import Forms
from legato.analysis.indices.linear import Linear
from legato.core.mlir import ir
from legato.dialects.tir.loops import constant_of

OPPOSITE = {LESS: GREATER_EQUAL, LESS_EQUAL: GREATER, GREATER: LESS_EQUAL, GREATER_EQUAL: LESS}


def constraints(condition: ir.Value, forms: Forms, holds: bool = True) -> list[Linear] | None:
    """The forms that are all >= 0 exactly where the condition holds (or does not); None for conditions of other kinds."""
    owner = condition.owner
    if isinstance(owner, ir.Block):
        return None
    name, operands = owner.name, list(owner.operands)
    if name == "arith.constant":
        return [] if bool(constant_of(condition)) == holds else None
    if name == "arith.xori" and constant_of(operands[1]) == 1:
        return constraints(operands[0], forms, not holds)
    if name == ("arith.andi" if holds else "arith.ori"):
        found = [constraints(v, forms, holds) for v in operands]
        return None if None in found else [form for some in found for form in some or ()]
    if name != "arith.cmpi":
        return None
    predicate = ir.IntegerAttr(owner.attributes["predicate"]).value
    a, b = (forms.form(v) for v in operands)
    if predicate not in UNSIGNED and bits_of(operands[0].type) == 1:
        return None
    if predicate in UNSIGNED:
        if not (forms.is_natural(a) and forms.is_natural(b)):
            return None
        predicate = UNSIGNED[predicate]
    if not holds:
        predicate = OPPOSITE.get(predicate, EQUAL)
    one = Linear({}, 1)
    if predicate in (LESS, LESS_EQUAL):
        return [b - a - one if predicate == LESS else b - a]
    return [a - b - one if predicate == GREATER else a - b] if predicate in (GREATER, GREATER_EQUAL) else None


def zeros(condition: ir.Value) -> list[ir.Value] | None:
    """The values that are all 0 exactly where the condition holds; None for conditions of other kinds."""
    owner = condition.owner
    if isinstance(owner, ir.Block):
        return None
    operands = list(owner.operands)
    if owner.name == "arith.andi":
        found = [zeros(v) for v in operands]
        return None if None in found else [v for values in found for v in values or ()]
    if owner.name != "arith.cmpi" or ir.IntegerAttr(owner.attributes["predicate"]).value != EQUAL:
        return None
    return [operands[0]] if constant_of(operands[1]) == 0 else [operands[1]] if constant_of(operands[0]) == 0 else None


def conjuncts(condition: ir.Value) -> list[ir.Value]:
    """The operands of a conjunction, flattened; the condition alone where it is none."""
    owner = condition.owner
    if not isinstance(owner, ir.Block) and owner.operation.name == "arith.andi":
        return [c for operand in owner.operation.operands for c in conjuncts(operand)]
    return [condition]
