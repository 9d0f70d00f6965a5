"""A conversion of known numbers gives what the compiled one gives, beyond the range of an integer type too."""
import ml_dtypes
import numpy as np
import pytest
from onnx import helper

import legato
from legato.core.dtypes import convert_array

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -0.0, -0.9, -1.5, 2.9, -128.9, 127.9, -129.0, 255.9, 256.0, -3.0, 6e4, -6e4, 7e4, 1e10,
           -1e10, 1e30, -1e30, 2.0**31, 2.0**32, -(2.0**31), 2.0**63, 2.0**64, -(2.0**63)]  # fmt: skip


def cast_to_all(numbers, known):
    """Casts of numbers to all integer types, of an input or of a constant; 9 times each, so that they are no vector of sizes."""
    numbers = np.tile(numbers, (9, 1))
    element = helper.np_dtype_to_tensor_dtype(numbers.dtype)
    nodes = [helper.make_node("Cast", ["x"], [f"y{n}"], to=helper.np_dtype_to_tensor_dtype(np.dtype(target)))
             for n, target in enumerate(INTEGERS)]
    constants = [helper.make_tensor("x", element, numbers.shape, numbers.tobytes(), raw=True)] if known else []
    inputs = [] if known else [helper.make_tensor_value_info("x", element, numbers.shape)]
    outputs = [helper.make_empty_tensor_value_info(f"y{n}") for n in range(len(INTEGERS))]
    graph = helper.make_graph(nodes, "casts", inputs, outputs, constants)
    exe = legato.compile(legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)))
    return exe() if known else exe(numbers)


@pytest.mark.parametrize("given", FLOATS)
def test_casts_of_constants_are_those_of_inputs(given):
    with np.errstate(over="ignore"):
        numbers = np.array(NUMBERS).astype(given)
    for known, found, target in zip(cast_to_all(numbers, True), cast_to_all(numbers, False), INTEGERS, strict=True):
        np.testing.assert_array_equal(known, found, err_msg=np.dtype(target).name)


@pytest.mark.parametrize("target", INTEGERS)
def test_floats_saturate(target):
    limits = np.iinfo(target)
    found = convert_array(np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 2.9], np.float32), np.dtype(target))
    assert found.dtype == target and found.tolist() == [0, limits.max, limits.min, limits.max, limits.min, 2]


def test_relu_of_a_constant_keeps_the_sign_of_zero():
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [], [helper.make_empty_tensor_value_info("y")],
                              [helper.make_tensor("x", 1, [2, 2], [-0.0, -1.0, np.nan, 3.0])])
    found = legato.compile(legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)))()
    np.testing.assert_array_equal(found, [[0, 0], [np.nan, 3]])
    assert np.signbit(found).tolist() == [[True, False], [False, False]]
