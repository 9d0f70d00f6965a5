"""Predicates of a whole body as ends of its loop: a last step that is partial, as splits leave it, becomes a shorter inner loop."""
from legato.analysis.indices.build import build
from legato.analysis.indices.forms import Forms
from legato.analysis.indices.linear import Linear
from legato.core.ir_helpers import body, move_before
from legato.core.mlir import arith, ir
from legato.dialects.tir.loops import ForOp

_SLT = int(arith.CmpIPredicate.slt)


def end_of(loop: ForOp) -> ir.Value:
    """Where the loop ends. ``if (outer * 4 + v < 30)`` around the body is taken out, and ends the loop over v at ``30 - outer * 4``."""
    upper = loop.bounds[1]
    while (test := _whole_body(loop)) is not None:
        form = _excess(test.operands[0], loop)
        if form is None:
            break
        with ir.InsertionPoint(loop), loop.operation.location:
            upper = arith.MinSIOp(upper, build(form)).result
        move_before(body(test.regions[0].blocks[0]), test)
        test.erase()
    return upper


def _whole_body(loop: ForOp) -> ir.Operation | None:
    """The ``scf.if`` without results that is all of the body but arithmetic in front of it."""
    *before, last = body(loop.block) or [None]
    if last is None or last.name != "scf.if" or len(last.results) or (len(last.regions) > 1 and len(last.regions[1].blocks)):
        return None
    return last if all(op.name.startswith("arith.") for op in before) else None


def _excess(condition: ir.Value, loop: ForOp) -> Linear | None:
    """The form, without the loop's variable v, that v is less than where the condition holds; None for other conditions, and where a
    sum could wrap."""
    test = None if isinstance(condition.owner, ir.Block) else condition.owner.operation
    if test is None or test.name != "arith.cmpi" or ir.IntegerAttr(test.attributes["predicate"]).value != _SLT:
        return None
    forms = Forms(quotients=False)
    value, bound = map(forms.form, test.operands)
    if value.coefficient(loop.variable) != 1 or not bound.is_constant or not isinstance(bound.constant, int):
        return None
    rest = value.without([loop.variable])
    known = forms.bounds(rest)
    if known is None or not all(isinstance(size, int) and abs(size) < 2**62 for size in known) or abs(bound.constant) >= 2**62:
        return None
    return bound - rest
