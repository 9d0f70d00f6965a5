"""Integers to the power of floats are exact as far as f64 is, or the integer's type where exponents are known to be whole."""
import numpy as np
import pytest
from onnx import helper, numpy_helper

import legato


def power(base, exponent, known):
    values = {"x": base, "e": exponent}
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
              for name, array in values.items() if name == "x" or not known]
    constants = [numpy_helper.from_array(exponent, "e")] if known else []
    outputs = [helper.make_empty_tensor_value_info("y")]
    graph = helper.make_graph([helper.make_node("Pow", ["x", "e"], ["y"])], "g", inputs, outputs, constants)
    exe = legato.compile(legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=9)))
    return exe(base) if known else exe(base, exponent)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("exponents", [np.float32(2), np.float64(1), np.array([0.5, 1.5, 2, 0], np.float32)], ids=str)
def test_powers(dtype, exponents, known):
    bases = np.array([8983**2, 16385**2, 8983, -7], np.int64) if exponents.ndim else np.array([8983, 46337, -16385, -7], np.int64)
    if exponents.ndim and dtype == np.int32:
        bases[:2] = 8983**2, 1001**2
    wanted = np.power(bases.astype(np.float64), exponents.astype(np.float64))
    fits = np.abs(wanted) <= np.iinfo(dtype).max     # what does not is left open
    found = power(bases.astype(dtype), np.asarray(exponents), known)
    assert found.dtype == dtype and fits.sum() >= 3
    np.testing.assert_array_equal(found[fits], wanted.astype(np.int64)[fits])


def test_powers_beyond_the_digits_of_floats():
    """By an exponent that is known to be whole."""
    x = np.array([3, -3, 2**31 - 1], np.int64)
    assert power(x, np.float32(2), True).tolist() == [9, 9, (2**31 - 1) ** 2]
