"""Scales and zero points of quantizations whose sizes only a call knows, compiled, beside onnxruntime."""
import numpy as np
import pytest
from contrib import oracle
from onnx import helper
from onnx_check import model, value

import legato

RNG = np.random.default_rng(8)


def arrays(op, shape, size):
    scale, zero = RNG.random(size).astype(np.float32) + 0.5, RNG.integers(0, 9, size).astype(np.uint8)
    x = RNG.integers(0, 200, shape).astype(np.uint8 if op == "DequantizeLinear" else np.float32)
    return [x, scale, zero]


def one_node(op, given, symbolic=True, axis=1):
    """A model of one node. ``symbolic``: each size of the inputs is a symbol of its own."""
    names = ["x", "scale", "zero"]
    dims = [[f"{name}_{n}" for n in range(array.ndim)] if symbolic else None for name, array in zip(names, given)]
    proto = model([helper.make_node(op, names, ["y"], "node", axis=axis)], [value(*one) for one in zip(names, given, dims)], ["y"])
    dtype = np.dtype(np.float32 if op == "DequantizeLinear" else np.uint8)
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(dtype), [None] * given[0].ndim))
    return proto


@pytest.mark.parametrize("op", ["DequantizeLinear", "QuantizeLinear"])
def test_one_scale_or_one_for_each_index_as_the_call_says(op):
    proto = one_node(op, arrays(op, (2, 5, 3), 5))
    exe = legato.compile(legato.from_onnx(proto))
    for shape, size in (((2, 5, 3), 5), ((2, 5, 3), 1), ((1, 4, 2), 4), ((2, 1, 3), 1)):
        given = arrays(op, shape, size)
        expected = oracle(proto, dict(zip(("x", "scale", "zero"), given)))[0]
        np.testing.assert_allclose(np.asarray(exe(*given)), expected, rtol=1e-6)
    for shape, size in (((2, 5, 3), 3), ((2, 1, 3), 4)):
        with pytest.raises(ValueError, match=r"needs scale_0, .*to be 1 or"):
            exe(*arrays(op, shape, size))


@pytest.mark.parametrize("op", ["DequantizeLinear", "QuantizeLinear"])
def test_scales_do_not_broadcast_x(op):
    for shape, size in (((2, 1, 3), 4), ((2, 5, 3), 3)):
        given = arrays(op, shape, size)
        proto = one_node(op, given, symbolic=False)
        with pytest.raises(legato.LegatoError, match=rf"its scale must have the shape \[{shape[1]}\], has \[{size}\]"):
            legato.from_onnx(proto)
        with pytest.raises(Exception):  # noqa: B017 (a type of onnxruntime's own)
            oracle(proto, dict(zip(("x", "scale", "zero"), given)))
