"""A mean of three inputs is their sum divided by 3, in types too that have no third: halves are the nearest ones."""
import ml_dtypes
import numpy as np
import pytest
from onnx import helper

import legato


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.int32])
def test_a_mean_of_three(dtype):
    x = np.arange(1, 256).astype(dtype)
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    inputs = [helper.make_tensor_value_info(name, element, ["n"]) for name in "abc"]
    graph = helper.make_graph([helper.make_node("Mean", ["a", "b", "c"], ["y"])], "g", inputs, [helper.make_empty_tensor_value_info("y")])
    exe = legato.compile(legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)))
    found = exe(x, np.zeros_like(x), np.zeros_like(x))
    third = np.arange(1, 256) / 3
    wanted = third.astype(np.int32) if dtype is np.int32 else third.astype(dtype)
    room = {np.float32: 1.2e-7, np.float64: 2.3e-16}.get(dtype, 0)
    np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=room)
