"""Sequences of tensors and optionals inside a model: compiled, beside onnxruntime."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx_check import model, value

import legato

X = (np.arange(20, dtype=np.float32) * 7 % 11).reshape(4, 5)
node = helper.make_node


def check(proto, *calls):
    """Compiles the model once, and compares each call with onnxruntime."""
    exe = legato.compile(legato.from_onnx(proto))
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for call in calls:
        wanted = session.run(None, {one.name: array for one, array in zip(proto.graph.input, call)})
        found = exe(*call)
        for a, b in zip(found if isinstance(found, tuple) else (found,), map(np.asarray, wanted), strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            np.testing.assert_allclose(a, b, rtol=1e-6)
    return exe


def ints(*values):
    return np.array(values, np.int64)


@pytest.mark.parametrize(("split", "keepdims"), [(None, 0), (None, 1), (np.array(2), 1), (ints(1, 3, 1), 1)])
def test_split_and_concat(split, keepdims):
    inputs = ["x"] if split is None else ["x", "split"]
    nodes = [node("SplitToSequence", inputs, ["s"], axis=1, keepdims=keepdims), node("SequenceLength", ["s"], ["n"]),
             node("SequenceAt", ["s", "last"], ["y"]), node("SequenceErase", ["s", "one"], ["t"]),
             node("SequenceInsert", ["t", "y", "one"], ["u"]), node("ConcatFromSequence", ["u"], ["z"], axis=-1)]
    constants = {"last": np.array(-1), "one": np.array(1), **({} if split is None else {"split": split})}
    check(model(nodes, [value("x", X, ["n", 5])], ["n", "y", "z"], constants=constants), (X,), (X[:0],))


def test_parts_whose_sizes_are_data():
    nodes = [node("SplitToSequence", ["x", "split"], ["s"], axis=0), node("SequenceAt", ["s", "one"], ["y"]),
             node("ConcatFromSequence", ["s"], ["z"], axis=0)]
    proto = model(nodes, [value("x", X, ["n", 5]), value("split", ints(1, 3))], ["y", "z"], constants={"one": np.array(1)})
    check(proto, (X, ints(1, 3)), (X, ints(4, 0)), (X[:3], ints(2, 1)))


def test_parts_of_a_symbolic_size():
    """As PyTorch splits a symbolic axis into a known number of parts, or into one that is not known."""
    for copies in (["x", "x", "x"], ["x", "w"]):
        nodes = [node("Concat", copies, ["all"], axis=0), node("Shape", ["x"], ["shape"], start=0, end=1),
                 node("Squeeze", ["shape"], ["size"]), node("Sin", ["all"], ["whole"]),
                 node("SplitToSequence", ["whole", "size"], ["s"], axis=0),
                 node("SequenceAt", ["s", "one"], ["y"]), node("ConcatFromSequence", ["s"], ["z"], axis=0)]
        proto = model(nodes, [value("x", X, ["n", 5]), value("w", X, ["m", 5])], ["y", "z"], constants={"one": np.array(1)})
        check(proto, (X, X[:3]), (X[:1], X))


def test_position_that_is_data():
    nodes = [node("SequenceConstruct", ["x", "y", "x"], ["s"]), node("SequenceAt", ["s", "place"], ["z"], name="the_node")]
    proto = model(nodes, [value("x", X, ["n", 5]), value("y", X, ["n", 5]), value("place", np.array(0))], ["z"])
    exe = check(proto, *[(X, X + 1, np.array(place)) for place in (0, 1, -1, -3)])
    for place in (3, -4):
        with pytest.raises(ValueError, match="the_node"):
            exe(X, X, np.array(place))


def body(nodes, inputs, outputs):
    infos = [helper.make_value_info(name, type_) for name, type_ in inputs]
    return helper.make_graph(nodes, "body", infos, [helper.make_value_info(name, type_) for name, type_ in outputs])


TENSOR = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
SEQUENCE = helper.make_sequence_type_proto(TENSOR)
SCALARS = [helper.make_tensor_type_proto(kind, []) for kind in (TensorProto.INT64, TensorProto.BOOL)]


def test_carried_by_a_loop():
    """A sequence that grows in each step, by tensors of different shapes."""
    inner = body([node("Unsqueeze", ["i", "zero"], ["end"]), node("Slice", ["x", "zero", "end", "zero"], ["part"]),
                  node("SequenceInsert", ["s", "part"], ["t"]), node("Identity", ["c"], ["d"])],
                 [("i", SCALARS[0]), ("c", SCALARS[1]), ("s", SEQUENCE)], [("d", SCALARS[1]), ("t", SEQUENCE)])
    nodes = [node("SequenceEmpty", [], ["empty"], dtype=TensorProto.FLOAT), node("Loop", ["steps", "", "empty"], ["all"], body=inner),
             node("ConcatFromSequence", ["all"], ["z"], axis=0), node("SequenceAt", ["all", "two"], ["y"])]
    constants = {"steps": np.array(4), "zero": ints(0), "two": np.array(2)}
    check(model(nodes, [value("x", X, [4, "m"])], ["z", "y"], constants=constants), (X,), (X[:, :2].copy(),))


def test_map():
    inner = body([node("Add", ["a", "b"], ["y"]), node("Shape", ["a"], ["n"])], [("a", TENSOR), ("b", TENSOR)],
                 [("y", TENSOR), ("n", helper.make_tensor_type_proto(TensorProto.INT64, [2]))])
    nodes = [node("SplitToSequence", ["x", "split"], ["s"], axis=0), node("SequenceMap", ["s", "bias"], ["t", "ns"], body=inner),
             node("ConcatFromSequence", ["t"], ["z"], axis=0), node("ConcatFromSequence", ["ns"], ["sizes"], axis=0, new_axis=1)]
    proto = model(nodes, [value("x", X, [4, "m"]), value("bias", X[:1], [1, "m"])], ["z", "sizes"], constants={"split": ints(1, 3)})
    check(proto, (X, X[:1]), (X[:, :3].copy(), X[:1, :3].copy()))


def test_map_reads_values_around_it():
    inner = body([node("Mul", ["a", "scale"], ["y"])], [("a", TENSOR)], [("y", TENSOR)])
    nodes = [node("Relu", ["bias"], ["scale"]), node("SplitToSequence", ["x", "split"], ["s"], axis=0),
             node("SequenceMap", ["s"], ["t"], body=inner), node("ConcatFromSequence", ["t"], ["z"], axis=0)]
    proto = model(nodes, [value("x", X, [4, "m"]), value("bias", X[:1], [1, "m"])], ["z"], constants={"split": ints(1, 3)})
    check(proto, (X, X[:1]), (X[:, :3].copy(), X[:1, :3].copy()))


def test_map_that_reads_a_name_of_its_definition_is_refused():
    name = "SequenceMap_input_sequence_seqlen"
    inner = body([node("Mul", ["a", name], ["y"])], [("a", TENSOR)], [("y", TENSOR)])
    nodes = [node("SplitToSequence", ["x", "split"], ["s"], axis=0), node("Identity", ["one"], [name]),
             node("SequenceMap", ["s"], ["t"], body=inner), node("ConcatFromSequence", ["t"], ["z"], axis=0)]
    with pytest.raises(legato.LegatoError, match=f"its graph reads '{name}', and its definition by ONNX has a value of that name"):
        legato.from_onnx(model(nodes, [value("x", X, [4, "m"])], ["z"], constants={"split": ints(1, 3), "one": np.float32([1])}))


def test_chosen_by_a_branch():
    def branch(first, second):
        return helper.make_graph([node("SequenceConstruct", [first, second], ["s"])], "g", [], [helper.make_value_info("s", SEQUENCE)])

    nodes = [node("If", ["c"], ["s"], then_branch=branch("x", "y"), else_branch=branch("y", "x")),
             node("ConcatFromSequence", ["s"], ["z"], axis=0)]
    proto = model(nodes, [value("x", X), value("y", X), value("c", np.array(True))], ["z"])
    check(proto, (X, X + 1, np.array(True)), (X, X + 1, np.array(False)))


def test_optionals():
    optional = helper.make_value_info("x", helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [4, 5])))
    nodes = [node("OptionalHasElement", ["x"], ["has"]), node("OptionalGetElement", ["x"], ["y"]), node("Optional", ["y"], ["again"]),
             node("OptionalGetElement", ["again"], ["z"]), node("Optional", [], ["none"], type=TENSOR),
             node("OptionalHasElement", ["none"], ["has_not"])]
    exe = legato.compile(legato.from_onnx(model(nodes, [optional], ["has", "z", "has_not"])))
    has, z, has_not = exe(X)
    assert (bool(has), bool(has_not)) == (True, False)
    np.testing.assert_array_equal(z, X)
    with pytest.raises(TypeError, match="'x' must be float32"):
        exe(None)


@pytest.mark.parametrize(("nodes", "inputs", "reason"), [
    ([node("SequenceAt", ["x", "place"], ["y"])], [helper.make_value_info("x", SEQUENCE), value("place", ints())],
     "x .input.: it is a sequence: say how many tensors it has"),
    ([node("SequenceConstruct", ["x"], ["s"]), node("Relu", ["s"], ["y"])], [value("x", X)], "a sequence of 1 tensors is no tensor"),
])
def test_refused(nodes, inputs, reason):
    proto = model(nodes, inputs, ["y"])
    with pytest.raises(legato.UnsupportedError, match=reason):
        legato.from_onnx(proto)
