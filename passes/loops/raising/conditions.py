"""Conditions on axes as linear forms that are at least 0."""
from legato.analysis.linear import Linear
from legato.core.mlir import ir
from legato.dialects.tir.loops import constant_of
from legato.passes.loops.raising.indices import Indices

EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = 0, 2, 3, 4, 5  # of arith.cmpi
UNSIGNED = {6: LESS, 7: LESS_EQUAL, 8: GREATER, 9: GREATER_EQUAL}
OPPOSITE = {LESS: GREATER_EQUAL, LESS_EQUAL: GREATER, GREATER: LESS_EQUAL, GREATER_EQUAL: LESS}


def constraints(condition: ir.Value, indices: Indices, holds: bool = True) -> list[Linear] | None:
    """The forms that are all at least 0 where the condition holds (or does not), and only there. None for any other condition."""
    owner = condition.owner
    if isinstance(owner, ir.Block):
        return None
    name, operands = owner.name, list(owner.operands)
    if name == "arith.constant":
        return [] if bool(constant_of(condition)) == holds else None
    if name == "arith.xori" and constant_of(operands[1]) in (1, -1, True):
        return constraints(operands[0], indices, not holds)
    if name == ("arith.andi" if holds else "arith.ori"):
        found = [constraints(v, indices, holds) for v in operands]
        return None if None in found else [form for forms in found for form in forms or ()]
    if name != "arith.cmpi":
        return None
    predicate = owner.attributes["predicate"].value
    a, b = (indices.form(v) for v in operands)
    if predicate in UNSIGNED:
        if not (indices.is_positive(a) and indices.is_positive(b)):
            return None
        predicate = UNSIGNED[predicate]
    if not holds:
        predicate = OPPOSITE.get(predicate, -1)
    one = Linear({}, 1)
    forms = {LESS: lambda: [b - a - one], LESS_EQUAL: lambda: [b - a], GREATER: lambda: [a - b - one], GREATER_EQUAL: lambda: [a - b]}
    return forms[predicate]() if predicate in forms else None


def is_certain(form: Linear, indices: Indices) -> bool:
    """Whether a form is at least 0 for all values of its axes."""
    return indices.is_positive(form)


def zeros(condition: ir.Value) -> list[ir.Value] | None:
    """The values that are all 0 where the condition holds, and only there; None for any other condition."""
    owner = condition.owner
    if isinstance(owner, ir.Block):
        return None
    operands = list(owner.operands)
    if owner.name == "arith.andi":
        found = [zeros(v) for v in operands]
        return None if None in found else [v for values in found for v in values or ()]
    if owner.name != "arith.cmpi" or owner.attributes["predicate"].value != EQUAL:
        return None
    return [operands[0]] if constant_of(operands[1]) == 0 else [operands[1]] if constant_of(operands[0]) == 0 else None
