"""Builds IR from linear forms."""
from legato.analysis.indices.linear import Linear, Quotient, Term
from legato.core.mlir import arith, ir


def build(form: Linear) -> ir.Value:
    """A linear form of integer values as an ``index`` value at the insertion point."""
    total = None
    for term, factor in form.terms.items():
        value = _term(term)
        one = value if factor == 1 else arith.MulIOp(value, constant(factor)).result
        total = one if total is None else arith.AddIOp(total, one).result
    if total is None or form.constant:
        number = constant(form.constant)
        total = number if total is None else arith.AddIOp(total, number).result
    return total


def _term(term: Term) -> ir.Value:
    if isinstance(term, Quotient):
        return arith.FloorDivSIOp(build(term.numerator), constant(term.divisor)).result
    return term if isinstance(term.type, ir.IndexType) else arith.IndexCastOp(ir.IndexType.get(), term).result


def constant(value: int) -> ir.Value:
    """An ``index`` constant at the insertion point."""
    return arith.ConstantOp(ir.IndexType.get(), value).result
