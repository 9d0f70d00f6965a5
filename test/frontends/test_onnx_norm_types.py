"""Normalizations and activations in element types in which onnxruntime has none, or has them in f32, compiled, beside numpy in f64."""
import ml_dtypes
import numpy as np
import pytest
from onnx import helper
from onnx_check import model, value

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
@pytest.mark.parametrize("opset, axes", [(9, None), (13, [0, -1]), (20, [1])])
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
