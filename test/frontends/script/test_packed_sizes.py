"""Sizes that depend on data, the results of packed functions: what follows may use them, and calls check them."""
import numpy as np
import pytest
from packed_functions import F, arguments, rank_first, rows

import legato
from legato.script import I, R, T, parse, print_script


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@I.ir_module
class Everything:
    @T.prim_func
    def scale(x: T.handle, y: T.handle):
        m = T.int64()
        X = T.match_buffer(x, (m, 4), F)
        Y = T.match_buffer(y, (m, 4), F)
        for i, j in T.grid(m, 4):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n", 4), F)):
        m = T.int64()
        y = R.call_packed("legato.test.positive_rows", x, sinfo_args=R.Tensor((m, 4), F))
        z = R.nn.softmax(y + 1.0)
        w = R.concat([z, z], axis=0)
        flat = R.reshape(w, (m * 8,))
        scaled = R.call_tir(Everything.scale, (y,), R.Tensor((m, 4), F))
        total = R.sum(flat)
        filled = R.full(R.shape([m, 2]), R.const(3, F), F)
        return flat, scaled, total, filled


@pytest.fixture(scope="module")
def everything():
    return legato.compile(Everything)


@pytest.mark.parametrize("n", [1, 7, 300])
def test_all_that_follows_may_use_a_size_that_depends_on_data(everything, n):
    x = rows(n)
    y = x[x[:, 0] > 0]
    z = softmax(y + 1)
    for found, expected in zip(everything(x), (np.concatenate([z, z]).reshape(-1), 2 * y, 2 * len(y), np.full((len(y), 2), 3))):
        assert found.shape == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_no_row_at_all(everything):
    flat, scaled, total, filled = everything(-np.abs(rows()))
    assert (flat.shape, scaled.shape, filled.shape, total) == ((0,), (0, 4), (0, 2), 0)


def test_match_cast_gives_the_size_its_name():
    x = rows()
    y = x[x[:, 0] > 0]
    np.testing.assert_allclose(legato.compile(rank_first)(x), np.exp(y), rtol=1e-6)
    assert tuple(arguments.given[0]) == (len(y),)


@R.function
def keeps_positive(x: R.Tensor(("n", 4), F)):
    m = T.int64()
    return R.call_packed("legato.test.positive_rows", x, sinfo_args=R.Tensor((m, 4), F))


@R.function
def calls_twice(x: R.Tensor(("n", 4), F), y: R.Tensor(("k", 4), F)):
    return R.concat([keeps_positive(x), keeps_positive(y)], axis=0), keeps_positive(keeps_positive(x))


def test_a_function_called_twice_has_sizes_of_its_own():
    x, y = rows(7), rows(20)
    both, once = legato.compile(calls_twice)(x, y)
    np.testing.assert_array_equal(both, np.concatenate([x[x[:, 0] > 0], y[y[:, 0] > 0]]))
    np.testing.assert_array_equal(once, x[x[:, 0] > 0])


MATCHES = '''
@R.function
def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("k",), "float32")):
    n, k, m, j = T.int64(), T.int64(), T.int64(), T.int64()
    p = R.call_packed("legato.test.positive_rows", x, sinfo_args=R.Tensor((m, 4), "float32"))
    {}
'''


def run(text, *arrays):
    return legato.compile(parse(MATCHES.format(text)))(*arrays)


def test_a_match_that_calls_check():
    x, found = rows(), int((rows()[:, 0] > 0).sum())
    text = 'z = R.match_cast(R.reshape(R.concat([p, p]), (m * 8,)), R.Tensor((k,), "float32"))\n    return R.add(z, y)'
    np.testing.assert_allclose(run(text, x, np.ones(found * 8, F)), np.concatenate([x[x[:, 0] > 0]] * 2).reshape(-1) + 1, rtol=1e-6)
    with pytest.raises(ValueError, match=rf"'legato.test.positive_rows' must return .* but float32\[{found}, 4\] came back|match_cast"):
        run(text, x, np.ones(found * 8 + 8, F))


def test_a_match_of_sizes_that_two_inputs_give():
    text = 'q = R.match_cast(x, R.Tensor((k * 2, 4), "float32"))\n    return q, y'
    run(text, rows(6), np.ones(3, F))
    with pytest.raises(ValueError, match=r"argument 1 'y' must be|argument 0 'x' must be"):
        run(text, rows(7), np.ones(3, F))


def test_a_match_of_products():
    text = 'z = R.match_cast(y, R.Tensor((n * m,), "float32"))\n    return R.reshape(z, (n, m))'
    x, found = rows(), int((rows()[:, 0] > 0).sum())
    assert run(text, x, np.ones(7 * found, F)).shape == (7, found)
    message = rf"match_cast of 'y' .*needs dimension 0, k, to be m \* n \(expected {7 * found}, found {7 * found + 1}\)"
    with pytest.raises(ValueError, match=message):
        run(text, x, np.ones(7 * found + 1, F))


def test_a_match_of_a_shape():
    text = 's = R.match_cast(R.shape_of(p), R.Shape([j, 4]))\n    return R.full(R.shape([j, 2]), R.const(1, "float32"), "float32")'
    assert run(text, rows(), np.ones(1, F)).shape == ((rows()[:, 0] > 0).sum(), 2)
    with pytest.raises(legato.LegatoError, match="size 1 is 4, never 5"):
        run(text.replace("[j, 4]", "[j, 5]"), rows(), np.ones(1, F))


def test_a_printed_match_checks_again():
    text = print_script(parse(MATCHES.format('z = R.match_cast(y, R.Tensor((n * m,), "float32"))\n    return R.reshape(z, (n, m))')))
    assert 'R.match_cast(y, R.Tensor(("m * n",), "float32"))' in text
    exe, x, found = legato.compile(parse(text)), rows(), int((rows()[:, 0] > 0).sum())
    assert exe(x, np.ones(7 * found, F)).shape == (7, found)
    with pytest.raises(ValueError, match="needs dimension 0"):
        exe(x, np.ones(7 * found + 1, F))


@R.function
def picks(x: R.Tensor(("n", 4), F), y: R.Tensor(("k", 3), F)):
    k, m = T.int64(), T.int64()
    places = R.nonzero(R.greater(R.sum(x, axis=[1]), R.const(0, F)))
    rows = R.match_cast(R.reshape(places, (R.shape_of(places)[1],)), R.Tensor((m,), "int64"))
    picked = R.take(x, rows, axis=0)
    both = R.match_cast(picked, R.Tensor((k, 4), F))
    return R.matmul(both, R.full((4, m), R.const(1, F), F)), R.concat([both, y], axis=1)


def test_the_size_that_an_op_counts_can_be_matched():
    x = rows(9)
    kept = x[x.sum(1) > 0]
    y = np.ones((len(kept), 3), F)
    product, both = legato.compile(picks)(x, y)
    np.testing.assert_allclose(product, kept @ np.ones((4, len(kept)), F), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(both, np.concatenate([kept, y], 1))
    with pytest.raises(ValueError, match=r"the match_cast of 'picked' \(test_packed_sizes.py:\d+\) needs dimension 0, nonzero, to be k"):
        legato.compile(picks)(x, np.ones((len(kept) + 1, 3), F))


def test_distinct_elements():
    module = parse('''
@R.function
def main(x: R.Tensor((3, 4), "int32")):
    values, inverse, counts = R.unique(x, return_inverse=True, return_counts=True)
    return values, inverse, R.multiply(R.astype(values, "int64"), counts)
''')
    x = np.array([[5, 1, 1, -2], [5, 5, 0, 1], [1, 1, 1, 7]], np.int32)
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    for found, expected in zip(legato.compile(module)(x), (values, inverse.reshape(-1), values * counts), strict=True):
        np.testing.assert_array_equal(found, expected)
