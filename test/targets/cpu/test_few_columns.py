"""Products of one to three columns, which are computed as rows, with what follows them, against numpy."""
import numpy as np
import pytest
from harness import DTYPES, Net
from test_odd_columns import CPUS, TOLERANCE, check
from thoroughly import thorough

from legato.dialects import relax

RNG = np.random.default_rng(29)
CASES = [((2000,), 300), ((5,), 97), ((3, 2, 33), 48), ((40,), 20)]    # rows, with a batch before them, and depth


@pytest.mark.parametrize("dtype, threads", [("f32", 1), ("f64", 2), *thorough([("f16", 1), ("f32", 2), ("bf16", 2)], 2)])
def test_few_columns(dtype, threads):
    """Of constants and of tensors, in batches of one matrix or of many, with rows that only the call knows, a bias and a function."""
    net, arrays, expected = Net(f"llvm{{cpu={CPUS[-1]},threads={threads}}}", first=None), [], []
    for number, (rows, depth) in enumerate(CASES):
        for columns in (1, 2, 3):
            outer = (*rows[:-1], depth, columns)
            x, w, v = (RNG.standard_normal(shape).astype(DTYPES[dtype]) for shape in ((*rows, depth), (depth, columns), outer))
            some = net.input((f"n{number}", *rows[1:], depth), dtype)
            factor, fixed, factors = (net.input(array.shape, dtype) for array in (w, x, v))
            with net.building():
                bias = relax.relu(relax.add(relax.matmul(fixed, factor), net.weight(w[0])))
                net.output(relax.matmul(some, net.weight(w)), bias, relax.matmul(fixed, factors))
            wide, batch = (x.astype(np.float64) @ factor.astype(np.float64) for factor in (w, v))
            arrays += [x, w, x, v]
            expected += [wide, np.maximum(wide + w[0].astype(np.float64), 0), batch]
    check(net, arrays, expected, TOLERANCE[dtype])


def test_values_that_are_no_numbers():
    """NaN and infinities reach their own rows only."""
    x, w = np.ones((6, 40), np.float32), np.ones((40, 1), np.float32)
    x[1, 3], x[2, 39], x[4, 0], x[4, 39] = np.nan, np.inf, np.inf, -np.inf
    net = Net(f"llvm{{cpu={CPUS[-1]}}}", first=None)
    a, b = net.input(x.shape), net.input(w.shape)
    with net.building():
        net.output(relax.matmul(a, b))
    found, = net.run(x, w)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, x @ w)


def test_no_rows():
    x, w = np.ones((0, 40), np.float32), np.ones((40, 1), np.float32)
    net = Net(f"llvm{{cpu={CPUS[-1]}}}", first=None)
    a, b = net.input(("n", 40)), net.input(w.shape)
    with net.building():
        net.output(relax.matmul(a, b))
    found, = net.run(x, w)
    assert found.shape == (0, 1)
