"""Sine and cosine of f32 as polynomials, on scalars and vectors of any rank, with exact reduction of every argument.

The rest modulo pi/2 is a sum of two f32 numbers, since half a unit in its last place would be one in the result's. Arguments up to 2^17 are
reduced in f32, those up to 2^30 in f64. Larger ones need 2/pi to some 190 bits: Payne-Hanek reduction. The latter two are branches, taken
if any element of a vector needs them.
"""
from collections.abc import Callable

from legato.core.mlir import arith, ir, math, scf, vector
from legato.targets.intrinsics.builder import OEQ, OGT, Builder

# sin r = r + r^3 p(r^2) and cos r = 1 + r^2 p(r^2) for |r| <= pi/4: relative errors 2^-27.9 and 2^-33
# (weighted minimax fits, rounded one by one from the lowest power on)
SIN = (-0.0001951828016899526, 0.008332189172506332, -0.16666655242443085)
COS = (2.443066841806285e-05, -0.00138873013202101, 0.04166664555668831, -0.5)
NEAR = 2.0 ** 17  # the greatest argument reduced in f32
MIDDLE = 2.0 ** 30  # the greatest argument reduced by two fused multiply-adds in f64
HALF_PI = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)  # of 24 bits each
UNFUSED = 2.0 ** 13   # the greatest argument that is reduced in f32 without fused multiply-adds
SHORT_HALF_PI = (1.5703125, 0.0004837512969970703, 7.549789948768648e-08)   # the first two of 8 and 11 bits
# 2/pi = sum of part * 2^(-27 (k + 1)); a part times an f32 is exact in f64 (27 + 24 bits), and 8 parts reach 2^-83 for the greatest f32
TWO_OVER_PI = (85445659, 60002565, 39057486, 92086099, 40820845, 92952164, 126382600, 33444195)
MAGIC_F32 = 12582912.0  # 1.5 * 2^23
MAGIC = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, held in the low bits


class _Wide:
    """f64 expressions in the shape of a builder."""

    def __init__(self, b: Builder):
        self.b, self.f64 = b, ir.F64Type.get()
        self.type = b.like(self.f64)

    def number(self, value: float) -> ir.Value:
        return self.b.constant(self.type, ir.FloatAttr.get(self.f64, value))

    def low_bits(self, shifted: ir.Value) -> ir.Value:
        """The low 32 bits of the integer n, given n + MAGIC; arbitrary for NaNs."""
        bits = arith.BitcastOp(self.b.like(ir.IntegerType.get_signless(64)), shifted).result
        return arith.TruncIOp(self.b.integers, bits).result

    def parts(self, value: ir.Value) -> "tuple[ir.Value, ir.Value]":
        """The nearest f32, and what it lacks."""
        high = arith.TruncFOp(self.b.type, value).result
        return high, arith.TruncFOp(self.b.type, arith.subf(value, arith.ExtFOp(self.type, high).result)).result


def sine(b: Builder, x: ir.Value, quarter: int) -> ir.Value:
    """sin(x + quarter * pi/2), 0.9 ulp; NaN for infinities."""
    def far() -> ir.Value:
        middle = _of_rest(b, *_reduce_middle(b, x), quarter)
        return _unless(b, _any_beyond(b, x, MIDDLE), middle, lambda: _of_rest(b, *_reduce_far(b, x), quarter))

    value = _unless(b, _any_beyond(b, x, NEAR), _of_rest(b, *_reduce_near(b, x), quarter), far)
    return value if quarter else b.select(b.compare(OEQ, x, b.number(0.0)), x, value)  # keeps -0


def unfused_sine(b: Builder, x: ir.Value, quarter: int) -> ir.Value:
    """sin(x + quarter * pi/2) where a fused multiply-add may be rounded twice, as Vulkan's; absolute error 2^-23. NaN for infinities."""
    near = _of_rest(b, *_reduce_unfused(b, x), quarter)
    value = _unless(b, _any_beyond(b, x, UNFUSED), near, lambda: _of_rest(b, *_reduce_far(b, x), quarter))
    return value if quarter else b.select(b.compare(OEQ, x, b.number(0.0)), x, value)  # keeps -0


def _of_rest(b: Builder, r: ir.Value, low: ir.Value, q: ir.Value, quarter: int) -> ir.Value:
    """sin((q + quarter) pi/2 + r + low), |r| <= pi/4, low less than a unit in the last place of r."""
    q = b.iadd(q, b.integer(quarter))
    s = b.fma(r, r, b.mul(b.add(r, r), low))
    sin_r = b.add(r, b.fma(b.mul(b.polynomial(s, SIN), s), r, low))
    cos_r = b.polynomial(s, (*COS, 1.0))
    odd = arith.CmpIOp(arith.CmpIPredicate.ne, b.iand(q, 1), b.integer(0)).result
    value = b.select(odd, cos_r, sin_r)
    flip = b.shl(b.iand(q, 2), 30)
    return b.from_bits(arith.XOrIOp(b.bits(value), flip).result)


def _reduce_near(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """x = q pi/2 + r + low, |r| <= pi/4, for |x| <= NEAR.

    The first part of the difference is exact: a multiple of 2^-23 less than 1. The second product is split into two numbers.
    """
    first, second, third = HALF_PI
    shifted = b.fma(x, b.number(0.6366197723675814), b.number(MAGIC_F32))
    n = b.sub(shifted, b.number(MAGIC_F32))
    rough = b.fma(n, b.number(-first), x)
    product = b.mul(n, b.number(second))
    lost = b.fma(n, b.number(second), b.neg(product))
    r = b.sub(rough, product)
    low = b.fma(n, b.number(-third), b.sub(b.sub(b.sub(rough, r), product), lost))
    return r, low, b.bits(shifted)


def _reduce_unfused(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """As ``_reduce_near`` for |x| <= UNFUSED, without the lost part: the products with the first two parts of pi/2 are exact."""
    shifted = b.add(b.mul(x, b.number(0.6366197723675814)), b.number(MAGIC_F32))
    n = b.sub(shifted, b.number(MAGIC_F32))
    r = x
    for part in SHORT_HALF_PI:
        r = b.sub(r, b.mul(n, b.number(part)))
    return r, b.number(0.0), b.bits(shifted)


def _reduce_middle(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """As ``_reduce_near`` for |x| <= MIDDLE."""
    w = _Wide(b)
    xd, magic = arith.ExtFOp(w.type, x).result, w.number(MAGIC)
    shifted = math.fma(xd, w.number(0.6366197723675814), magic)
    n = arith.subf(shifted, magic)
    r = math.fma(n, w.number(-1.5707963267948966), xd)
    return *w.parts(math.fma(n, w.number(-6.123233995736766e-17), r)), w.low_bits(shifted)


def _reduce_far(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """As ``_reduce_near`` for every finite x, by x * 2/pi modulo 4.

    Each product is exact, and so is its remainder modulo 4. Sums are exact until a term less than a quarter is added: the last term above
    has its lowest bit at 2^-52, and integers are subtracted after each step.
    """
    w = _Wide(b)
    xd = arith.ExtFOp(w.type, x).result
    total, whole = w.number(0.0), w.number(0.0)
    for k, part in enumerate(TWO_OVER_PI):
        product = arith.mulf(xd, w.number(part * 2.0 ** (-27 * (k + 1))))
        fours = math.roundeven(arith.mulf(product, w.number(0.25)))
        total = arith.addf(total, math.fma(fours, w.number(-4.0), product))
        n = math.roundeven(total)
        total, whole = arith.subf(total, n), arith.addf(whole, n)
    return *w.parts(arith.mulf(total, w.number(1.5707963267948966))), w.low_bits(arith.addf(whole, w.number(MAGIC)))


def _any_beyond(b: Builder, x: ir.Value, bound: float) -> ir.Value:
    """Whether the size of any element is greater than the bound, as one i1."""
    if b.shape:
        flat = Builder(_flat(b, b.element))
        far = flat.compare(OGT, math.absf(_as(flat.type, x)), flat.number(bound))
        return vector.ReductionOp(ir.IntegerType.get_signless(1), ir.Attribute.parse("#vector.kind<or>"), far).result
    if b.shape is not None:  # a vector of rank 0
        x = vector.ExtractOp(x, [], []).result
    scalar = Builder(b.element)
    return scalar.compare(OGT, math.absf(x), scalar.number(bound))


def _unless(b: Builder, condition: ir.Value, value: ir.Value, build: Callable[[], ir.Value]) -> ir.Value:
    """``value``, or the result of ``build`` where the condition holds. Vectors leave the branch with rank 1, as later passes need."""
    type_ = _flat(b, b.element) if b.shape else b.type
    chosen = scf.IfOp(condition, [type_], has_else=True)
    with ir.InsertionPoint(chosen.then_block):
        scf.YieldOp([_as(type_, build())])
    with ir.InsertionPoint(chosen.else_block):
        scf.YieldOp([_as(type_, value)])
    return _as(b.type, chosen.results[0])


def _flat(b: Builder, element: ir.Type) -> ir.VectorType:
    total = 1
    for extent in b.shape or ():
        total *= extent
    return ir.VectorType.get([total], element)


def _as(type_: ir.Type, value: ir.Value) -> ir.Value:
    return value if value.type == type_ else vector.ShapeCastOp(type_, value).result
