"""Intrinsics as expressions of simpler ops of arith and math, for devices without an instruction or function for them.

Each function takes the element (``Lanes``) and the operands, and returns the value; results are exact unless the docstring says otherwise.
Supported are f32 and f64; callers convert f16 and bf16. Some work on the bits of IEEE 754.
"""
from legato.core.mlir import arith, ir, math, scf, vector
from legato.targets.intrinsics.lanes import Lanes


def signbit(e: Lanes, x: ir.Value) -> ir.Value:
    """Whether the sign bit is set."""
    return e.ints.compare("lt", e.to_bits(x), e.ints.const(0))


def fdim(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    """x - y if positive, else 0; NaN if one is NaN."""
    unordered = arith.cmpf(arith.CmpFPredicate.UNO, x, y)
    positive = e.select(e.compare("gt", x, y), arith.subf(x, y), e.const(0))
    return e.select(unordered, arith.addf(x, y), positive)


def hypot(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    """sqrt(x^2 + y^2), scaled by the exponent of the greater operand: about 1 ulp."""
    x, y = math.absf(x), math.absf(y)
    infinite = arith.ori(e.is_inf(x), e.is_inf(y))
    top = arith.maximumf(x, y)
    exponent = e.over(ir.IntegerType.get_signless(32))
    _, n = frexp(e, top)
    n = arith.select(e.compare("eq", top, e.const(0)), exponent.const(0), n)
    back = exponent.neg(n)
    a, b = ldexp(e, x, back), ldexp(e, y, back)
    root = ldexp(e, math.sqrt(e.fma(a, a, arith.mulf(b, b))), n)
    return e.select(infinite, e.const(float("inf")), root)


def nextafter(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    """The next number after x towards y."""
    ints = e.ints
    bits = e.to_bits(x)
    away = arith.xori(e.compare("gt", y, x), e.compare("lt", x, e.const(0)))  # from zero
    step = arith.select(away, ints.const(1), ints.const(-1))
    tiny = math.copysign(e.from_bits(ints.const(1)), y)
    stepped = e.select(e.compare("eq", x, e.const(0)), tiny, e.from_bits(arith.addi(bits, step)))
    stepped = e.select(e.compare("eq", x, y), y, stepped)
    return e.select(arith.cmpf(arith.CmpFPredicate.UNO, x, y), arith.addf(x, y), stepped)


def _normal(e: Lanes, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """|x|, scaled up if it is denormal, and the number to subtract from its exponent, as ``ints``."""
    ints = e.ints
    size = math.absf(x)
    small = e.compare("lt", size, e.const(2.0 ** (1 - e.bias)))
    scaled = e.select(small, arith.mulf(size, e.const(2.0 ** e.mantissa)), size)
    return scaled, arith.select(small, ints.const(e.mantissa), ints.const(0))


def _exponent(e: Lanes, x: ir.Value) -> ir.Value:
    """floor(log2 |x|) as ``ints``, for x that is neither 0 nor infinite."""
    scaled, lifted = _normal(e, x)
    field = arith.shrui(e.to_bits(scaled), e.ints.const(e.mantissa))
    return arith.subi(arith.subi(field, e.ints.const(e.bias)), lifted)


def frexp(e: Lanes, x: ir.Value) -> list[ir.Value]:
    """Mantissa and exponent."""
    ints, small = e.ints, e.over(ir.IntegerType.get_signless(32))
    scaled, _ = _normal(e, x)
    mask = (1 << e.mantissa) - 1
    bits = arith.ori(arith.andi(e.to_bits(scaled), ints.const(mask)), ints.const((e.bias - 1) << e.mantissa))
    special = arith.ori(arith.ori(e.is_inf(x), e.is_nan(x)), e.compare("eq", x, e.const(0)))
    mantissa = e.select(special, x, math.copysign(e.from_bits(bits), x))
    exponent = ints.cast(arith.addi(_exponent(e, x), ints.const(1)), small)
    return [mantissa, arith.select(special, small.const(0), exponent)]


def logb(e: Lanes, x: ir.Value) -> ir.Value:
    """The exponent as a float; -inf for 0."""
    value = arith.sitofp(e.type, _exponent(e, x))
    value = e.select(e.compare("eq", x, e.const(0)), e.const(float("-inf")), value)
    return e.select(arith.ori(e.is_inf(x), e.is_nan(x)), arith.mulf(x, x), value)


def ilogb(e: Lanes, x: ir.Value) -> ir.Value:
    """The exponent as an i32; INT_MIN for 0 and NaN, INT_MAX for infinities."""
    small = e.over(ir.IntegerType.get_signless(32))
    value = e.ints.cast(_exponent(e, x), small)
    lowest, highest = small.const(small.lowest), small.const(small.highest)
    value = arith.select(arith.ori(e.compare("eq", x, e.const(0)), e.is_nan(x)), lowest, value)
    return arith.select(e.is_inf(x), highest, value)


def ldexp(e: Lanes, x: ir.Value, n: ir.Value) -> ir.Value:
    """x 2^n, as a product with three powers of two, of which only the last can round."""
    small = e.over(ir.IntegerType.get_signless(32))
    limit = 3 * e.bias
    n = small.at_least(small.at_most(n, limit), -limit)
    for _ in range(2):
        # smaller powers downwards, so that the last product still has all bits; the greatest power upwards
        step = small.at_least(small.at_most(n, e.bias), -(e.bias - 1 - e.mantissa - 1))
        x = arith.mulf(x, e.power_of_two(small.cast(step, e.ints)))
        n = arith.subi(n, step)
    last = small.at_least(small.at_most(n, e.bias), -(e.bias - 1))
    x = arith.mulf(x, e.power_of_two(small.cast(last, e.ints)))
    rest = arith.subi(n, last)
    return arith.mulf(x, e.power_of_two(small.cast(small.at_least(rest, -(e.bias - 1)), e.ints)))


def modf(e: Lanes, x: ir.Value) -> list[ir.Value]:
    """Fraction and whole part, both with the sign of x."""
    whole = math.trunc(x)
    rest = arith.subf(x, whole)
    fraction = math.copysign(e.select(e.is_inf(x), e.const(0), rest), x)
    return [e.select(e.is_nan(x), x, fraction), whole]


def remainder(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    """IEEE 754's remainder: C's fmod by 2 y, then at most two subtractions of y; all are exact."""
    size, sign = math.absf(y), x
    double = arith.addf(size, size)
    rest = e.select(e.is_inf(double), math.absf(x), arith.remf(math.absf(x), double))
    half = arith.mulf(size, e.const(0.5))
    tiny = e.compare("lt", size, e.const(2.0 ** (3 - e.bias)))  # half of y would not be exact
    over = arith.select(tiny, e.compare("gt", arith.addf(rest, rest), size), e.compare("gt", rest, half))
    once = e.select(over, arith.subf(rest, size), rest)
    again = arith.select(tiny, e.compare("ge", arith.addf(once, once), size), e.compare("ge", once, half))
    result = e.select(arith.andi(over, again), arith.subf(once, size), once)
    result = e.select(signbit(e, sign), arith.negf(result), result)
    result = e.select(e.compare("eq", result, e.const(0)), math.copysign(e.const(0), sign), result)
    result = e.select(arith.andi(e.is_inf(y), e.compare("lt", math.absf(x), e.const(float("inf")))), x, result)
    bad = arith.ori(arith.ori(e.is_inf(x), e.compare("eq", y, e.const(0))), arith.cmpf(arith.CmpFPredicate.UNO, x, y))
    return e.select(bad, e.const(float("nan")), result)


def logaddexp(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    """log(e^x + e^y) as max + log1p(e^-|x - y|); about 1 ulp of the greater operand."""
    distance = math.absf(arith.subf(x, y))
    value = arith.addf(arith.maximumf(x, y), math.log1p(math.exp(arith.negf(distance))))
    return e.select(e.compare("eq", x, y), arith.addf(x, e.const(0.6931471805599453)), value)


def logaddexp2(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    """log2(2^x + 2^y), like ``logaddexp``."""
    distance = math.absf(arith.subf(x, y))
    term = math.log1p(math.exp(arith.mulf(distance, e.const(-0.6931471805599453))))
    value = e.fma(term, e.const(1.4426950408889634), arith.maximumf(x, y))
    return e.select(e.compare("eq", x, y), arith.addf(x, e.const(1)), value)


def isinf(e: Lanes, x: ir.Value) -> ir.Value:
    """Whether x is infinite."""
    return e.is_inf(x)


def isfinite(e: Lanes, x: ir.Value) -> ir.Value:
    """Whether x is neither infinite nor NaN."""
    return e.compare("lt", math.absf(x), e.const(float("inf")))


def isnormal(e: Lanes, x: ir.Value) -> ir.Value:
    """Whether x is a normal number."""
    return arith.andi(isfinite(e, x), e.compare("ge", math.absf(x), e.const(2.0 ** (1 - e.bias))))


def gcd(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    """Euclid's algorithm, in a loop that ends when all lanes are done."""
    loop = scf.WhileOp([e.type, e.type], [x, y])
    before = loop.before.blocks.append(e.type, e.type)
    with ir.InsertionPoint(before):
        left = e.compare("ne", before.arguments[1], e.const(0))
        scf.ConditionOp(any_lane(left), list(before.arguments))
    after = loop.after.blocks.append(e.type, e.type)
    with ir.InsertionPoint(after):
        a, b = after.arguments
        done = e.compare("eq", b, e.const(0))
        rest = arith.remui(a, arith.select(done, e.const(1), b))
        scf.YieldOp([arith.select(done, a, b), arith.select(done, e.const(0), rest)])
    return loop.results[0]


def ipowi(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    """x^y by repeated squaring, in a loop that ends when all lanes are done. Negative exponents give the truncated result: 1, -1 or 0."""
    one, zero = e.const(1), e.const(0)
    negative = e.compare("lt", y, zero)
    exponent = arith.select(negative, zero, y)
    loop = scf.WhileOp([e.type] * 3, [one, x, exponent])
    before = loop.before.blocks.append(*[e.type] * 3)
    with ir.InsertionPoint(before):
        scf.ConditionOp(any_lane(e.compare("ne", before.arguments[2], zero)), list(before.arguments))
    after = loop.after.blocks.append(*[e.type] * 3)
    with ir.InsertionPoint(after):
        result, base, left = after.arguments
        odd = e.compare("ne", arith.andi(left, one), zero)
        result = arith.select(odd, arith.muli(result, base), result)
        scf.YieldOp([result, arith.muli(base, base), arith.shrui(left, one)])
    even = e.compare("eq", arith.andi(y, one), zero)
    minus = arith.select(even, one, e.const(-1))
    fraction = arith.select(e.compare("eq", x, one), one, arith.select(e.compare("eq", x, e.const(-1)), minus, zero))
    return arith.select(negative, fraction, loop.results[0])


def any_lane(condition: ir.Value) -> ir.Value:
    """Whether a condition holds for a scalar, or for any lane of a vector."""
    if not isinstance(condition.type, ir.VectorType):
        return condition
    count = 1
    for extent in condition.type.shape:
        count *= extent
    flat = vector.ShapeCastOp(ir.VectorType.get([count], condition.type.element_type), condition).result
    return vector.ReductionOp(condition.type.element_type, ir.Attribute.parse("#vector.kind<or>"), flat).result
