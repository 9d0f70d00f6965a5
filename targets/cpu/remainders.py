"""Remainders of floats, as C's fmod defines them, exact for any operands.

``x - n * y`` is exact in one fused multiply-add where n is the quotient rounded to the numbers of its type, and truncated: it is a multiple
of what both operands are multiples of, and small. Below 2^23 that n is the truncated quotient, or one more, and the result is less than
y. Greater quotients, of up to 2^277, are rare, and are computed in f64: each step takes off 52 bits of them.
"""
from legato.core.mlir import arith, ir, math, scf, vector
from legato.core.vector_loops import repeated
from legato.targets.intrinsics.lanes import Lanes

MOST_QUOTIENT = 2.0 ** 23     # below which all f32 may have a fraction


def exact_remainder(x: ir.Value, y: ir.Value) -> ir.Value:
    """The remainder of f32, of scalars or vectors of rank 1."""
    e = Lanes.of(x.type)
    size, unit = math.absf(x), math.absf(y)
    quotient = arith.divf(size, unit)
    near = arith.select(e.compare("lt", size, unit), size, not_negative(e, less(size, unit, quotient), unit))
    made = scf.IfOp(any_of(e.compare("ge", quotient, e.const(MOST_QUOTIENT))), [x.type], has_else=True)
    with ir.InsertionPoint(made.then_block):
        scf.YieldOp([remainder_by_steps(e, size, unit)])
    with ir.InsertionPoint(made.else_block):
        scf.YieldOp([near])
    return math.copysign(made.results[0], x)


def remainder_by_steps(e: Lanes, size: ir.Value, unit: ir.Value) -> ir.Value:
    """The remainder of f32 that are not negative, in f64."""
    wide = e.over(ir.F64Type.get())
    start, by = arith.extf(wide.type, size), arith.extf(wide.type, unit)

    def is_left(left: ir.Value) -> ir.Value:
        return wide.compare("ge", math.absf(left), by)

    (left,) = repeated([start], lambda left: any_of(is_left(left)),
                       lambda left: [arith.select(is_left(left), less(left, by, arith.divf(left, by)), left)])
    found = arith.truncf(e.type, not_negative(wide, left, by))
    return arith.select(e.is_nan(unit), unit, found)


def less(size: ir.Value, unit: ir.Value, quotient: ir.Value) -> ir.Value:
    """``size`` without the whole units that their rounded quotient counts: it may be one too many."""
    return math.fma(arith.negf(math.trunc(quotient)), unit, size)


def not_negative(e: Lanes, left: ir.Value, unit: ir.Value) -> ir.Value:
    """With one unit added where one too many was taken off."""
    return arith.select(e.compare("lt", left, e.const(0)), arith.addf(left, unit), left)


def any_of(conditions: ir.Value) -> ir.Value:
    """Whether one of the lanes is true."""
    if not isinstance(conditions.type, ir.VectorType):
        return conditions
    return vector.ReductionOp(conditions.type.element_type, ir.Attribute.parse("#vector.kind<or>"), conditions).result
