"""Models of opsets 1 to 6, and ops that ONNX had as experiments, compiled, beside numpy."""
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_check import model, value
from thoroughly import first_of

import legato

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def made(op: str, opset: int, arrays: list[np.ndarray], attributes: dict[str, Any], constants: int = 0, outputs: int = 1,
         symbolic: bool = False) -> Any:
    """A model of one node, whose last inputs are constants."""
    names = [f"i{index}" for index in range(len(arrays))]
    results = [f"o{index}" for index in range(outputs)]
    given = len(arrays) - constants
    dims = [[f"{name}_{axis}" for axis in range(array.ndim)] if symbolic else None for name, array in zip(names, arrays)]
    node = helper.make_node(op, names, results, "node", **attributes)
    return model([node], [value(*one) for one in zip(names[:given], arrays, dims)], results, opset,
                 dict(zip(names[given:], arrays[given:])))


def ran(op: str, opset: int, arrays: list[np.ndarray], constants: int = 0, outputs: int = 1, symbolic: bool = False,
        **attributes: Any) -> Any:
    """What it gives, compiled."""
    proto = made(op, opset, arrays, attributes, constants, outputs, symbolic)
    return legato.compile(legato.from_onnx(proto))(*arrays[:len(arrays) - constants])


BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Greater": np.greater, "Less": np.less, "Pow": np.power}


@pytest.mark.parametrize("opset", first_of([6, 1]))
def test_operands_that_are_broadcast_from_an_axis(opset):
    a = np.abs(normal(2, 3, 4, 5)) + 0.1
    for op, function in BINARY.items():
        for number, (shape, axis, like) in enumerate((((3,), 1, (3, 1, 1)), ((3, 4), 1, (3, 4, 1)), ((4, 5), None, (4, 5)), ((5,), 3, (5,)),
                                                      ((1,), 0, (1,)), ((4,), -2, (4, 1)))):
            b = normal(*shape)
            y = ran(op, opset, [a, b], number % 2, broadcast=1, **({} if axis is None else {"axis": axis}))
            np.testing.assert_allclose(y, function(a, b.reshape(like)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ran("Add", opset, [a, normal(3) * 0 + 2], broadcast=1, axis=1, symbolic=True), a + 2)
    flags = RNG.integers(0, 2, (2, 3, 4)).astype(bool), RNG.integers(0, 2, 3).astype(bool)
    np.testing.assert_array_equal(ran("Xor", opset, [*flags], broadcast=1, axis=1), flags[0] ^ flags[1][:, None])
    with pytest.raises(legato.LegatoError, match=r"node \(Add, opset \d\): its second operand of 2 axes has more than the first one"):
        legato.from_onnx(made("Add", opset, [a, normal(3, 4)], {"broadcast": 1, "axis": 3}))


X = normal(2, 3, 4, 6)
UNARY: dict[str, tuple[Callable, dict[str, float]]] = {
    "Abs": (np.abs, {}), "Exp": (np.exp, {}), "Relu": (lambda x: np.maximum(x, 0), {}), "Tanh": (np.tanh, {}), "Neg": (np.negative, {}),
    "LeakyRelu": (lambda x: np.where(x < 0, x * np.float32(.2), x), {"alpha": .2}), "Sigmoid": (lambda x: 1 / (1 + np.exp(-x)), {}),
    "Clip": (lambda x: np.clip(x, -.5, .25), {"min": -.5, "max": .25}), "Floor": (np.floor, {}), "Reciprocal": (lambda x: 1 / x, {}),
    "Selu": (lambda x: 1.0507 * np.where(x > 0, x, 1.6732 * (np.exp(x) - 1)), {}),
}


@pytest.mark.parametrize("op", UNARY)
def test_ops_that_said_what_they_overwrite(op):
    function, attributes = UNARY[op]
    np.testing.assert_allclose(ran(op, 1, [X], consumed_inputs=[0], **attributes), function(X), rtol=1e-5, atol=1e-6)


def test_attributes_that_are_inputs_today():
    np.testing.assert_array_equal(ran("Reshape", 1, [X], shape=[0, -1, 6]), X.reshape(2, 12, 6))
    np.testing.assert_array_equal(ran("Pad", 1, [X], paddings=[0, 0, 1, 0, 0, 0, 0, 2], value=1.5),
                                  np.pad(X, ((0, 0), (0, 0), (1, 0), (0, 2)), constant_values=1.5))
    np.testing.assert_array_equal(ran("Upsample", 1, [X], height_scale=2.0, width_scale=3.0), X.repeat(2, 2).repeat(3, 3))
    np.testing.assert_array_equal(ran("Concat", 1, [X, X]), np.concatenate([X, X], 1))
    np.testing.assert_array_equal(ran("Cast", 1, [X], to="INT32"), X.astype(np.int32))
    with pytest.raises(legato.LegatoError, match="there is no element type 'INT33'"):
        legato.from_onnx(made("Cast", 1, [X], {"to": "INT33"}))


def test_inputs_that_are_attributes_or_others_today():
    np.testing.assert_array_equal(ran("Tile", 1, [X, np.array([3], np.float32), np.array([1], np.float32)], 2), np.tile(X, (1, 3, 1, 1)))
    for found in (ran("Split", 1, [X, np.array([1, 3], np.float32)], 1, 2, axis=2), ran("Split", 1, [X], 0, 2, axis=2, split=[1, 3])):
        np.testing.assert_array_equal(found[0], X[:, :, :1])
        np.testing.assert_array_equal(found[1], X[:, :, 1:])
    np.testing.assert_array_equal(ran("Split", 1, [X], 0, 2)[1], X[1:])


def test_layers():
    scale, bias, mean, slope = (normal(3) for _ in range(4))
    variance = np.abs(normal(3)) + 0.1
    column = [one.reshape(3, 1, 1) for one in (scale, bias, mean, variance, slope)]
    wanted = (X - column[2]) / np.sqrt(column[3] + np.float32(1e-5)) * column[0] + column[1]
    for opset, more in ((1, {"consumed_inputs": [0, 0, 0, 1, 1]}), (6, {})):
        y = ran("BatchNormalization", opset, [X, scale, bias, mean, variance], 4, is_test=1, **more)
        np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(ran("Dropout", opset, [X], is_test=1, ratio=0.5), X)
        np.testing.assert_allclose(ran("PRelu", opset, [X, slope]), np.where(X < 0, X * column[4], X), rtol=1e-6)
        np.testing.assert_allclose(ran("PRelu", opset, [X, slope[:1]]), np.where(X < 0, X * slope[0], X), rtol=1e-6)
        a, b, c = normal(4, 5), normal(5, 3), normal(3)
        np.testing.assert_allclose(ran("Gemm", opset, [a, b, c], broadcast=1, alpha=0.5), a @ b / 2 + c, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(ran("GlobalLpPool", 1, [X], p=2.0), np.sqrt((X**2).sum((2, 3), keepdims=True)), rtol=1e-5)
    pooled = ran("AveragePool", 1, [X], kernel_shape=[2, 2], strides=[2, 2])
    np.testing.assert_allclose(pooled, X.reshape(2, 3, 2, 2, 3, 2).mean((3, 5)), rtol=1e-5, atol=1e-6)


def test_a_recurrent_layer():
    """Beside the same node of opset 7."""
    arrays = [normal(5, 2, 3), normal(1, 16, 3), normal(1, 16, 4), normal(1, 32)]
    for found, wanted in zip(ran("LSTM", 1, arrays, 3, 3, hidden_size=4, output_sequence=1), ran("LSTM", 7, arrays, 3, 3, hidden_size=4)):
        np.testing.assert_array_equal(found, wanted)


def test_ops_that_onnx_took_away():
    np.testing.assert_allclose(ran("Affine", 7, [X], alpha=2.0, beta=0.5), 2 * X + np.float32(0.5), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ran("Scale", 1, [X], scale=2.0), 2 * X)
    np.testing.assert_allclose(ran("ScaledTanh", 7, [X], alpha=2.0, beta=0.5), 2 * np.tanh(X / 2), rtol=1e-5)
    np.testing.assert_allclose(ran("ParametricSoftplus", 7, [X], alpha=2.0, beta=0.5), 2 * np.log(np.exp(X / 2) + 1), rtol=1e-5)
    np.testing.assert_allclose(ran("ThresholdedRelu", 7, [X], alpha=0.5), np.where(X > 0.5, X, 0))
    for symbolic in (False, True):
        scaled = ran("ImageScaler", 7, [X], scale=2.0, bias=[1.0, -1.0, 0.5], symbolic=symbolic)
        np.testing.assert_allclose(scaled, 2 * X + np.array([1, -1, .5], np.float32).reshape(3, 1, 1), rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(ran("Crop", 7, [X], border=[1, 0, 2, 1], symbolic=symbolic), X[:, :, :3, 1:4])
        np.testing.assert_array_equal(ran("Crop", 7, [X], border=[1, 1, 0, 0], scale=[2, 4], symbolic=symbolic), X[:, :, 1:3, 1:5])
    for across, axes in ((0, (2, 3)), (1, (1, 2, 3))):
        found = ran("MeanVarianceNormalization", 7, [X], across_channels=across)
        np.testing.assert_allclose(found, (X - X.mean(axes, keepdims=True)) / X.std(axes, keepdims=True), rtol=1e-4, atol=1e-5)
    with pytest.raises(legato.LegatoError, match="it has 2 numbers in 'bias' for 3 channels"):
        legato.from_onnx(made("ImageScaler", 7, [X], {"bias": [1.0, 2.0]}))


def test_a_model_that_does_not_say_its_opset():
    """Version 2 of the format has no operator sets: it is the first of ONNX's."""
    proto = made("Add", 1, [X, normal(3)], {"broadcast": 1, "axis": 1})
    del proto.opset_import[:]
    proto.ir_version = 2
    bias = normal(3)
    np.testing.assert_allclose(legato.compile(legato.from_onnx(proto))(X, bias), X + bias.reshape(3, 1, 1))
