"""Models of few nodes for the CUDA driver whose kernels, or the lack of them, are of a kind of their own; results by onnxruntime."""
import numpy as np
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from product_models import batched, check, feeds, model
from standin import compiled

import legato
from legato.script import T


def run(nodes, arrays, outputs):
    """The model's results, by onnxruntime, and compiled, with all inputs given at run time."""
    infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
             for name, array in arrays.items()]
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
    graph = helper.make_graph(nodes, "nodes", infos, results)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    wanted = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, arrays)
    found = compiled(legato.from_onnx(proto))(*arrays.values())
    for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_models_without_kernels():
    """They copy, or tell sizes: there is nothing to load."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    run([helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Shape", ["x"], ["s"])], {"x": x}, {"y": 1, "s": 7})


def test_boxes_by_bounds_of_the_call():
    """How many boxes are kept, and which overlap, the call says."""
    random = np.random.default_rng(0)
    corners = np.sort(random.uniform(0, 5, (1, 20, 2, 2)), 2).reshape(1, 20, 4).astype(np.float32)
    arrays = {"boxes": corners, "scores": random.uniform(0, 1, (1, 1, 20)).astype(np.float32), "most": np.array([5]),
              "overlap": np.float32([0.4]), "least": np.float32([0.2])}
    run([helper.make_node("NonMaxSuppression", [*arrays], ["y"])], arrays, {"y": 7})


def test_greatest_elements_in_a_number_of_the_call():
    """A search whose depth is the length of a number in bits."""
    x = np.random.default_rng(0).standard_normal((3, 37)).astype(np.float32)
    run([helper.make_node("TopK", ["x", "k"], ["values", "places"])], {"x": x, "k": np.array([5])}, {"values": 1, "places": 7})


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_bits_are_counted(dtype):
    """Leading zeros, and ones, by the device's instructions."""
    pytest.importorskip("llvmlite")

    @T.prim_func
    def counted(A: T.Buffer((64,), dtype), Z: T.Buffer((64,), dtype), P: T.Buffer((64,), dtype)):
        for i in range(64):
            with T.block("Z"):
                vi = T.axis.spatial(64, i)
                Z[vi] = T.clz(A[vi])
                P[vi] = T.popcount(A[vi])

    bits = 8 * np.dtype(dtype).itemsize
    given = np.array([0, 1, *(1 << np.random.default_rng(0).integers(0, bits - 1, 62)) - 1]).astype(dtype)
    zeros, ones = compiled(counted)(given)
    texts = [bin(int(number))[2:] if number else "" for number in given]
    np.testing.assert_array_equal(zeros, [bits - len(text) for text in texts])
    np.testing.assert_array_equal(ones, [text.count("1") for text in texts])


def test_batches_beyond_an_axis_of_the_grid(monkeypatch):
    """The stand-in has two blocks on the axes y and z: a batch of any number lies along x."""
    monkeypatch.setenv("STANDIN_GRID", "2")
    nodes = [batched(("b",), ("b",), 9, 12, 10)]
    given = feeds(nodes, b=5)
    check(nodes, compiled(legato.from_onnx(model(nodes)))(*given.values()), given)


def test_a_tile_of_unknown_size_and_what_follows():
    """Of the kernel's workspaces one has the size of another."""
    nodes = [helper.make_node("Tile", ["x", "repeats"], ["t"]), helper.make_node("Relu", ["t"], ["y"])]
    graph = helper.make_graph(nodes, "nodes", [helper.make_tensor_value_info("x", 1, ["n", 3])],
                              [helper.make_tensor_value_info("y", 1, ["m", 3])],
                              [numpy_helper.from_array(np.array([2, 1]), "repeats")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    session, exe = onnxruntime.InferenceSession(proto.SerializeToString()), compiled(legato.from_onnx(proto))
    for n in (5, 1, 33):
        x = np.random.default_rng(n).standard_normal((n, 3)).astype(np.float32)
        np.testing.assert_array_equal(exe(x), session.run(None, {"x": x})[0])
