"""Attributes that an op does not have, of other types or with values that it does not allow, are refused by name; none is ignored."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_check import check, imported, model, value

from legato import LegatoError

IMAGE = np.ones((1, 2, 5, 5), np.float32)
SCORES = {"x": np.ones((2, 3), np.float32), "c": np.array([0, 2])}
DEFORM = {"x": IMAGE, "w": np.ones((2, 2, 3, 3), np.float32), "o": np.zeros((1, 18, 3, 3), np.float32)}
BLOCKS = {"x": np.ones((4, 4), np.float32), "s": np.ones((2, 4), np.float32), "z": np.zeros((2, 4), np.uint8)}


def refuses(op, arrays, attributes, *texts, opset=23, domain=""):
    """The import of a node of these inputs, constants but the first, fails with an error that has all these texts."""
    first, *others = arrays
    node = helper.make_node(op, list(arrays), ["y"], name="/n", domain=domain, **attributes)
    proto = model([node], [value(first, arrays[first])], ["y"], opset, {name: arrays[name] for name in others})
    if domain:
        proto.opset_import.append(helper.make_opsetid(domain, 5))
    with pytest.raises(LegatoError) as caught:
        imported(proto)
    for text in ("/n (", *texts):
        assert text in str(caught.value)


@pytest.mark.parametrize("op, arrays, attributes, text", [
    ("SoftmaxCrossEntropyLoss", SCORES, {"smoothing": 0.5}, "attribute 'smoothing' of SoftmaxCrossEntropyLoss is not supported"),
    ("HannWindow", {"x": np.array(4)}, {"sym": 1, "bogus": 1}, "attributes 'bogus', 'sym' of HannWindow is not supported"),
    ("SoftmaxCrossEntropyLoss", SCORES, {"ignore_index": 0.5}, "attribute 'ignore_index' must be an int, found float"),
    ("SoftmaxCrossEntropyLoss", SCORES, {"reduction": 1}, "attribute 'reduction' must be a string, found int"),
    ("SoftmaxCrossEntropyLoss", SCORES, {"reduction": "max"}, "attribute 'reduction' must be 'none' or 'mean' or 'sum', found 'max'"),
    ("NegativeLogLikelihoodLoss", SCORES, {"reduction": "mena"}, "attribute 'reduction' must be 'none' or 'mean' or 'sum', found 'mena'"),
    ("ReduceMax", {"x": IMAGE, "a": np.array([1])}, {"noop_with_empty_axes": [1]}, "'noop_with_empty_axes' must be an int, found ints"),
    ("Dropout", {"x": IMAGE}, {"seed": "7"}, "attribute 'seed' must be an int, found string"),
    ("BitShift", {"x": np.ones(3, np.uint8), "c": np.ones(3, np.uint8)}, {"direction": "UP"},
     "attribute 'direction' must be 'LEFT' or 'RIGHT', found 'UP'"),
    ("Attention", {name: np.ones((1, 2, 3, 4), np.float32) for name in "qkv"}, {"softmax_precision": -1},
     "attribute 'softmax_precision' is -1, which is no element type"),
])
def test_attributes_that_nothing_reads_are_checked(op, arrays, attributes, text):
    """By functions of ONNX's own schemas, or behind other attributes and inputs."""
    refuses(op, arrays, attributes, text)


@pytest.mark.parametrize("attributes, text", [
    ({"offset_group": 0}, "group = 1 and offset_group = 0: expected 1 or more"),
    ({"group": 0}, "group = 0 and offset_group = 1: expected 1 or more"),
    ({"strides": [0, 1]}, "strides = [0, 1]: expected 2 values of 1 or more"),
    ({"dilations": [1, 1, 1]}, "dilations = [1, 1, 1]: expected 2 values of 1 or more"),
    ({"kernel_shape": [1, 1]}, "kernel_shape = [1, 1], but the weight's is [3, 3]"),
])
def test_deformable_convolutions(attributes, text):
    refuses("DeformConv", DEFORM, attributes, text, opset=22)


def test_attributes_that_say_two_things_or_nothing():
    node = helper.make_node("Softmax", ["x"], ["y"], name="/n", axis=0)
    node.attribute.append(helper.make_attribute("axis", 1))
    with pytest.raises(LegatoError, match=r"/n \(Softmax, opset 20\): attribute 'axis' is given twice"):
        imported(model([node], [value("x", IMAGE)], ["y"]))
    del node.attribute[0]
    node.attribute[0].ref_attr_name = "where"
    with pytest.raises(LegatoError, match="attribute 'axis' is that of the function around the node, 'where', and the node is in none"):
        imported(model([node], [value("x", IMAGE)], ["y"]))
    several = {"value_int": 1, "value_float": 1.0}, "it has several values: value_float, value_int"
    for attributes, text in (several, ({}, "it has no value")):
        constant = helper.make_node("Constant", [], ["c"], name="/c", **attributes)
        with pytest.raises(LegatoError, match=rf"/c \(Constant, opset 20\): {text}"):
            imported(model([constant, helper.make_node("Add", ["x", "c"], ["y"])], [value("x", IMAGE)], ["y"]))


def test_windows_of_blocks_and_pools():
    blocks = {"x": np.ones((1, 4, 4), np.float32), "i": np.array([4, 4]), "b": np.array([2, 2])}
    refuses("Col2Im", blocks, {"strides": [0, 0]}, "strides = [0, 0]: expected 2 values of 1 or more")
    refuses("Col2Im", blocks, {"dilations": [-1, -1]}, "dilations = [-1, -1]: expected 2 values of 1 or more")
    pooled = {"x": np.ones((1, 1, 2, 2), np.float32), "i": np.zeros((1, 1, 2, 2), np.int64)}
    refuses("MaxUnpool", pooled, {"kernel_shape": [2, 2], "strides": [0, 2]}, "strides = [0, 2]: expected 2 values of 1 or more")
    refuses("MaxUnpool", pooled, {"kernel_shape": [0, 2]}, "kernel_shape = [0, 2]")


@pytest.mark.parametrize("op", ["QuantizeLinear", "DequantizeLinear"])
def test_quantized_blocks(op):
    arrays = BLOCKS if op == "QuantizeLinear" else BLOCKS | {"x": np.ones((4, 4), np.uint8)}
    refuses(op, arrays, {"axis": 0, "block_size": -1}, "block_size = -1: expected 0, for none, or more")
    refuses(op, arrays, {"axis": 0, "block_size": 1}, "its scale must have the shape [4, 4], has [2, 4]")
    refuses(op, arrays, {"axis": 7, "block_size": 2}, "there is no axis 7 in a tensor of rank 2")


def test_trees():
    leaf = {"nodes_featureids": [0], "nodes_truenodeids": [0], "nodes_falsenodeids": [0], "nodes_trueleafs": [1], "nodes_falseleafs": [1],
            "leaf_targetids": [0], "tree_roots": [0], "n_targets": 1}
    tensors = {"nodes_splits": np.ones(1, np.float32), "nodes_modes": np.zeros(1, np.uint8), "leaf_weights": np.ones(1, np.float32)}
    node = leaf | {name: numpy_helper.from_array(array) for name, array in tensors.items()}
    arrays = {"x": np.ones((2, 3), np.float32)}
    refuses("TreeEnsemble", arrays, node | {"aggregate_function": -1},
            "aggregate_function = -1: expected 0 to 3, for AVERAGE, SUM, MIN, MAX", domain="ai.onnx.ml")
    refuses("TreeEnsemble", arrays, node | {"post_transform": 9}, "post_transform = 9: expected 0 to 4", domain="ai.onnx.ml")
    refuses("TreeEnsemble", arrays, node | {"n_targets": 0}, "n_targets = 0: expected 1 or more", domain="ai.onnx.ml")
    refuses("TreeEnsemble", arrays, node | {"n_targets": 2**62}, "targets for each of 2 nodes would be too large", domain="ai.onnx.ml")
    refuses("TreeEnsemble", arrays, node | {"tree_roots": [2**40]}, "its trees begin at [1099511627776], and it has the nodes 0 to 1",
            domain="ai.onnx.ml")


def test_gaps_of_n_grams_end_with_the_row():
    """Not at a limit of 2^62, which is refused where the length of rows is not known."""
    node = helper.make_node(
        "TfIdfVectorizer", ["x"], ["y"], mode="TF", min_gram_length=2, max_gram_length=2, max_skip_count=2**62, ngram_counts=[0, 0],
        ngram_indexes=[0], pool_int64s=[1, 2])
    module = imported(model([node], [value("x", np.zeros((1, 6), np.int64))], ["y"]))
    assert str(module).count("relax.logical_and") <= 5
    with pytest.raises(LegatoError, match=f"max_skip_count = {2**62} is not supported for rows of a length known only at run time, n"):
        imported(model([node], [value("x", np.zeros((1, 6), np.int64), [1, "n"])], ["y"]))


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceSum", "ArgMax"])
@pytest.mark.parametrize("keepdims", [2, -1, 1])
def test_axes_are_kept_by_one_alone(op, keepdims):
    """As onnxruntime and ONNX's shape inference have it; ONNX's reference implementation keeps them."""
    node = helper.make_node(op, ["x"], ["y"], keepdims=keepdims)
    check(model([node], [value("x", IMAGE)], ["y"]), {"x": IMAGE})


def test_sequence_map_of_a_body_without_types():
    """As PyTorch's exporter writes atleast_1d of several tensors: ONNX's definition begins with a sequence of no type."""
    body = helper.make_graph([helper.make_node("Neg", ["a"], ["b"])], "body", [helper.make_tensor_value_info("a", TensorProto.INT32, None)],
                             [helper.make_empty_tensor_value_info("b")])
    nodes = [helper.make_node("SequenceConstruct", ["x", "x"], ["s"]), helper.make_node("SequenceMap", ["s"], ["t"], body=body),
             helper.make_node("ConcatFromSequence", ["t"], ["y"], axis=0)]
    module = imported(model(nodes, [value("x", np.ones(3, np.int32))], ["y"]))
    assert str(module).count("relax.negative") == 2 and "tensor<6xi32>" in str(module)
