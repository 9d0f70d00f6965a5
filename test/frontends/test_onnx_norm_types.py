"""Normalizations and activations in element types in which onnxruntime has none, or has them in f32, compiled, beside numpy in f64."""
import ml_dtypes
import numpy as np
import pytest
from onnx import helper
from onnx_check import model, value
from thoroughly import sampled

import legato

RNG = np.random.default_rng(0)
TOLERANCES = {np.float64: 1e-14, np.float32: 1e-6, np.float16: 1e-3, ml_dtypes.bfloat16: 1e-2}


def one_node(op, array, opset, **attributes):
    """What a model of one node gives, compiled."""
    proto = model([helper.make_node(op, ["x"], ["y"], "node", **attributes)], [value("x", array)], ["y"], opset)
    return np.asarray(legato.compile(legato.from_onnx(proto))(array))


def assert_near(found, wanted, dtype):
    assert found.dtype == dtype
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=0, atol=TOLERANCES[dtype] * np.abs(wanted).max())


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("opset, axes", sampled([(9, None), (13, [0, -1]), (20, [1])], 2, 2))
def test_mean_variance_normalization(opset, axes, dtype):
    x = RNG.standard_normal((2, 4, 3, 5)).astype(dtype)
    wide, over = x.astype(np.float64), tuple(axes or (0, 2, 3))
    wanted = (wide - wide.mean(over, keepdims=True)) / (wide.std(over, keepdims=True) + 1e-9)
    assert_near(one_node("MeanVarianceNormalization", x, opset, **({"axes": axes} if axes else {})), wanted, dtype)


def test_a_small_variance_beside_a_large_mean():
    x = (100 + 0.01 * RNG.standard_normal((2, 4, 3, 5))).astype(np.float32)
    wide = x.astype(np.float64)
    wanted = (wide - wide.mean((0, 2, 3), keepdims=True)) / wide.std((0, 2, 3), keepdims=True)
    found = one_node("MeanVarianceNormalization", x, 13)
    assert np.abs(found - wanted).max() < 1e-2     # of a mean that f32 rounds by 1e-5


@pytest.mark.parametrize("op, wanted", [("LeakyRelu", lambda x: np.where(x < 0, x * np.float64(np.float32(0.01)), x)),
                                        ("HardSigmoid", lambda x: np.clip(x * np.float64(np.float32(0.2)) + 0.5, 0, 1))])
def test_defaults_are_numbers_of_32_bits(op, wanted):
    x = RNG.standard_normal((4, 25))
    assert_near(one_node(op, x, 20), wanted(x), np.float64)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_statistics_are_f32(dtype):
    """ONNX computes the mean and the inverse standard deviation of LayerNormalization in the type of stash_type."""
    x, scale = RNG.standard_normal((2, 3, 16)).astype(dtype), np.ones(16, dtype)
    node = helper.make_node("LayerNormalization", ["x", "scale"], ["y", "mean", "inverse"], "node", axis=-1)
    proto = model([node], [value("x", x), value("scale", scale)], ["y", "mean", "inverse"], 17)
    y, mean, inverse = (np.asarray(one) for one in legato.compile(legato.from_onnx(proto))(x, scale))
    wide = x.astype(np.float64)
    assert y.dtype == dtype and mean.dtype == inverse.dtype == np.float32
    np.testing.assert_allclose(mean, wide.mean(-1, keepdims=True), rtol=0, atol=1e-6)
    np.testing.assert_allclose(inverse, 1 / np.sqrt(wide.var(-1, keepdims=True) + 1e-5), rtol=1e-5)


@pytest.mark.parametrize("sizes", [(2, 3, 4, 5), (2, 3)])
def test_batch_norm_of_each_place(sizes):
    """spatial = 0, which opset 9 took away: mean and variance are those of an element of all examples."""
    arrays = [RNG.standard_normal(shape).astype(np.float32) for shape in (sizes, *[sizes[1:]] * 3)]
    arrays.append(np.abs(RNG.standard_normal(sizes[1:])).astype(np.float32))
    names = ["x", "scale", "bias", "mean", "variance"]
    node = helper.make_node("BatchNormalization", names, ["y"], "node", spatial=0, epsilon=0.1)
    proto = model([node], [value(name, array) for name, array in zip(names, arrays)], ["y"], 7)
    x, scale, bias, mean, variance = arrays
    wanted = (x - mean) / np.sqrt(variance + np.float32(0.1)) * scale + bias
    np.testing.assert_allclose(legato.compile(legato.from_onnx(proto))(*arrays), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("opset, attributes, trains", [(6, {"is_test": 1}, False), (6, {}, True), (9, {}, True), (13, {}, True)])
def test_batch_norm_that_names_statistics_is_for_training(opset, attributes, trains):
    """Before opset 14 five outputs say that a node is for training, whether anything reads them or not."""
    arrays = [RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 4, 5), *[(3,)] * 3)]
    arrays.append(np.abs(RNG.standard_normal(3)).astype(np.float32))
    names, statistics = ["x", "scale", "bias", "mean", "variance"], ["new_mean", "new_variance", "saved_mean", "saved_variance"]
    node = helper.make_node("BatchNormalization", names, ["y", *statistics], "node", **attributes)
    inputs = [value(name, array) for name, array in zip(names, arrays)]
    x, scale, bias, mean, variance = (array if array.ndim > 1 else array.reshape(3, 1, 1) for array in arrays)
    if trains:
        mean, variance = (statistic((0, 2, 3), keepdims=True) for statistic in (x.mean, x.var))
    wanted = (x - mean) / np.sqrt(variance + np.float32(1e-5)) * scale + bias
    np.testing.assert_allclose(legato.compile(legato.from_onnx(model([node], inputs, ["y"], opset)))(*arrays), wanted, rtol=1e-5, atol=1e-5)
    with pytest.raises(legato.UnsupportedError, match=r"node .*its output 1 is used|statistics of a training are not supported"):
        legato.from_onnx(model([node], inputs, ["y", "new_mean"], opset))
