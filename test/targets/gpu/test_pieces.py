"""Contiguous slices are no launches on GPUs: their readers read where they are cut from."""
import numpy as np
import pytest
from onnx import helper, numpy_helper
from standin import compiled
from vulkan_driver import needs_vulkan

import legato
from legato.core.ir_helpers import find

RNG = np.random.default_rng(7)
ON = pytest.mark.parametrize("on", [pytest.param("vulkan", marks=needs_vulkan), "nvvm"])


def graph(rows):
    """A softmax of 64 x 32, of which so many rows at a time are normalized and multiplied by weights."""
    weights = RNG.standard_normal((32, 8)).astype(np.float32)
    nodes = [helper.make_node("Softmax", ["x"], ["s"], axis=0),
             helper.make_node("Split", ["s", "rows"], [f"part{i}" for i in range(len(rows))], axis=0)]
    for i in range(len(rows)):
        nodes += [helper.make_node("Softmax", [f"part{i}"], [f"weight{i}"], axis=1),
                  helper.make_node("MatMul", [f"weight{i}", "w"], [f"y{i}"])]
    shapes = [helper.make_tensor_value_info(f"y{i}", 1, (count, 8)) for i, count in enumerate(rows)]
    given = [numpy_helper.from_array(np.array(rows, np.int64), "rows"), numpy_helper.from_array(weights, "w")]
    return helper.make_model(helper.make_graph(nodes, "parts", [helper.make_tensor_value_info("x", 1, (sum(rows), 32))], shapes, given),
                             opset_imports=[helper.make_opsetid("", 18)], ir_version=9), weights


def softmax(x, axis):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


@ON
def test_parts_are_read_in_place(on):
    """A softmax of all, and one of each part; products are launches of their own, as many as with one part."""
    rows = (16, 8, 40)
    model, weights = graph(rows)
    lowered = legato.lower(legato.from_onnx(model), on, last="outlined")
    assert not [f for f in lowered.functions() if "slice" in f.name.value or "split" in f.name.value]
    exe = compiled(legato.from_onnx(model)) if on == "nvvm" else legato.compile(legato.from_onnx(model), on)
    x = RNG.standard_normal((sum(rows), 32)).astype(np.float32)
    parts = np.split(softmax(x, 0), np.cumsum(rows)[:-1])
    for got, part in zip(exe(x), parts, strict=True):
        np.testing.assert_allclose(got, softmax(part, 1) @ weights, rtol=1e-4, atol=1e-5)


def test_no_slice_is_left():
    """Calls of main, as kernels are before and after memory is planned."""
    model, _ = graph((16, 8, 40))
    before, after = (legato.lower(legato.from_onnx(model), "nvvm", last=stage) for stage in ("fused", "bufferized"))
    calls = [len(find(next(f for f in module.functions() if f.name.value == "main").operation, "func.call")) for module in (before, after)]
    assert calls[1] == calls[0] - 3
