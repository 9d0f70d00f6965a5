"""What cannot be imported is said: which node, why, and everything at once."""
import random
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_check import CONTEXT, imported, model, value
from onnx_refusals import X, chain, node, refuses

from legato import LegatoError, UnsupportedError, from_onnx

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx"


# files


@pytest.mark.parametrize(
    "data, text",
    [
        (b"", "is empty"),
        (b"once upon a time", "is not an ONNX model"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "Git LFS pointer"),
        (LIGHT.read_bytes()[:5000], "is not an ONNX model, or is cut off"),
        (onnx.ModelProto(ir_version=8).SerializeToString(), "it holds no graph"),
    ],
)
def test_not_a_model(tmp_path, data, text):
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    for source in (path, str(path), data):
        with pytest.raises(LegatoError, match=text):
            from_onnx(source, context=CONTEXT)


def test_no_file(tmp_path):
    with pytest.raises(LegatoError, match=r"cannot read .*missing\.onnx: No such file"):
        from_onnx(tmp_path / "missing.onnx")
    with pytest.raises(LegatoError, match="is a folder"):
        from_onnx(tmp_path)
    with pytest.raises(TypeError, match="not int"):
        from_onnx(3)


def test_damaged_bytes_give_errors_of_ours():
    """Whatever bytes change in a model, the import ends in a module or in a LegatoError."""
    data = chain(node("Add", "x c", "a"), node("Softmax", "a", "b", axis=1), node("Reshape", "b s", "y"),
                 constants={"c": X, "s": np.array([3, -1])}).SerializeToString()  # fmt: skip
    generator = random.Random(0)
    for _ in range(400):
        damaged = bytearray(data)
        for _ in range(generator.choice((1, 2, 5))):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        try:
            from_onnx(bytes(damaged), context=CONTEXT)
        except LegatoError:
            pass


# graphs


def test_names_that_nothing_defines():
    refuses(chain(node("Add", "x z", "y")), "node /n reads 'z', which nothing defines")
    refuses(model([node("Relu", "x", "y")], [value("x", X)], ["z"]), "nothing defines the output 'z'")


def test_cycles():
    nodes = [node("Add", "x c", "a", "first"), node("Relu", "a", "b", "second"), node("Relu", "b", "c", "third")]
    refuses(chain(*nodes), "the graph has a cycle: ", "first", "second", "third")


def test_nodes_in_another_order_are_sorted():
    proto = model([node("Neg", "b", "y", "last"), node("Abs", "a", "b"), node("Relu", "x", "a")], [value("x", X)], ["y"])
    module = imported(proto)
    names = [op.operation.name for op in module.function().entry_block.operations]
    assert names == ["relax.relu", "relax.abs", "relax.negative", "func.return"]


def test_names_defined_twice():
    refuses(chain(node("Relu", "x", "a"), node("Abs", "x", "a"), node("Neg", "a", "y")), "two node outputs are called 'a'")
    refuses(chain(node("Relu", "x", "x2"), node("Abs", "x2", "x")), "node /n defines 'x', which is already an input or an initializer")
    proto = chain(node("Add", "x c", "y"), constants={"c": X})
    proto.graph.initializer.append(proto.graph.initializer[0])
    refuses(proto, "two initializers are called 'c'")
    refuses(model([node("Relu", "x", "y")], [value("x", X), value("x", X)], ["y"]), "two inputs are called 'x'")
    body = helper.make_graph([node("Relu", "x", "z", ""), node("Abs", "x", "z", "")], "b", [], [onnx.ValueInfoProto(name="z")])
    refuses(chain(node("If", "c", "y", then_branch=body, else_branch=body), constants={"c": np.array(True)}),
            "model 'test': the graph 'else_branch' of node /n: two node outputs are called 'z'")


# opsets and domains


def test_opsets():
    proto = chain(node("Relu", "x", "y"))
    del proto.opset_import[:]
    refuses(proto, "/n (Relu): the model imports no version of the operator set 'ai.onnx'")
    proto = chain(node("Relu", "x", "a"), node("ImageDecoder", "a", "y", "nms"))
    proto.opset_import[0].version = 99
    error = refuses(proto, "it is written for opset 99; Legato takes those up to", kind=UnsupportedError)
    assert [problem.name for problem in error.problems] == ["model 'test'", "nms"]  # what another opset would not help
    proto.opset_import.append(helper.make_opsetid("ai.onnx", 13))
    refuses(proto, "imports two versions of the operator set 'ai.onnx': 99 and 13")


def test_domains():
    proto = chain(node("Relu", "x", "y"))
    proto.graph.node[0].domain = proto.opset_import[0].domain = "ai.onnx"
    assert "relax.relu" in str(imported(proto))
    refuses(chain(node("Rellu", "x", "y")), "/n (Rellu, opset 20): opset 20 has no such op")
    refuses(chain(node("Gelu", "x", "y"), opset=19), "/n (Gelu, opset 19): opset 19 has no such op")
    proto = chain(node("FusedMatMul", "x x", "y", domain="com.microsoft", transB=1))    # which onnxruntime knows without being told
    assert "relax.matmul" in str(imported(proto))
    proto = chain(node("Fast", "x", "y", domain="com.acme"))
    refuses(proto, "/n (com.acme.Fast): the model imports no version of the operator set 'com.acme'")
    proto.opset_import.append(helper.make_opsetid("com.acme", 2))
    refuses(proto, "/n (com.acme.Fast, opset 2): no op of the domain 'com.acme' with this name", kind=UnsupportedError)


# nodes


def test_constant_indices_that_are_no_integers():
    constants = {"x": np.ones(3, np.float32), "i": np.zeros(2, np.float32)}
    refuses(model([node("Gather", "x i", "y")], [], ["y"], constants=constants), "/n (Gather", "indices' must have int or uint elements")


def test_more_memory_than_there_is(monkeypatch):
    def no_room(*_args, **_options):
        raise MemoryError("Unable to allocate 16.0 EiB")

    monkeypatch.setattr(np, "eye", no_room)
    proto = model([node("EyeLike", "x", "y")], [value("x", np.ones((2, 2), np.float32))], ["y"])
    refuses(proto, "/n (EyeLike", "it needs more memory than there is: Unable to allocate 16.0 EiB", kind=UnsupportedError)


def test_a_triangle_of_less_than_a_matrix():
    diagonal = np.array(1)
    for constants, inputs in (({"k": diagonal}, ()), ({}, ("k",))):
        proto = model([node("ReduceSum", "x", "s", keepdims=0), node("Trilu", "s k", "y")],
                      [value("x", X), *(value(name, diagonal) for name in inputs)], ["y"], 20, constants)
        refuses(proto, "/n (Trilu, opset 20): operand 'x' must have rank 2 or more, has []")


def test_everything_unsupported_is_listed_at_once_and_nothing_else():
    nodes = [
        node("RegexFullMatch", "x", "v", "text"),
        node("Relu", "v", "a", "fine"),  # follows from the one before
        node("StringNormalizer", "a", "b", "words"),  # follows too, but would not do by itself
        node("Softmax", "x", "c", "soft", axis=1, temperature=2.0),
        node("BatchNormalization", "z s s s s", "d mean", "norm"),
        node("Sum", "b c d mean", "y", "sum"),
    ]
    inputs = [value("x", X), value("z", np.ones((1, 1, 4), np.float32))]
    error = refuses(model(nodes, inputs, ["y"], 20, {"k": np.array([1]), "s": np.ones(1, np.float32)}), kind=UnsupportedError)
    assert str(error).splitlines() == [
        "model 'test' asks for what Legato does not do, in 4 places:",
        "  text (RegexFullMatch, opset 20): strings are not supported",
        "  words (StringNormalizer, opset 20): strings are not supported",
        "  soft (Softmax, opset 20): attribute 'temperature' of Softmax is not supported",
        "  norm (BatchNormalization, opset 20): its output 1 is used, which is not supported",
    ]
    first = error.problems[0]
    assert (first.name, first.op, first.domain, first.opset) == ("text", "RegexFullMatch", "", 20)


def test_nodes_that_nobody_needs_are_not_looked_at():
    proto = model([node("StringNormalizer", "x", "z", "dead"), node("Relu", "x", "y")], [value("x", X)], ["y"])
    assert "relax.relu" in str(imported(proto))


def test_malformed_nodes():
    refuses(chain(node("Softmax", "x", "y", axis=4)), "/n (Softmax, opset 20): there is no axis 4 in a tensor of rank 2")
    refuses(chain(node("Softmax", "x", "y", axis=1.5)), "attribute 'axis' must be an int, found float")
    refuses(chain(node("Gather", "x", "y")), "/n (Gather, opset 20): it has 1 inputs; the op takes 2 to 2")
    refuses(chain(helper.make_node("Add", ["x", ""], ["y"])), "y (Add, opset 20): its input 'B' is left out")
    refuses(chain(node("Concat", "x", "y")), "it needs the attribute 'axis'")
    refuses(chain(node("Add", "x c", "y"), constants={"c": np.ones(5, np.float32)}), "shapes [2, 3] and [5] do not broadcast")
    refuses(chain(node("Transpose", "x", "y", perm=[0, 0])), "perm = [0, 0] is no permutation")
    refuses(chain(node("Conv", "x x", "y", kernel_shape=[2])), "/n (Conv, opset 20)")
    refuses(chain(node("Cast", "x", "y", to=77)), "its element type 77 does not exist")


@pytest.mark.parametrize(
    "op, constants, attributes, text",
    [
        ("Conv", [(2, 3, 3, 3)], {}, "x has 4 channels, but w takes 3 in each of 1 groups"),
        ("Conv", [(2, 4, 7, 7)], {}, "the window of 7 is larger than spatial axis 0: 5"),
        ("Conv", [(2, 4, 3, 3), (3,)], {}, "its bias must have the shape [2], has [3]"),
        ("ConvTranspose", [(3, 4, 3, 3)], {}, "x has 4 channels, but w takes 3"),
        ("MaxPool", [], {"kernel_shape": [7, 7]}, "the window of 7 is larger than spatial axis 0: 5"),
        ("DepthToSpace", [], {"blocksize": 3}, "9 does not divide x's 4 channels"),
        ("SpaceToDepth", [], {"blocksize": 2}, "attribute 'block' is 2, which does not divide x's height 5"),
        ("PRelu", [(2,)], {}, "do not broadcast: 2 and 5 at axis -1"),
        ("LayerNormalization", [(4,)], {}, "its input 1 of the shape [4] does not broadcast to x of"),
        ("Gather", [np.array([7])], {"axis": 1}, "its indices are from 7 to 7, but axis 1 has size 4"),
        ("MatMul", [(4, 5)], {}, "the inner sizes differ: 5"),
    ],
)
@pytest.mark.parametrize("batch", [1, "n"])
def test_shapes_that_do_not_fit(op, constants, attributes, text, batch):
    """Whatever the batch is: the model is wrong, and Legato lacks nothing."""
    arrays = {f"c{i}": np.ones(c, np.float32) if isinstance(c, tuple) else c for i, c in enumerate(constants)}
    image = value("x", np.ones((1, 4, 5, 5), np.float32), [batch, 4, 5, 5])
    refuses(model([node(op, " ".join(["x", *arrays]), "y", **attributes)], [image], ["y"], 20, arrays), f"/n ({op}, opset 20): ", text)


def test_gemm_and_reshape():
    refuses(chain(node("Reshape", "x s", "y"), constants={"s": np.array([4, 3])}), "attribute 'shape' is [4, 3], 12 elements, but x has 6")
    for shape, text in ((3,), "[2, 4] and [3] do not broadcast"), ((1, 1, 4), "its C must have rank 0 to 2, has 3"):
        constants = {"w": np.ones((3, 4), np.float32), "b": np.ones(shape, np.float32)}
        refuses(chain(node("Gemm", "x w b", "y"), constants=constants), "/n (Gemm, opset 20): ", text)


def test_outputs():
    proto = chain(node("Relu", "x", "y"))
    for dims, text in ([2, 4], "[2, 4]"), ([2, 3, 1], "[2, 3, 1]"), (["n"], "[n]"):
        proto.graph.output[0].CopyFrom(value("y", X, dims))
        with pytest.warns(UserWarning, match=re.escape(f"output 'y' is declared {text}, but the graph computes [2, 3]")):
            assert list(imported(proto).function().type.results[0].shape) == [2, 3]
    for dims in ([2, 3], ["n", 3], [-1, None]):
        proto.graph.output[0].CopyFrom(value("y", X, dims))
        imported(proto)
    proto.graph.output[0].CopyFrom(value("y", X))
    imported(proto, shapes={"x": [5, 3]})  # other inputs than the model was declared for
    proto.graph.output[0].CopyFrom(helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None))
    refuses(proto, "y (output): it is declared a sequence, but the graph computes a tensor")
    list_ = chain(node("SequenceConstruct", "x x", "y"))
    list_.graph.output[0].CopyFrom(value("y", X))
    refuses(list_, "y (output): it is declared a tensor, but the graph computes a sequence")
    proto.graph.output[0].name = ""
    refuses(proto, "model 'test': the output 0 has no name")
    del proto.graph.output[:]
    refuses(proto, "model 'test' has no outputs: there is nothing to compute")


def test_what_is_ours_to_refuse_and_what_is_the_models_fault():
    """Where an op of ours does not take a node, ONNX's own inference says whether the model is to blame."""
    ints = np.ones((2, 3), np.int32)
    isnan = model([node("IsNaN", "x", "y")], [value("x", ints.astype(ml_dtypes.float8_e5m2))], ["y"])
    refuses(isnan, "/n (IsNaN, opset 20): operand 'x' must have float elements, has f8E5M2", kind=UnsupportedError)
    erf = model([node("Relu", "x", "y")], [value("x", ints)], ["y"])
    erf.graph.node[0].op_type = "Erf"
    refuses(erf, "/n (Erf, opset 20): operand 'x' must have float elements, has i32")
    matmul = chain(node("MatMul", "x c", "y"), constants={"c": np.ones((5, 2), np.float32)})
    refuses(matmul, "/n (MatMul, opset 20): the inner sizes differ: 3")


# values


def test_types():
    for kind, text in ((TensorProto.STRING, "element type string"), (TensorProto.COMPLEX128, "element type complex128"),
                       (TensorProto.COMPLEX64, "element type complex64")):  # fmt: skip
        proto = model([node("Identity", "s", "y", "id")], [helper.make_tensor_value_info("s", kind, [2])], ["y"])
        refuses(proto, f"s (input): {text} is not supported", kind=UnsupportedError)
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, [2])
    proto = model([node("SequenceLength", "s", "y")], [sequence], ["y"])
    refuses(proto, "s (input): it is a sequence: say how many tensors it has, or their shapes: shapes={'s': 2} or ", kind=UnsupportedError)
    unranked = helper.make_tensor_value_info("s", TensorProto.FLOAT, None)
    proto = model([node("Relu", "s", "y")], [unranked], ["y"])
    refuses(proto, "s (input): its rank is not known: say what it is with shapes={'s': [...]}", kind=UnsupportedError)
    assert "tensor<4x?xf32" in str(imported(proto, shapes={"s": [4, "n"]}))
    proto = chain(node("Relu", "x", "y"))
    proto.graph.input[0].type.tensor_type.elem_type = 77
    refuses(proto, "x (input): its element type 77 does not exist")
    proto = chain(node("Relu", "x", "y"))
    proto.graph.output[0].type.tensor_type.elem_type = TensorProto.INT8
    refuses(proto, "y (output): it is declared i8, but the graph computes f32")


def test_several_numbers_for_one():
    places, several = np.zeros((2, 3), np.int64), np.zeros(3, np.int64)
    inputs = [value("x", places), value("several", several), value("values", X[0, :2])]
    hot = model([node("OneHot", "x several values", "y")], inputs, ["y"])
    refuses(hot, "depth must be one number, has 3 elements")
    top = model([node("TopK", "x several", "y places")], [value("x", X), value("several", several)], ["y", "places"])
    refuses(top, "k must be one number, has 3 elements")


def test_nodes_that_onnx_cannot_define():
    map_ = model([node("SequenceConstruct", "x", "s"), node("SequenceMap", "s", "t"), node("ConcatFromSequence", "t", "y", axis=0)],
                 [value("x", X)], ["y"])
    refuses(map_, "/n (SequenceMap", "ody")
    image = model([node("Col2Im", "x image block", "y")], [value("x", X)], ["y"], constants={"image": [4, 4], "block": [2, 2]})
    refuses(image, "its input 0 must have 3 dimensions, has the shape [2, 3]")
