"""Sums and products as pairs of a number and what it lacks (Dekker's), where no multiply-add rounds once."""
from legato.core.mlir import ir
from legato.targets.intrinsics.builder import Builder

Pair = tuple[ir.Value, ir.Value]

UPPER = 0xFFFFFFFFF8000000      # the bits of a number's greater half: products of halves are exact


def two_sum(b: Builder, x: ir.Value, y: ir.Value) -> Pair:
    """x + y, and what it lacks."""
    total = b.add(x, y)
    of_y = b.sub(total, x)
    return total, b.add(b.sub(x, b.sub(total, of_y)), b.sub(y, of_y))


def halves(b: Builder, x: ir.Value) -> Pair:
    """Two numbers of 26 and of 27 bits whose sum is x."""
    upper = b.from_bits(b.iand(b.bits(x), UPPER))
    return upper, b.sub(x, upper)


def two_product(b: Builder, x: ir.Value, y: ir.Value) -> Pair:
    """x y, and what it lacks."""
    product = b.mul(x, y)
    (x_high, x_low), (y_high, y_low) = halves(b, x), halves(b, y)
    rest = b.add(b.sub(b.mul(x_high, y_high), product), b.mul(x_high, y_low))
    return product, b.add(b.add(rest, b.mul(x_low, y_high)), b.mul(x_low, y_low))


def times_pair(b: Builder, x: Pair, y: tuple[float, float]) -> Pair:
    """The product of two pairs, of which one is constant."""
    product, rest = two_product(b, x[0], b.number(y[0]))
    return product, b.add(rest, b.add(b.mul(x[1], b.number(y[0])), b.mul(x[0], b.number(y[1]))))
