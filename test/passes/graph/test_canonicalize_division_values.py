"""Divisions by constants stay divisions where a bit of the quotient decides, and become products elsewhere."""
import numpy as np
import pytest
from graphs import build, check, names

from legato.dialects import relax
from legato.passes.graph.canonicalize.canonicalize import Canonicalize

DIVISORS = [3, 41, 61, 107, 0.3, 0.7]     # whose reciprocals make less than 1 of 1, or of other whole numbers what is not whole


def f32(number):
    return relax.constant(np.float32(number))


def multiples(divisor):
    return relax.constant(np.arange(64, dtype=np.float32) * np.float32(divisor))


def added(x, divisor):
    """An input whose elements are whole multiples of the divisor: the constant ones, chosen by what is no constant."""
    return relax.where(relax.less(x, f32(100)), multiples(divisor), x)


STEPS = {
    "floor": lambda q: relax.floor(q), "ceil": lambda q: relax.ceil(q), "trunc": lambda q: relax.trunc(q),
    "compared": lambda q: relax.astype(relax.less(q, f32(7)), "f32"), "whole": lambda q: relax.astype(relax.astype(q, "i64"), "f32"),
    "shifted": lambda q: relax.floor(relax.reshape(relax.add(q, f32(2)), shape=[8, 8])), "rounded": lambda q: relax.round(relax.relu(q)),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("divisor", DIVISORS)
def test_a_quotient_that_is_rounded_or_compared_is_exact(step, divisor):
    module = check(build([[64]], lambda x: STEPS[step](relax.divide(added(x, divisor), f32(divisor)))), [Canonicalize()], tolerance=0)
    assert "divide" in names(module)


@pytest.mark.parametrize("divisor", DIVISORS)
def test_whole_numbers_are_exact_dividends(divisor):
    def body(x):
        whole = relax.astype(relax.astype(relax.multiply(x, f32(50)), "i32"), "f32")
        return relax.floor(relax.divide(whole, f32(divisor)))

    assert "divide" in names(check(build([[64]], body), [Canonicalize()], tolerance=0))


@pytest.mark.parametrize("divisors", [(3, 7), (0.3, 0.1, 7)])
def test_quotients_of_quotients_are_exact_dividends(divisors):
    def body(x):
        x = relax.where(relax.less(x, f32(100)), relax.constant(np.arange(512, dtype=np.float32)), x)
        for divisor in divisors:
            x = relax.divide(x, f32(divisor))
        return relax.floor(x)

    assert names(check(build([[512]], body), [Canonicalize()], tolerance=0)).count("divide") == len(divisors)


def dequantized(x, scale):
    return relax.multiply(relax.astype(relax.astype(relax.multiply(x, f32(100)), "i8"), "f32"), f32(scale))


@pytest.mark.parametrize("moved", [
    lambda x: x, lambda x: relax.max_pool2d(relax.reshape(relax.relu(x), shape=[1, 1, 64, 4]), kernel=[1, 1]),
    lambda x: relax.concat([x, x], axis=0),
], ids=["as it is", "pooled", "concatenated"])
def test_what_is_dequantized_is_an_exact_dividend(moved):
    """Of numbers times 6 / 255, of which every fourth is a tie of quotients by 8 / 255."""
    def body(x):
        return relax.round(relax.divide(moved(dequantized(x, 6 / 255)), f32(8 / 255)))

    assert "divide" in names(check(build([[256]], body), [Canonicalize()], tolerance=0))


def test_sums_of_products_are_no_exact_dividends():
    def body(x):
        q = relax.reshape(relax.astype(relax.multiply(x, f32(100)), "i8"), shape=[16, 16])
        scaled = relax.multiply(relax.astype(relax.matmul_integer(q, q), "f32"), f32(0.02))
        return relax.round(relax.divide(scaled, f32(61)))

    assert "divide" not in names(check(build([[256]], body), [Canonicalize()], tolerance=0))


@pytest.mark.parametrize("body", [
    lambda x: relax.exp(relax.divide(x, f32(61))),                                        # nothing decides
    lambda x: relax.floor(relax.divide(x, f32(4))),                                       # exact either way
    lambda x: relax.round(relax.divide(relax.add(relax.exp(x), x), f32(61))),             # the dividend was rounded before
], ids=["continuous", "power of two", "rounded dividend"])
def test_other_divisions_are_products(body):
    assert "divide" not in names(check(build([[64]], body), [Canonicalize()], tolerance=1e-6))


def test_the_zeros_of_a_guard_may_have_the_sizes_of_the_shares():
    def body(x, v):
        scores = relax.where(relax.less(x, f32(-0.5)), f32(-np.inf), x)
        rows = relax.min(relax.astype(relax.equal(scores, f32(-np.inf)), "f32"), axis=[1], keepdims=True)
        shares = relax.where(relax.greater(rows, f32(0.5)), relax.constant(np.zeros((5, 5), np.float32)), relax.softmax(scores, axis=-1))
        return relax.matmul(shares, v)

    assert names(check(build([[5, 5], [5, 8]], body), [Canonicalize()]))[-1] == "where"
