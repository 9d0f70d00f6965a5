"""pad by a constant on GPUs is one launch, also with what is computed of it."""
import re

import numpy as np
import pytest
from onnx import helper, numpy_helper
from standin import compiled
from vulkan_driver import needs_vulkan

import legato
from legato.core.ir_helpers import find

RNG = np.random.default_rng(3)
# the model's shape, that of a call, pads before and behind each axis
CASES = {
    "known": ((7, 5, 10), (7, 5, 10), [(0, 0), (1, 3), (0, 0)]),
    "other-axis": (("n", 5, 10), (3, 5, 10), [(0, 0), (1, 0), (0, 3)]),
    "unknown": ((2, "h", "w"), (2, 5, 6), [(0, 0), (1, 3), (0, 2)]),
    "unknown-empty": ((2, "h", "w"), (2, 0, 6), [(0, 0), (1, 3), (0, 2)]),
    "cut": ((2, 8, 16), (2, 8, 16), [(1, 0), (-2, 3), (4, -5)]),
    "cut-only": ((2, "h", 16), (2, 8, 16), [(0, 0), (-2, -3), (-4, 0)]),
}


def graph(shape, dtype, pads, value=None, then=None):
    """A pad, followed by an op of one input."""
    type_ = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    amounts = [low for low, _ in pads] + [high for _, high in pads]
    given = [numpy_helper.from_array(np.array(amounts, np.int64), "pads")]
    if value is not None:
        given.append(numpy_helper.from_array(np.array(value, dtype), "value"))
    nodes = [helper.make_node("Pad", ["x", *(one.name for one in given)], ["y" if then is None else "padded"])]
    if then is not None:
        nodes.append(helper.make_node(then, ["padded"], ["y"]))
    return legato.from_onnx(helper.make_model(
        helper.make_graph(nodes, "pads", [helper.make_tensor_value_info("x", type_, shape)],
                          [helper.make_tensor_value_info("y", type_, [None] * len(pads))], given),
        opset_imports=[helper.make_opsetid("", 19)], ir_version=9))


def padded(x, pads, value):
    """numpy's pad, which does not cut."""
    rows = np.pad(x, [(max(low, 0), max(high, 0)) for low, high in pads], constant_values=value)
    return rows[tuple(slice(max(-low, 0), size - max(-high, 0)) for (low, high), size in zip(pads, rows.shape))]


def executable(module, on):
    return compiled(module) if on == "nvvm" else legato.compile(module, on)


def launches(module, on):
    return find(legato.lower(module, on, last="outlined").operation, "gpu.launch_func")


ON = pytest.mark.parametrize("on", [pytest.param("vulkan", marks=needs_vulkan), "nvvm"])


@ON
@pytest.mark.parametrize("name", CASES)
def test_against_numpy(on, name):
    shape, called, pads = CASES[name]
    x = RNG.standard_normal(called).astype(np.float32)
    assert len(launches(graph(shape, np.float32, pads, 1.5), on)) == 1
    np.testing.assert_array_equal(executable(graph(shape, np.float32, pads, 1.5), on)(x), padded(x, pads, 1.5))


@ON
@pytest.mark.parametrize("dtype", ["float16", "int32", "int8", "bool"])
def test_types(on, dtype):
    x = RNG.integers(0, 2, (3, 9)).astype(dtype)
    pads = [(1, 0), (2, 5)]
    np.testing.assert_array_equal(executable(graph(x.shape, dtype, pads, 1), on)(x), padded(x, pads, 1))


@ON
def test_is_part_of_what_follows(on):
    """Elementwise ops, whose kernel reads the pad's input."""
    x, pads = RNG.standard_normal((4, 6)).astype(np.float32), [(1, 2), (0, 3)]
    assert len(launches(graph(x.shape, np.float32, pads, -2.0, "Relu"), on)) == 1
    np.testing.assert_array_equal(executable(graph(x.shape, np.float32, pads, -2.0, "Relu"), on)(x), np.maximum(padded(x, pads, -2), 0))


def test_moves_vectors():
    """Of axes that are not padded, as the channels of an image: 16 bytes at once."""
    text = str(legato.lower(graph((1, 14, 14, 64), np.float32, [(0, 0), (0, 1), (0, 1), (0, 0)]), "nvvm", last="outlined"))
    assert len(re.findall(r"vector.load .* vector<4xf32>", text)) == len(re.findall(r"vector.store .* vector<4xf32>", text)) == 1
