"""Maximum pools of long windows, which are made of shorter ones, against onnxruntime."""
import numpy as np
import onnxruntime
import pytest
from onnx import helper
from thoroughly import thorough

import legato

# shape, kernel, strides, dilations, padding, ceil_mode
FORMS = [
    ((2, 3, 90), [40], [1], [1], [0, 0], 0),
    ((1, 3, 200), [97], [3], [1], [96, 50], 0),
    ((1, 2, 300), [60], [40], [2], [7, 59], 0),
    ((1, 2, 400), [64], [64], [1], [63, 63], 0),
    ((1, 2, 90), [35], [2], [1], [3, 4], 1),
    ((1, 2, 91), [35], [2], [1], [3, 3], 1),
    ((1, 2, 3000), [1500], [7], [1], [0, 9], 0),
    ((1, 2, 70, 60), [33, 3], [1, 2], [1, 1], [16, 1, 16, 0], 0),
    ((1, 2, 50, 99), [2, 45], [2, 5], [3, 2], [0, 44, 1, 30], 0),
    ((1, 2, 40, 8, 45), [38, 2, 36], [1, 1, 2], [1, 2, 1], [9, 0, 20, 9, 1, 20], 0),
]


def model(element, forms):
    """Of a pool for each of the forms: shape, kernel, strides, dilations, padding, ceil_mode."""
    nodes = [helper.make_node("MaxPool", [f"x{number}"], [f"y{number}"], kernel_shape=kernel, strides=strides, dilations=dilations,
                              pads=padding, ceil_mode=ceil_mode)
             for number, (_, kernel, strides, dilations, padding, ceil_mode) in enumerate(forms)]
    inputs = [helper.make_tensor_value_info(f"x{number}", element, shape) for number, (shape, *_) in enumerate(forms)]
    outputs = [helper.make_tensor_value_info(f"y{number}", element, None) for number in range(len(forms))]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.mark.parametrize(("dtype", "symbolic"), [
    (np.float32, True), (np.int8, False), *thorough([(np.float32, False), (np.uint8, True), (np.int8, True), (np.uint8, False)], 2)])
def test_against_onnxruntime(dtype, symbolic):
    arrays = [np.random.default_rng(0).integers(-100, 100, shape).astype(dtype) for shape, *_ in FORMS]
    proto = model(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [
        ([f"d{number}_{axis}" if symbolic and axis > 1 else size for axis, size in enumerate(shape)], *form)
        for number, (shape, *form) in enumerate(FORMS)])
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, {f"x{number}": x for number, x in enumerate(arrays)})
    for found, wanted, form in zip(legato.compile(legato.from_onnx(proto))(*arrays), expected, FORMS, strict=True):
        np.testing.assert_array_equal(np.asarray(found), wanted, err_msg=str(form))


def test_special_values():
    """NaN reaches each window that it is in, and padding is less than the least number."""
    x = np.full((1, 2, 200), -np.inf, np.float32)
    x[0, 0, 100], x[0, 1, 7] = np.nan, -3e38
    proto = model(1, [(x.shape, [50], [1], [1], [49, 49], 0)])
    y = np.asarray(legato.compile(legato.from_onnx(proto))(x))
    assert np.isnan(y[0, 0, 100:150]).all() and np.isneginf(y[0, 0, :100]).all() and np.isneginf(y[0, 0, 150:]).all()
    assert (y[0, 1, 7:57] == np.float32(-3e38)).all() and np.isneginf(y[0, 1, 57:]).all()
