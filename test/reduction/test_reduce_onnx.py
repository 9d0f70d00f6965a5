"""ONNX models are reduced to what fails: nodes, sizes, weights, branches, functions."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import legato
from legato import LegatoError

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def model(nodes, inputs, outputs, arrays=(), functions=(), opsets=()):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*one) for one in inputs],
                              [helper.make_tensor_value_info(*one) for one in outputs],
                              [numpy_helper.from_array(array, name) for name, array in arrays])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), *opsets], functions=list(functions), ir_version=10)


def layers(count=9, width=64, odd=5):
    """``count`` layers of a product, an activation and a residual, of which one has a softmax."""
    random, nodes, arrays, x = np.random.default_rng(0), [], [], "x"
    for n in range(count):
        arrays.append((f"w{n}", random.standard_normal((width, width)).astype(np.float32)))
        activation = helper.make_node("Softmax" if n == odd else "Relu", [f"a{n}"], [f"b{n}"], **({"axis": 1} if n == odd else {}))
        nodes += [helper.make_node("MatMul", [x, f"w{n}"], [f"a{n}"]), activation, helper.make_node("Add", [f"b{n}", x], [f"c{n}"])]
        x = f"c{n}"
    return model(nodes, [("x", F32, ["n", width])], [(x, F32, ["n", width]), ("b1", F32, ["n", width])], arrays)


def types(proto):
    return [node.op_type for node in proto.graph.node]


def has(*names):
    return lambda proto: set(names) <= set(types(proto))


def anywhere(name):
    """Whether a node of this type stands in a graph of any depth, or in a function that a node calls."""
    def within(nodes, functions):
        return any(node.op_type == name or any(within(a.g.node, functions) for a in node.attribute)
                   or within(functions.get(node.op_type, ()), functions) for node in nodes)

    return lambda proto: within(proto.graph.node, {function.name: function.node for function in proto.functions})


def sizes(proto):
    return [[d.dim_value for d in value.type.tensor_type.shape.dim] for value in proto.graph.input]


def test_one_node_is_left():
    found = legato.reduce(layers(), has("Softmax"))
    assert types(found.model) == ["Softmax"] and sizes(found.model) == [[1, 1]] and not found.model.graph.initializer
    assert found.finished and found.tests < 60 and "27 nodes" in found.before and found.after.startswith("1 node,")
    onnx.checker.check_model(found.model, full_check=True)


def test_nodes_that_belong_together_stay():
    """A product that reads a softmax: nodes between two that are needed are passed by."""
    def fails(proto):
        producers = {name: node for node in proto.graph.node for name in node.output}

        def depends(node):
            return node.op_type == "Softmax" or any(depends(producers[name]) for name in node.input if name in producers)

        return any(node.op_type == "MatMul" and depends(node) for node in proto.graph.node)

    found = legato.reduce(layers(odd=2), fails)
    assert sorted(types(found.model)) == ["MatMul", "Softmax"]


def test_computed_shapes_become_constants():
    """A shape cannot become an input where what reads it needs its value."""
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Shape", ["r"], ["s"]),
             helper.make_node("Gather", ["s", "last"], ["t"], axis=0), helper.make_node("Concat", ["t", "rest"], ["u"], axis=0),
             helper.make_node("Reshape", ["r", "u"], ["y"])]
    proto = model(nodes, [("x", F32, [4, 6])], [("y", F32, ["a", "b"])], [("last", np.array([1])), ("rest", np.array([-1]))])

    def fails(proto):
        return has("Reshape")(proto) and "u" not in [value.name for value in proto.graph.input]

    found = legato.reduce(proto, fails).model
    assert types(found) == ["Reshape"] and [value.name for value in found.graph.input] == ["r"]
    assert numpy_helper.to_array(found.graph.initializer[0]).size == 2


def test_a_branch_takes_the_place_of_its_if():
    def branch(op):
        return helper.make_graph([helper.make_node(op, ["x"], [f"{op}_1"]), helper.make_node("Neg", [f"{op}_1"], [f"{op}_2"])], op, [],
                                 [helper.make_tensor_value_info(f"{op}_2", F32, [3])])

    nodes = [helper.make_node("If", ["c"], ["y"], then_branch=branch("Erf"), else_branch=branch("Relu")),
             helper.make_node("Abs", ["y"], ["z"])]
    proto = model(nodes, [("c", TensorProto.BOOL, []), ("x", F32, [3])], [("z", F32, [3])])
    assert types(legato.reduce(proto, anywhere("Erf")).model) == ["Erf"]
    kept = legato.reduce(proto, lambda proto: has("If")(proto) and anywhere("Erf")(proto)).model
    assert types(kept) == ["If"]
    inside = {one.op_type for a in kept.graph.node[0].attribute for one in a.g.node}
    assert "Erf" in inside and "Relu" not in inside


def test_an_iteration_takes_the_place_of_its_loop():
    info = helper.make_tensor_value_info
    body = helper.make_graph([helper.make_node("Identity", ["go"], ["still"]), helper.make_node("Erf", ["v"], ["w"])], "body",
                             [info("i", I64, []), info("go", TensorProto.BOOL, []), info("v", F32, [3])],
                             [info("still", TensorProto.BOOL, []), info("w", F32, [3])])
    proto = model([helper.make_node("Loop", ["count", "", "x"], ["y"], body=body)], [("x", F32, [3])], [("y", F32, [3])],
                  [("count", np.array(4))])
    assert "Erf" in types(legato.reduce(proto, anywhere("Erf")).model)


def test_functions_are_inlined():
    function = helper.make_function("my", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["c"]),
                                                                  helper.make_node("Erf", ["c"], ["b"])], [helper.make_opsetid("", 21)])
    proto = model([helper.make_node("Twice", ["x"], ["y"], domain="my"), helper.make_node("Neg", ["y"], ["z"])], [("x", F32, [3])],
                  [("z", F32, [3])], functions=[function], opsets=[helper.make_opsetid("my", 1)])
    found = legato.reduce(proto, anywhere("Erf")).model
    assert types(found) == ["Erf"] and not found.functions and [one.domain for one in found.opset_import] == [""]


def test_optional_inputs_and_attributes_go():
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], dilations=[1, 1])]
    proto = model(nodes, [("x", F32, [1, 8, 12, 12])], [("y", F32, ["a", "b", "c", "d"])],
                  [("w", np.ones((4, 8, 3, 3), np.float32)), ("b", np.ones(4, np.float32))])

    def fails(proto):
        return any(node.op_type == "Conv" and any(a.name == "strides" and 2 in a.ints for a in node.attribute) for node in proto.graph.node)

    node = legato.reduce(proto, fails).model.graph.node[0]
    assert len(node.input) == 2 and [a.name for a in node.attribute] == ["strides"]


def test_a_wrong_result_is_found_in_a_model():
    """Compiled code beside another that is wrong for one op: what is left is that op."""
    from legato.comparison import random_inputs

    def fails(proto):
        other = onnx.ModelProto()
        other.CopyFrom(proto)
        for node in other.graph.node:
            node.op_type = {"Sigmoid": "Tanh"}.get(node.op_type, node.op_type)
        try:
            ours, theirs = (legato.compile(legato.from_onnx(one), cache=False) for one in (proto, other))
        except LegatoError:
            return False
        inputs = random_inputs(ours.inputs, {})
        pairs = zip(*(value if isinstance(value, tuple) else (value,) for value in (ours(**inputs), theirs(**inputs))))
        return any(not np.allclose(a, b, 1e-3, 1e-3) for a, b in pairs)

    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Sigmoid", ["b"], ["c"]), helper.make_node("Mul", ["c", "b"], ["y"])]
    proto = model(nodes, [("x", F32, ["n", 8])], [("y", F32, ["n", 8])], [("w", np.eye(8, dtype=np.float32))])
    assert types(legato.reduce(proto, fails).model) == ["Sigmoid"]


def test_external_data(tmp_path):
    proto = layers()
    onnx.save_model(proto, tmp_path / "model.onnx", save_as_external_data=True, location="weights", size_threshold=16)
    read = []

    def fails(proto):
        read.append(sum(len(tensor.raw_data) for tensor in proto.graph.initializer))
        return "MatMul" in types(proto) and any(tensor.name == "w3" for tensor in proto.graph.initializer)

    found = legato.reduce(tmp_path / "model.onnx", fails, output=tmp_path / "small.onnx")
    assert read[0] == 9 * 64 * 64 * 4
    small = onnx.load(tmp_path / "small.onnx")
    assert types(small) == types(found.model) == ["MatMul"] and not np.any(numpy_helper.to_array(small.graph.initializer[0]))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx", "small.onnx", "weights"]


def test_it_is_deterministic():
    results = [legato.reduce(layers(), has("Softmax", "Add")).model.SerializeToString(deterministic=True) for _ in range(2)]
    assert results[0] == results[1]


def test_invalid_candidates_are_not_tested():
    """What onnx's checker refuses would fail for another reason."""
    def fails(proto):
        onnx.checker.check_model(proto, full_check=True)
        return has("Conv")(proto)

    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[3, 3], group=2), helper.make_node("Relu", ["y"], ["z"])]
    proto = model(nodes, [("x", F32, [1, 8, 12, 12])], [("z", F32, ["a", "b", "c", "d"])], [("w", np.ones((4, 4, 3, 3), np.float32))])
    assert legato.reduce(proto, fails).invalid > 0


def test_an_original_that_does_not_fail():
    with pytest.raises(LegatoError, match="does not fail on the original"):
        legato.reduce(layers(), lambda proto: False)
