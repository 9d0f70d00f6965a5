"""Reductions, row kernels, and what stands around them in one kernel."""
import re

import numpy as np
import pytest
from harness import DTYPES, TARGETS, Net, single
from thoroughly import first_of, sampled

CASES = [
    ((16, 1000), (1,)),
    ((16, 1000), (0,)),
    ((5, 7), (1,)),
    ((5, 7), (0,)),
    ((3,), (0,)),
    ((1,), (0,)),
    ((128, 768), (1,)),
    ((128, 768), (0,)),
    ((4, 9, 55), (1,)),
    ((4, 9, 55), (2,)),
    ((4, 9, 55), (0, 2)),
    ((2, 3, 4, 5), (1, 3)),
    ((100,), (0,)),
    ((2, 49, 256), (1,)),
    ((64, 130), (1,)),
    ((2, 48), (1,)),
    ((6, 192), (1,)),
    ((3, 1), (1,)),
    ((3, 4, 5), (0, 1, 2)),
    ((2, 8, 7, 7), (2, 3)),
    ((2, 129), (1,)),  # one element after whole vectors
    ((3, 257), (1,)),
    ((1, 513), (1,)),
    ((2, 516), (1,)),
]
OPS = {"relax.sum": np.sum, "relax.max": np.max, "relax.min": np.min, "relax.mean": np.mean, "relax.prod": np.prod}


def values(shape, scale=1.0):
    return (np.random.default_rng(len(shape)).standard_normal(shape) * scale).astype(np.float32)


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
@pytest.mark.parametrize("op", sampled(OPS, 2))
def test_axes(op, target):
    net, arrays, right = Net(target), [], []
    for shape, axes in CASES:
        for keep in (False, True):
            x = values(shape)
            right.append(OPS[op](x.astype(np.float64), axis=axes, keepdims=keep))
            arrays.append(x)
            net.output(net.op(op, [net.input(shape)], axis=list(axes), keepdims=keep))
    for i, (found, expected) in enumerate(zip(net.run(*arrays), right, strict=True)):
        assert found.shape == expected.shape and np.allclose(found, expected, rtol=2e-5, atol=2e-5), CASES[i // 2]


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_integers_and_wide_floats(target):
    net, arrays, right = Net(target), [], []
    for dtype in ("i8", "i32", "i64", "f64", "f16", "bf16"):
        for axis in (0, 1):
            x = (values((37, 45)) * 3).astype(DTYPES[dtype])
            half = dtype in ("f16", "bf16")
            right.append(x.astype(np.float32).max(axis).astype(x.dtype) if half else x.sum(axis, dtype=x.dtype))
            arrays.append(x)
            net.output(net.op("relax.max" if half else "relax.sum", [net.input(x.shape, dtype)], axis=[axis]))
    for found, expected in zip(net.run(*arrays), right, strict=True):
        assert np.allclose(found.astype(np.float64), expected.astype(np.float64), rtol=1e-12)


def test_nan_wins():
    x = values((6, 200))
    x[1, 3], x[4, 199] = np.nan, np.nan
    for op, function in (("relax.max", np.max), ("relax.min", np.min)):
        for axis in (0, 1):
            right = function(x, axis=axis)
            assert np.array_equal(single(op, [x], axis=[axis]), right, equal_nan=True)


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
@pytest.mark.parametrize("dtype", first_of(["f32", "f16"]))
def test_each_element_may_be_nan(target, dtype):
    """In turn, in rows and columns of odd and even numbers of vectors and of what is left of them; beside infinities of both signs."""
    for shape in ((40, 25), (9, 150), (5, 520)):
        rng = np.random.default_rng(1)
        x = rng.standard_normal((*shape, shape[0] * shape[1] // 7)).astype(DTYPES[dtype])
        x = np.moveaxis(x, -1, 0).copy()
        for number, image in enumerate(x):
            image.reshape(-1)[number * 7] = np.nan
            image.reshape(-1)[number * 7 - 3] = (np.inf, -np.inf)[number % 2]
        for axes in ((1,), (2,), (1, 2)):
            net = Net(target)
            for op in ("relax.max", "relax.min"):
                net.output(net.op(op, [net.input(x.shape, dtype)], axis=list(axes), keepdims=False))
            for found, right in zip(net.run(x, x), (np.max(x, axes), np.min(x, axes)), strict=True):
                assert np.array_equal(found, right, equal_nan=True), (shape, axes)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


SOFTMAX = [
    ((1536, 128), 1),
    ((12, 1000), 1),
    ((4, 10), 1),
    ((7, 3), 1),
    ((1, 1000), 1),
    ((2, 21, 49), 1),
    ((2, 8, 200), 1),
    ((64, 30), 0),
    ((3, 7, 300), 2),
    ((50,), 0),
    ((5, 2000), 1),
    ((6, 256), 1),
    ((3, 1), 1),
    ((2, 96), 1),
    ((2, 12, 16, 16), 3),
]


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_softmax(target):
    """With a product in front, fused."""
    net, arrays, right = Net(target), [], []
    for shape, axis in SOFTMAX:
        x = values(shape, 3)
        scaled = net.op("relax.multiply", [net.input(shape), net.input(())])
        net.output(net.op("relax.softmax", [scaled], axis=axis), net.op("relax.log_softmax", [net.input(shape)], axis=axis))
        arrays += [x, np.float32(0.5), x]
        right += [softmax(x.astype(np.float64) / 2, axis), np.log(softmax(x.astype(np.float64), axis))]
    for i, (found, expected) in enumerate(zip(net.run(*arrays), right, strict=True)):
        assert np.allclose(found, expected, rtol=2e-5, atol=2e-6), SOFTMAX[i // 2]


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_logarithms_of_several_rows_at_once(target):
    """Of as many as a vector has lanes, of those that are left, of a number that the call knows; rows as wide as the cache one by one."""
    net, arrays, right = Net(target), [], []
    for rows, columns in ((37, 32), (16, 20), (5, 33), (20, 3000), ("n", 40), ("m", 17)):
        x = values((35 if rows == "n" else 3 if rows == "m" else rows, columns), 3)
        x[1, 2:] = -np.inf
        x[2, -1] = np.nan
        net.output(net.op("relax.log_softmax", [net.input((rows, columns))], axis=1))
        arrays.append(x)
        with np.errstate(divide="ignore"):
            right.append(np.log(softmax(x.astype(np.float64), 1)))
    lowered = str(net.lowered("scheduled"))
    assert len(re.findall(r"math.log %\w+ : vector", lowered)) >= 5
    for found, expected in zip(net.run(*arrays), right, strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=4e-6)


def test_threads_share_few_long_rows():
    """Whose results, one of each row, fill no vectors for each thread, and are computed on: a mean's division, a logarithm."""
    net, arrays, right = Net("llvm{threads=2}", first=None), [], []
    for rows, columns in ((48, 4000), (21, 5000), ("n", 3000)):
        x = values((19 if rows == "n" else rows, columns), 3)
        net.output(net.op("relax.mean", [net.input((rows, columns))], axis=[1]))
        net.output(net.op("relax.log", [net.op("relax.sum", [net.op("relax.exp", [net.input((rows, columns))])], axis=[1])]))
        arrays += [x, x]
        right += [x.astype(np.float64).mean(1), np.log(np.exp(x.astype(np.float64)).sum(1))]
    assert str(net.lowered("scheduled")).count("scf.forall (") >= len(arrays)
    for found, expected in zip(net.run(*arrays), right, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_softmax_of_extremes():
    """A row of -inf but one, large numbers, and a NaN, which makes its row NaN and no other."""
    x = np.zeros((5, 40), np.float32)
    x[0, 1:], x[1], x[2, 7], x[3, 0] = -np.inf, 1e30, 300, np.nan
    with np.errstate(invalid="ignore"):
        assert np.allclose(single("relax.softmax", [x], axis=1), softmax(x.astype(np.float64), 1), atol=1e-6, equal_nan=True)


def test_softmax_makes_no_denormals():
    """Products by denormal numbers are slow, and masks of -100 would make them."""
    x = np.full((3, 40), -95, np.float32)
    x[:, 7], x[:, 20] = 0, -87
    for axis in (1, 0):
        found = single("relax.softmax", [x if axis else x.T.copy()], axis=axis)
        found = found if axis else found.T
        assert (np.delete(found, [7, 20], axis=1) == 0).all()
        assert np.allclose(found[:, [7, 20]], [1, np.exp(-87.0)], rtol=1e-5, atol=0)


NORMS = [(128, 768), (4, 10), (1, 128, 384), (3, 100), (5, 17), (2, 3, 1000), (2, 1)]


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_norms(target):
    """layer_norm after a residual sum, and rms_norm."""
    net, arrays, right = Net(target), [], []
    for shape in NORMS:
        x, g, b = values(shape, 3) + 1, values(shape[-1:]) + 1, values(shape[-1:])
        sum_ = net.op("relax.add", [net.input(shape), net.input(shape)])
        net.output(net.op("relax.layer_norm", [sum_, net.weight(g), net.weight(b)], axes=[-1], epsilon=1e-5))
        net.output(net.op("relax.rms_norm", [net.input(shape), net.weight(g)], axes=[-1], epsilon=1e-5))
        wide = 2 * x.astype(np.float64)
        right.append((wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5) * g + b)
        wide /= 2
        right.append(wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5) * g)
        arrays += [x, x, x]
    for i, (found, expected) in enumerate(zip(net.run(*arrays), right, strict=True)):
        assert np.allclose(found, expected, rtol=1e-5, atol=1e-5), NORMS[i // 2]


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_dynamic_rows_and_columns(target):
    net = Net(target)
    x, g = net.input(("n", "m")), net.input(("m",))
    net.output(
        net.op("relax.softmax", [x], axis=1),
        net.op("relax.softmax", [x], axis=0),
        net.op("relax.layer_norm", [x, g, g], axes=[-1], epsilon=1e-5),
        net.op("relax.sum", [x], axis=[1]),
        net.op("relax.max", [x], axis=[0]),
        net.op("relax.max", [x], axis=[1]),
    )
    for shape in ((1, 1), (3, 7), (31, 64), (2, 1000), (129, 33), (5, 31), (2, 32), (300, 47)):
        a, w = values(shape, 3), values(shape[1:]) + 1
        wide = a.astype(np.float64)
        norm = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * w + w
        right = [softmax(wide, 1), softmax(wide, 0), norm, wide.sum(1), wide.max(0), wide.max(1)]
        for found, expected in zip(net.run(a, w), right, strict=True):
            assert found.shape == expected.shape and np.allclose(found, expected, rtol=2e-5, atol=2e-5), shape


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_what_is_reduced_is_computed_in_its_kernel(target):
    """Along axes of unknown size, of values that several inputs are broadcast to."""
    net = Net(target)
    x, g, column = net.input(("n", "m")), net.input(("m",)), net.input(("n", 1))
    product = net.op("relax.multiply", [net.op("relax.add", [x, g]), net.op("relax.abs", [column])])
    net.output(net.op("relax.sum", [net.op("relax.multiply", [x, x])], axis=[1]), net.op("relax.max", [product], axis=[0]),
               net.op("relax.mean", [net.op("relax.exp", [net.op("relax.multiply", [x, column])])], axis=[0, 1]))
    main = str(net.lowered("fused")).partition("func.func private")[0]
    assert main.count("call @") == 4      # the absolute value of a column is one
    for shape in ((1, 1), (3, 7), (33, 64), (2, 300)):
        a, w, c = values(shape, 3), values(shape[1:]) + 1, values((shape[0], 1), 1)
        wide = a.astype(np.float64)
        right = [(wide**2).sum(1), ((wide + w) * np.abs(c)).max(0), np.exp(wide * c).mean()]
        for found, expected in zip(net.run(a, w, c), right, strict=True):
            assert found.shape == expected.shape and np.allclose(found, expected, rtol=2e-5, atol=2e-5), shape


def test_a_row_is_read_and_written_once():
    """A short row stays in registers: one transfer in, one out, and no buffer between."""
    net = Net()
    net.output(net.op("relax.softmax", [net.input((64, 64))], axis=1))
    tensors = str(net.lowered("scheduled"))
    assert tensors.count("vector.transfer_read") == 1 and tensors.count("vector.transfer_write") == 1
    assert "arith.divf %cst, " in tensors and "divf" not in [l for l in tensors.splitlines() if "vector<64" in l and "divf" in l]


@pytest.mark.parametrize("dtype", first_of(["f32", "f16", "f64"]))
@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_softmaxes_of_short_rows(target, dtype):
    """Through the whole pipeline, which computes them as columns; with masks, infinities and NaNs."""
    net, arrays, right = Net(target, first=None), [], []
    generator = np.random.default_rng(7)
    for shape in ((300, 2), (65, 3), ("n", 70, 4), (2, 9, 31, 7), (129, 15), (12, 5)):
        x = generator.standard_normal([11 if isinstance(size, str) else size for size in shape]).astype(DTYPES[dtype]) * 5
        rows = x.reshape(-1, x.shape[-1])
        rows[3, 0], rows[5], rows[7, -1], rows[9, 0] = -np.inf, -1000, np.nan, np.inf
        for name in ("relax.softmax", "relax.log_softmax"):
            net.output(net.op(name, [net.input(shape, dtype)], axis=-1))
            arrays.append(x)
            with np.errstate(invalid="ignore"):
                wide = x.astype(np.float64)
                wide = wide - wide.max(-1, keepdims=True)
                logarithm = wide - np.log(np.exp(wide).sum(-1, keepdims=True))
            right.append(logarithm if name == "relax.log_softmax" else np.exp(logarithm))
    tolerance = {"f32": 2e-6, "f16": 2e-3, "f64": 1e-14}[dtype]
    for found, expected in zip(net.run(*arrays), right):
        assert np.allclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
