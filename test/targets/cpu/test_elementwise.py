"""Elementwise kernels: any rank, size, broadcast and dtype, static and dynamic."""

import ml_dtypes
import numpy as np
import pytest
from harness import DTYPES, TARGETS, Net, single
from thoroughly import first_of

SHAPES = [
    (),
    (1,),
    (3,),
    (7,),
    (16,),
    (55,),
    (64,),
    (100,),
    (1000,),
    (0,),
    (0, 4),
    (5, 7),
    (100, 3),
    (4, 128),
    (2, 55),
    (12, 48),
    (16, 1000),
    (3, 5, 96),
    (2, 3, 4, 5),
    (130, 1),
    (1, 1, 1),
    (3, 1, 257),
]


def values(shape, dtype="f32", seed=0):
    generator = np.random.default_rng(seed)
    if dtype == "i1":
        return generator.random(shape) < 0.5
    x = generator.standard_normal(shape) * (50 if dtype.startswith(("i", "u")) else 2)
    return np.abs(x).astype(DTYPES[dtype]) if dtype.startswith("u") else x.astype(DTYPES[dtype])


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_chains_of_every_shape(target):
    """exp(x + b) with a weight b along the last axis, one kernel a shape, all in one compile."""
    net, arrays, right = Net(target), [], []
    for shape in SHAPES:
        x, b = values(shape), values(shape[-1:], seed=1)
        net.output(net.op("relax.exp", [net.op("relax.add", [net.input(x.shape), net.weight(b)])]))
        arrays.append(x)
        right.append(np.exp(x.astype(np.float64) + b))
    for shape, found, expected in zip(SHAPES, net.run(*arrays), right):
        assert found.shape == shape and np.allclose(found, expected, rtol=2e-6, atol=0), shape


CONSTANTS = [    # shapes of an input and of two constants beside it, whose steps change within a few elements
    ((40, 4), (40, 1), (4,)),
    (("n", 7, 4), (7, 1), (1, 1, 4)),
    (("n", 30, 2), (1, 30, 1), (30, 2)),
    ((3, 19, 23, 3), (3,), (23, 1)),
    ((2, 64, 1, 3), (64, 1, 1), (1, 3)),
    ((5, 3, 3, 3), (3, 1, 3), (1, 3, 1)),
    ((1, 6), (5, 1), (6,)),
]


@pytest.mark.parametrize("dtype", ["f32", "f16", "i32"])
@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_constants_beside_short_rows(target, dtype):
    """(x + a) b through the whole pipeline, which repeats constants along short rows; one kernel a shape."""
    net, arrays, right = Net(target, first=None), [], []
    for shape, *constants in CONSTANTS:
        x = values([11 if size == "n" else size for size in shape], dtype)
        a, b = (values(one, dtype, seed) for seed, one in enumerate(constants, 1))
        net.output(net.op("relax.multiply", [net.op("relax.add", [net.input(shape, dtype), net.weight(a)]), net.weight(b)]))
        arrays.append(x)
        right.append((x + a) * b)
    for shape, found, expected in zip(CONSTANTS, net.run(*arrays), right):
        assert np.array_equal(found, expected), shape


BROADCASTS = [
    ((4, 5), (4, 1)),
    ((4, 5), (1, 5)),
    ((4, 5), (5,)),
    ((2, 3, 70), (3, 1)),
    ((2, 3, 70), (2, 1, 70)),
    ((2, 3, 70), ()),
    ((6, 1), (1, 33)),
    ((2, 16, 9, 9), (16, 1, 1)),
    ((1, 8), (7, 1, 1)),
    ((300, 3), (300, 1)),
]


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_broadcasts(target):
    net, arrays, right = Net(target), [], []
    for a, b in BROADCASTS:
        x, y = values(a), values(b, seed=1)
        net.output(net.op("relax.multiply", [net.input(a), net.input(b)]))
        arrays += [x, y]
        right.append(x * y)
    for case, found, expected in zip(BROADCASTS, net.run(*arrays), right):
        assert np.array_equal(found, expected), case


def test_rows_of_a_length_that_the_call_knows():
    """Masks, which take long without AVX-512, are for what a register leaves of a row, or two where functions are computed."""
    net = Net("llvm{cpu=x86-64-v3}")
    added = net.op("relax.add", [net.input(("n", "m")), net.input((1, "m"))])
    net.output(added)
    net.output(net.op("relax.exp", [net.op("relax.multiply", [net.input(("a", "b")), net.input(("a", 1))])]))
    for rows, length in ((3, 0), (2, 5), (5, 8), (3, 21), (2, 40), (3, 100)):
        arrays = [values(shape, seed=seed) for seed, shape in enumerate(((rows, length), (1, length), (rows, length), (rows, 1)))]
        x, y = net.run(*arrays)
        assert np.array_equal(x, arrays[0] + arrays[1]), length
        np.testing.assert_allclose(y, np.exp(arrays[2] * arrays[3]), rtol=2e-6)
    text = str(net.lowered("scheduled"))
    assert "vector<16xf32>" in text and "vector<64xf32>" not in text


DTYPE_CASES = (
    [("relax.add", t, np.add) for t in ("f64", "f16", "bf16", "i8", "i16", "i32", "i64")]
    + [("relax.maximum", t, np.maximum) for t in ("f32", "f64", "i8", "i64")]
    + [("relax.logical_and", "i1", np.logical_and)]
)


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_dtypes(target):
    net, arrays, right = Net(target), [], []
    for op, dtype, function in DTYPE_CASES:
        for size in (1, 9, 67, 300):
            x, y = values((size,), dtype), values((size,), dtype, 1)
            net.output(net.op(op, [net.input(x.shape, dtype), net.input(y.shape, dtype)]))
            arrays += [x, y]
            right.append(function(x, y).astype(DTYPES[dtype]))
    found = net.run(*arrays)
    assert all(np.array_equal(f, r) for f, r in zip(found, right, strict=True))


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_dynamic_sizes(target):
    net = Net(target)
    x, b = net.input(("n", "m", 5)), net.input((5,))
    net.output(net.op("relax.tanh", [net.op("relax.add", [x, b])]))
    y = net.input(("k",))
    net.output(net.op("relax.sigmoid", [y]))
    for n, m, k in ((1, 1, 1), (3, 4, 17), (2, 100, 1000), (5, 0, 0), (40, 1, 129)):
        a, c, z = values((n, m, 5)), values((5,)), values((k,))
        found, other = net.run(a, c, z)
        assert found.shape == a.shape and np.allclose(found, np.tanh(a.astype(np.float64) + c), rtol=3e-7)
        assert np.allclose(other, 1 / (1 + np.exp(-z.astype(np.float64))), rtol=3e-7)


def test_nan_and_infinities_in_maxima():
    x = np.array([np.nan, 1, np.nan, np.inf, -np.inf, 2, -0.0] * 9, np.float32)
    y = np.array([1, np.nan, np.nan, 3, 4, np.inf, 0.0] * 9, np.float32)
    for op, function in (("relax.maximum", np.maximum), ("relax.minimum", np.minimum)):
        assert np.array_equal(single(op, [x, y]), function(x, y), equal_nan=True)
    assert np.array_equal(single("relax.relu", [x]), np.where(np.isnan(x), x, np.maximum(x, 0)), equal_nan=True)


def test_bf16_casts_round_to_even_and_keep_nan():
    x = np.concatenate([np.random.default_rng(0).standard_normal(1000) * 1e3, [np.nan, np.inf, -np.inf, 3.3961776e38, 1e-40]]).astype(
        np.float32
    )
    found = single("relax.astype", [x], dtype="bfloat16")
    assert np.array_equal(found.astype(np.float32), x.astype(ml_dtypes.bfloat16).astype(np.float32), equal_nan=True)
