"""Copies between layouts with unknown strides, and with strides on dimensions of size 1, where they mean nothing."""
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from onnx import helper
from onnx_check import model, reference, value

import legato

RNG = np.random.default_rng(0)


def array(shape: Sequence[int | str], sizes: Mapping[str, int]) -> np.ndarray:
    return RNG.standard_normal([sizes[size] if isinstance(size, str) else size for size in shape], np.float32)


def check(nodes, inputs, shapes, constants=None):
    """Compiles a model of these symbolic shapes; its result must be onnxruntime's, at each CPU level."""
    proto = model(nodes, [value(name, array, shape) for (name, array), shape in zip(inputs.items(), shapes)], ["y"], constants=constants)
    expected = reference(proto, inputs)[0]
    for target in ("llvm", "llvm{cpu=x86-64}"):
        found = legato.compile(legato.from_onnx(proto), target=target)(*inputs.values())
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("past, new, axis", [
    (["b", 1, "p", 8], ["b", 1, 1, 8], 2), (["b", 1, "p", 8], ["b", 1, "q", 8], 2), (["b", "p", 1, 8], ["b", 1, 1, 8], 1),
    ([1, 1, "p", 1], [1, 1, 1, 1], 2), (["b", "p"], ["b", 1], 1), ([1, "p", "c"], [1, 1, "c"], 1),
])
def test_caches(past, new, axis):
    """The key-value cache of attention, extended by one position or several."""
    sizes = {"b": 2, "p": 5, "q": 3, "c": 7}
    inputs = {name: array(shape, sizes) for name, shape in (("past", past), ("new", new))}
    check([helper.make_node("Concat", ["past", "new"], ["y"], axis=axis)], inputs, [past, new])


@pytest.mark.parametrize("shape, axes, begins, ends, steps", [
    ([1, 4, 1, "n"], [1], [1], [3], [1]), ([1, 4, 1, "n"], [1], [0], [9], [2]), (["n", 1, 4, 1], [2], [1], [2], [1]),
    (["n", 4, 1], [0, 1], [1, 1], [99, 3], [2, 1]), ([4, "n", 1, "m"], [0, 3], [1, 1], [2, -1], [1, 1]),
    ([1, 1, "n"], [2], [-1], [99], [1]),
])
def test_slices(shape, axes, begins, ends, steps):
    x = array(shape, {"n": 6, "m": 9})
    constants = {name: np.array(values) for name, values in (("b", begins), ("e", ends), ("a", axes), ("s", steps))}
    check([helper.make_node("Slice", ["x", *constants], ["y"])], {"x": x}, [shape], constants)
