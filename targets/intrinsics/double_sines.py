"""Sine and cosine of f64 on scalars, by arithmetic alone, with reduction of every argument.

Errors: a unit in the last place, and of some five where an argument is so near to a multiple of pi/2 that the result is below 2^-60.
"""
from legato.core.mlir import arith, ir, math, scf
from legato.core.vector_loops import repeated
from legato.targets.intrinsics.builder import OEQ, Builder
from legato.targets.intrinsics.pairs import halves, two_product, two_sum

MAGIC = 6755399441055744.0      # 1.5 * 2^52: adding it rounds to an integer, held in the low bits
MAGIC_BITS = 0x4338000000000000
# (sin r - r) / r^3 and (cos r - 1 + r^2 / 2) / r^4 of r^2 for |r| <= pi/4
SIN = (-7.586094789672621e-13, 1.6058521349954986e-10, -2.5052106167335705e-08, 2.7557319219150783e-06, -0.00019841269841264821,
       0.008333333333333331, -0.16666666666666666)
COS = (4.745537017319258e-14, -1.1470455178216906e-11, 2.0876755754879594e-09, -2.755731922129809e-07, 2.480158730158451e-05,
       -0.0013888888888888887, 0.041666666666666664)
TWO_OVER_PI = 0.6366197723675814
HALF_PI, HALF_PI_REST = 1.5707963267948966, 6.123233995736766e-17
HALF_PI_PARTS = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32)    # the first three of 33 bits
NEAR = 2.0 ** 20                # the greatest argument that is reduced by them
# the first 1,170 bits of 2/pi, in parts of 26: a part times a half of a number is exact
TWO_OVER_PI_BITS = int(
    "28be60db9391054a7f09d5f47d4d377036d8a5664f10e4107f9458eaf7aef1586dc91b8e909374b801924bba827464873f877ac72c4a69cfba208d7d4baed1213a671c"
    "09ad17df904e64758e60d4ce7d272117e2ef7e4a0ec7fe25fff7816603fbcbc462d6829b47db4d9fb3c9f2c26dd3d18fd9a797fa8b5d49eeb1faf97c5ecf41ce7de294a4"
    "ba9afed7ec47e357421580c", 16)
PART, PARTS, PARTS_READ = 26, 45, 8
SCALE = 200                     # bits, by which parts are greater, since the least would be 0


def sin(b: Builder, x: ir.Value) -> ir.Value:
    """Sine, with exact reduction of every argument."""
    return sine(b, x, 0)


def cos(b: Builder, x: ir.Value) -> ir.Value:
    """Cosine, likewise."""
    return sine(b, x, 1)


def sine(b: Builder, x: ir.Value, quarter: int) -> ir.Value:
    """sin(x + quarter pi/2)."""
    chosen = scf.IfOp(b.less(b.number(NEAR), b.size(x)), [b.type] * 3, has_else=True)
    for block, reduce in ((chosen.then_block, reduce_far), (chosen.else_block, reduce_near)):
        with ir.InsertionPoint(block):
            scf.YieldOp(list(reduce(b, x)))
    r, low, n = chosen.results
    square, one = b.mul(r, r), b.number(1.0)
    half = b.mul(square, b.number(0.5))
    rest = b.sub(one, half)
    of_sine = b.add(r, b.add(b.mul(b.mul(square, r), b.polynomial(square, SIN)), b.mul(low, rest)))
    lacks = b.sub(b.sub(one, rest), half)
    of_cosine = b.add(rest, b.add(lacks, b.sub(b.mul(b.mul(square, square), b.polynomial(square, COS)), b.mul(r, low))))
    turns = b.iadd(b.bits(b.add(n, b.number(MAGIC))), b.integer(quarter))
    value = b.select(_has(b, turns, 1), of_cosine, of_sine)
    value = b.select(_has(b, turns, 2), b.neg(value), value)
    return b.select(b.compare(OEQ, x, b.number(0.0)), x if quarter == 0 else one, value)   # keeps -0


def _has(b: Builder, integer: ir.Value, bit: int) -> ir.Value:
    return arith.CmpIOp(arith.CmpIPredicate.ne, b.iand(integer, bit), b.integer(0)).result


def reduce_near(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """The pair x - n pi/2, and n, for |x| <= NEAR."""
    n = b.sub(b.add(b.mul(x, b.number(TWO_OVER_PI)), b.number(MAGIC)), b.number(MAGIC))
    first, second, third, last = (b.mul(n, b.number(-part)) for part in HALF_PI_PARTS)
    r, rest = two_sum(b, b.add(x, first), second)
    r, more = two_sum(b, r, third)
    r, low = two_sum(b, r, b.add(b.add(rest, more), last))
    return r, low, n


def reduce_far(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """As ``reduce_near`` for every x beyond, n modulo 4: by x * 2/pi modulo 4, from those parts of 2/pi whose products are no multiples of
    4 (Payne and Hanek)."""
    scaled = b.mul(x, b.number(2.0 ** -SCALE))
    parts_of_x = halves(b, scaled)
    exponent = b.isub(b.iand(b.sar(b.bits(x), 52), 0x7FF), b.integer(1023 + 54))
    start = b.sub(b.from_bits(b.iadd(exponent, b.integer(MAGIC_BITS))), b.number(MAGIC))
    first = b.at_least(math.floor(b.mul(start, b.number(1 / PART))), 0.0)
    end = b.add(first, b.number(PARTS_READ))
    zero = b.number(0.0)

    def add_part(k: ir.Value, high: ir.Value, low: ir.Value, whole: ir.Value) -> list[ir.Value]:
        part = _part_of_two_over_pi(b, k)
        for half in parts_of_x:
            product = b.mul(half, part)
            fours = math.roundeven(b.mul(product, b.number(0.25)))
            high, rest = two_sum(b, high, b.sub(product, b.mul(fours, b.number(4.0))))
            low = b.add(low, rest)
        n = math.roundeven(high)
        return [b.add(k, b.number(1.0)), b.sub(high, n), low, b.add(whole, n)]

    _, high, low, whole = repeated([first, zero, zero, zero], lambda k, *_: b.less(k, end), add_part)
    turn, rest = two_sum(b, high, low)
    r, more = two_product(b, turn, b.number(HALF_PI))
    more = b.add(more, b.add(b.mul(turn, b.number(HALF_PI_REST)), b.mul(rest, b.number(HALF_PI))))
    return *two_sum(b, r, more), whole


def _part_of_two_over_pi(b: Builder, k: ir.Value) -> ir.Value:
    """The k-th part of 2/pi, scaled."""
    value = b.number(0.0)
    for number in range(PARTS):
        digits = TWO_OVER_PI_BITS >> (PART * (PARTS - 1 - number)) & ((1 << PART) - 1)
        value = b.select(b.compare(OEQ, k, b.number(number)), b.number(digits * 2.0 ** (SCALE - PART * (number + 1))), value)
    return value
