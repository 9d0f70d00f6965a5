"""Products of fixed-point numbers, against the same in Python's integers."""
import numpy as np
import pytest

import legato
from legato.frontends.script.language.source import ScriptError
from legato.script import parse

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.integers(-2**20, 2**20, 28), [0, 1, -1, 2**31 - 1]]).astype(np.int32)
Y = np.concatenate([RNG.integers(-2**31, 2**31 - 1, 30), [2**30, 3]]).astype(np.int32)


def rounded(x, y, left, right):
    """``x * 2**left * y / 2**right``, rounded half up, in 64 bits and then 32."""
    products = ((int(a) << int(le)) * int(b) + (1 << int(ri) - 1) >> int(ri) for a, b, le, ri in np.nditer([x, y, left, right]))
    return np.array([product % 2**32 for product in products], np.uint32).view(np.int32)


@pytest.mark.parametrize(("q", "shift"), [(31, -3), (31, 0), (31, 2), (15, -20), (1, 0)])
@pytest.mark.parametrize("factor", ["y[i]", str(Y[3]), "1073741824"])
def test_a_product_of_fixed_point_numbers(q, shift, factor):
    module = parse(f'''
@T.prim_func
def f(x: T.Buffer((32,), "int32"), y: T.Buffer((32,), "int32"), s: T.Buffer((32,), "int32"), z: T.Buffer((2, 32), "int32")):
    for i in range(32):
        z[0, i] = T.q_multiply_shift(x[i], {factor}, {q}, {shift})
        z[1, i] = T.q_multiply_shift(x[i], {factor}, {q}, s[i])
''')
    shifts = np.arange(32, dtype=np.int32) % 9 - 4
    z, factors = legato.compile(module)(X, Y, shifts), Y if factor == "y[i]" else np.int32(factor)
    np.testing.assert_array_equal(z[0], rounded(X, factors, max(shift, 0), q + max(-shift, 0)))
    np.testing.assert_array_equal(z[1], rounded(X, factors, np.maximum(shifts, 0), q + np.maximum(-shifts, 0)))


@pytest.mark.parametrize("flag", ["T.bool(True)", "False"])
def test_a_product_with_shifts_of_each_channel(flag):
    module = parse(f'''
@T.prim_func
def f(x: T.Buffer((32,), "int32"), y: T.Buffer((32,), "int32"), l: T.Buffer((32,), "int32"), r: T.Buffer((32,), "int32"),
      z: T.Buffer((32,), "int32")):
    for i in range(32):
        z[i] = T.q_multiply_shift_per_axis(x[i], y[i], l[i], r[i], 31, {flag}, True)
''')
    left, right = (np.arange(32, dtype=np.int32) % n for n in (5, 3))
    np.testing.assert_array_equal(legato.compile(module)(X, Y, left, right), rounded(X, Y, left * ("True" in flag), 31 + right))


def test_other_types_are_refused():
    with pytest.raises(ScriptError, match=r"T\.q_multiply_shift: x is a number of int32, not int64: cast it first"):
        parse('''
@T.prim_func
def f(x: T.Buffer((4,), "int64"), z: T.Buffer((4,), "int32")):
    for i in range(4):
        z[i] = T.q_multiply_shift(x[i], 3, 31, 0)
''')
