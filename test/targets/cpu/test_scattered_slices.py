"""Rows that are gathered and added up by index, as graph networks do it, against onnxruntime: by repeated indices and by tuples."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from thoroughly import sampled

import legato

RNG = np.random.default_rng(5)
NODES, EDGES = 23, 150


def model(features: int, dtype: int, sizes: tuple = (NODES, EDGES)):
    """For each reduction x with the rows y put at indices, which are repeated for each feature, and of these as tuples; and rows of x."""
    v, e = sizes
    shape = numpy_helper.from_array(np.array([EDGES, features]), "shape")
    nodes = [helper.make_node("Expand", ["i", "shape"], ["repeated"]),
             helper.make_node("GatherElements", ["x", "repeated"], ["rows"], axis=-2)]
    if isinstance(e, str):
        nodes = [helper.make_node("Shape", ["y"], ["shape"]), *nodes]
    for reduction in ("add", "mul", "max", "min"):
        nodes += [helper.make_node("ScatterElements", ["x", "repeated", "y"], [f"{reduction}_elements"], axis=0, reduction=reduction),
                  helper.make_node("ScatterND", ["x", "i", "y"], [f"{reduction}_slices"], reduction=reduction)]
    inputs = [helper.make_tensor_value_info("x", dtype, [v, features]), helper.make_tensor_value_info("y", dtype, [e, features]),
              helper.make_tensor_value_info("i", TensorProto.INT64, [e, 1])]
    made = [node.output[0] for node in nodes if node.output[0] not in ("repeated", "shape")]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info(name, dtype, None) for name in made],
                              [] if isinstance(e, str) else [shape])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


@pytest.mark.parametrize("features", sampled([1, 7, 16, 33], 3))
@pytest.mark.parametrize("sizes", [(NODES, EDGES), ("v", "e")])
def test_against_onnxruntime(features, sizes):
    """The same numbers: updates of a row are combined one after the other. Negative indices count from the end."""
    proto = model(features, TensorProto.FLOAT, sizes)
    x, y = (RNG.standard_normal((n, features)).astype(np.float32) for n in (NODES, EDGES))
    i = RNG.integers(-NODES, NODES, (EDGES, 1))
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, {"x": x, "y": y, "i": i})
    module = legato.from_onnx(proto)
    for target in ("llvm", "llvm{threads=2}"):
        for found, wanted in zip(legato.compile(module, target)(x, y, i), expected, strict=True):
            np.testing.assert_array_equal(np.from_dlpack(found), wanted)


def test_the_indices_are_read_once():
    """Repeated indices are not stored, and no element has one of its own."""
    module = legato.from_onnx(model(16, TensorProto.FLOAT))
    text = str(legato.lower(module, "llvm", last="relax"))
    assert "scatter_elements" not in text and "gather_elements" not in text and "broadcast_to" not in text


# shape of x, axis, axes of the indices up to which they differ, sizes of these
ROWS = [((3, 20, 8), 1, (3, 9)), ((20, 5, 8), 0, (9, 5)), ((20, 5, 8), 0, (9, 4)), ((2, 3, 20, 4, 5), 2, (2, 3, 7)),
        ((2, 20, 3, 4, 5), 1, (2, 7, 3)), ((3, 20, 1), 1, (3, 9)), ((6, 20, 8), 1, (4, 9)), ((3, 20, 8), 1, (1, 9))]


@pytest.mark.parametrize(("shape", "axis", "sizes"), ROWS, ids=str)
def test_rows_of_repeated_indices(shape, axis, sizes):
    """Of indices that are repeated along the last axes, with axes between them and the one that is indexed, and in front of it."""
    x, rest = RNG.standard_normal(shape).astype(np.float32), shape[len(sizes):]
    i = RNG.integers(-shape[axis], shape[axis], (*sizes, *[1] * len(rest)))
    y = RNG.standard_normal((*sizes, *rest)).astype(np.float32)
    whole = numpy_helper.from_array(np.array(y.shape), "shape")
    nodes = [helper.make_node("Expand", ["i", "shape"], ["repeated"]),
             helper.make_node("GatherElements", ["x", "repeated"], ["r"], axis=axis),
             helper.make_node("ScatterElements", ["x", "repeated", "y"], ["s"], axis=axis, reduction="add")]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape), helper.make_tensor_value_info("y", TensorProto.FLOAT, y.shape),
              helper.make_tensor_value_info("i", TensorProto.INT64, i.shape)]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "rs"], [whole])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for found, wanted in zip(legato.compile(legato.from_onnx(proto))(x, y, i), session.run(None, {"x": x, "y": y, "i": i}), strict=True):
        np.testing.assert_array_equal(np.from_dlpack(found), wanted)
