"""Slices are no launches on GPUs: their readers read where they are cut from."""
import numpy as np
import pytest
from onnx import helper, numpy_helper
from standin import compiled
from thoroughly import first_of, thorough
from vulkan_driver import needs_vulkan

import legato
from legato.core.ir_helpers import find

RNG = np.random.default_rng(7)
ON = pytest.mark.parametrize("on", [pytest.param("vulkan", marks=needs_vulkan), "nvvm"])
ONE = pytest.mark.parametrize("on", [pytest.param("vulkan", marks=needs_vulkan), *thorough(["nvvm"])])


def graph(rows):
    """A softmax of 32 columns, of which so many rows at a time are multiplied by weights."""
    weights = RNG.standard_normal((32, 8)).astype(np.float32)
    nodes = [helper.make_node("Softmax", ["x"], ["s"], axis=0),
             helper.make_node("Split", ["s", "rows"], [f"part{i}" for i in range(len(rows))], axis=0)]
    for i in range(len(rows)):
        nodes.append(helper.make_node("MatMul", [f"part{i}", "w"], [f"y{i}"]))
    shapes = [helper.make_tensor_value_info(f"y{i}", 1, (count, 8)) for i, count in enumerate(rows)]
    given = [numpy_helper.from_array(np.array(rows, np.int64), "rows"), numpy_helper.from_array(weights, "w")]
    return helper.make_model(helper.make_graph(nodes, "parts", [helper.make_tensor_value_info("x", 1, (sum(rows), 32))], shapes, given),
                             opset_imports=[helper.make_opsetid("", 18)], ir_version=9), weights


def calls_of_main(module):
    return find(next(f for f in module.functions() if f.name.value == "main").operation, "func.call")


def softmax(x, axis):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


@ONE
def test_parts_are_read_in_place(on):
    """Products, which do not compute what they multiply, take parts that are copied nowhere."""
    rows = (16, 8, 40)
    model, weights = graph(rows)
    lowered = legato.lower(legato.from_onnx(model), on, last="outlined")
    assert not [f for f in lowered.functions() if "slice" in f.name.value or "split" in f.name.value]
    exe = compiled(legato.from_onnx(model)) if on == "nvvm" else legato.compile(legato.from_onnx(model), on)
    x = RNG.standard_normal((sum(rows), 32)).astype(np.float32)
    parts = np.split(softmax(x, 0), np.cumsum(rows)[:-1])
    for got, part in zip(exe(x), parts, strict=True):
        np.testing.assert_allclose(got, part @ weights, rtol=1e-4, atol=1e-5)


@ONE
def test_parts_of_unknown_sizes_are_read_in_place(on):
    """All but the first rows, all but the last, and the last one, of rows in an unknown number: of an intermediate value, of an argument,
    and of a result."""
    ranges = {"a": (2, 1 << 40), "b": (0, -3), "c": (-1, 1 << 40)}
    weights = RNG.standard_normal((32, 8)).astype(np.float32)
    nodes = [helper.make_node("Softmax", ["x"], ["s"], axis=1), helper.make_node("Softmax", ["s"], ["t"], axis=1)]
    given = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(np.zeros(1, np.int64), "axis")]
    for name, ends in ranges.items():
        given += [numpy_helper.from_array(np.array([end], np.int64), f"{name}{i}") for i, end in enumerate(ends)]
        for whole in "xst":
            nodes += [helper.make_node("Slice", [whole, f"{name}0", f"{name}1", "axis"], [f"{whole}_{name}"]),
                      helper.make_node("MatMul", [f"{whole}_{name}", "w"], [f"y_{whole}_{name}"])]
    shapes = [helper.make_tensor_value_info("t", 1, ("n", 32))]
    shapes += [helper.make_tensor_value_info(f"y_{whole}_{name}", 1, (f"m_{name}", 8)) for name in ranges for whole in "xst"]
    model = helper.make_model(helper.make_graph(nodes, "ends", [helper.make_tensor_value_info("x", 1, ("n", 32))], shapes, given),
                              opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    planned = legato.lower(legato.from_onnx(model), on, last="bufferized")
    assert not [call for call in calls_of_main(planned) if "slice" in call.attributes["callee"].value]
    exe = compiled(legato.from_onnx(model)) if on == "nvvm" else legato.compile(legato.from_onnx(model), on)
    for n in (3, 4, 70):
        x = RNG.standard_normal((n, 32)).astype(np.float32)
        wholes = x, softmax(x, 1), softmax(softmax(x, 1), 1)
        result, *found = exe(x)
        np.testing.assert_allclose(result, wholes[2], rtol=1e-4, atol=1e-6)
        expected = [whole[first:last] @ weights for first, last in ranges.values() for whole in wholes]
        for got, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_no_slice_is_left():
    """Calls of main, as kernels are before and after memory is planned."""
    model, _ = graph((16, 8, 40))
    before, after = (legato.lower(legato.from_onnx(model), "nvvm", last=stage) for stage in ("fused", "bufferized"))
    assert len(calls_of_main(after)) == len(calls_of_main(before)) - 3


def gated(rows, width, cut):
    """As a gMLP's block: of a product's columns, those from ``cut`` on are normalized, their rows mixed, and multiplied by the others."""
    random = np.random.default_rng(1)
    shapes = {"w": (32, 2 * cut), "scale": (cut,), "bias": (cut,), "mix": (width, width)}
    given = {name: (random.standard_normal(shape) / 8).astype(np.float32) for name, shape in shapes.items()}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["both"]),
             helper.make_node("Split", ["both"], ["u", "v"], axis=2, num_outputs=2),
             helper.make_node("LayerNormalization", ["v", "scale", "bias"], ["normal"], axis=-1),
             helper.make_node("MatMul", ["mix", "normal"], ["mixed"]),
             helper.make_node("Mul", ["u", "mixed"], ["y"])]
    ends = [helper.make_tensor_value_info(name, 1, (rows, width, size)) for name, size in (("x", 32), ("y", cut))]
    weights = [numpy_helper.from_array(array, name) for name, array in given.items()]
    return helper.make_model(helper.make_graph(nodes, "gated", ends[:1], ends[1:], weights),
                             opset_imports=[helper.make_opsetid("", 18)], ir_version=9), given


@ONE
@pytest.mark.parametrize("rows,cut", first_of([("n", 64), (1, 64), (1, 37)], 2))
def test_parts_of_rows_are_read_by_norms_and_products(on, rows, cut):
    """A kernel each for the first product, the norm, and the second product. On NVIDIA's GPUs the norm keeps its rows in registers, as one
    of whole rows does."""
    model, given = gated(rows, 20, cut)
    module = legato.from_onnx(model)
    assert len(calls_of_main(legato.lower(module, on, last="fused"))) == 3
    if on == "nvvm":
        assert "register_rows" in str(legato.explain(legato.from_onnx(model), on))
    exe = compiled(legato.from_onnx(model)) if on == "nvvm" else legato.compile(legato.from_onnx(model), on)
    x = RNG.standard_normal((1 if rows == 1 else 3, 20, 32)).astype(np.float32)
    u, v = np.split(x @ given["w"], 2, axis=2)
    normal = (v - v.mean(2, keepdims=True)) / np.sqrt(v.var(2, keepdims=True) + 1e-5) * given["scale"] + given["bias"]
    np.testing.assert_allclose(exe(x), u * (given["mix"] @ normal), rtol=1e-4, atol=1e-5)


@ON
@pytest.mark.parametrize("length", [256, "n"])
def test_parts_of_bytes(on, length):
    """An argument and a result that are memory of bytes as they are."""
    nodes = [helper.make_node("Abs", ["x"], ["y"])]
    for whole in "xy":
        nodes += [helper.make_node("Slice", [whole, "first", "last"], [f"{whole}_part"]),
                  helper.make_node("Concat", [f"{whole}_part"] * 2, [f"{whole}_twice"], axis=0),
                  helper.make_node("ReduceMax", [f"{whole}_part"], [f"{whole}_most"], keepdims=0)]
    given = [numpy_helper.from_array(np.int64([place]), name) for name, place in (("first", 64), ("last", 128))]
    ends = [helper.make_tensor_value_info("x", 3, (length,)), helper.make_tensor_value_info("y", 3, (length,)),
            *(helper.make_tensor_value_info(f"{whole}_most", 3, ()) for whole in "xy"),
            *(helper.make_tensor_value_info(f"{whole}_twice", 3, ("twice",)) for whole in "xy")]
    model = helper.make_model(helper.make_graph(nodes, "bytes", ends[:1], ends[1:], given),
                              opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    exe = compiled(legato.from_onnx(model)) if on == "nvvm" else legato.compile(legato.from_onnx(model), on)
    x = np.random.default_rng(3).integers(-127, 127, 256).astype(np.int8)
    parts = x[64:128], np.abs(x[64:128])
    expected = [np.abs(x), *(part.max() for part in parts), *(np.tile(part, 2) for part in parts)]
    for got, wanted in zip(exe(x), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
