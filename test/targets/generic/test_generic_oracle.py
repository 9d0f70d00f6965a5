"""The generic rules beside an implementation that knows nothing of us: onnxruntime, node by node."""

import itertools

import numpy as np
import pytest
from generic_samples import indices, normal
from one_op import Case, computed, difference
from onnx import TensorProto, helper
from thoroughly import sampled

onnxruntime = pytest.importorskip("onnxruntime")
TYPES = {
    "float32": TensorProto.FLOAT,
    "int64": TensorProto.INT64,
    "int32": TensorProto.INT32,
    "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
}
SAME_NAME = """Exp Tanh Erf Sigmoid Relu Softplus Mish Softsign Round Sign Asinh Atan Sinh Reciprocal Gelu IsNaN IsInf""".split()
WITH_ATTRIBUTES = [
    ("elu", "Elu", {"alpha": 0.7}),
    ("selu", "Selu", {"alpha": 1.5, "gamma": 1.1}),
    ("celu", "Celu", {"alpha": 2.0}),
    ("gelu", "Gelu", {"approximate": "tanh"}),
    ("leaky_relu", "LeakyRelu", {"alpha": 0.2}),
    ("hard_sigmoid", "HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
    ("thresholded_relu", "ThresholdedRelu", {"alpha": 0.5}),
    ("hard_swish", "HardSwish", {}),
]


def reference(node: str, inputs, attrs, opset=21) -> np.ndarray:
    names = [f"x{i}" for i in range(len(inputs))]
    graph = helper.make_graph(
        [helper.make_node(node, names, ["y"], **attrs)],
        "g",
        [helper.make_tensor_value_info(n, TYPES[str(a.dtype)], a.shape) for n, a in zip(names, inputs)],
        [helper.make_empty_tensor_value_info("y")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip(names, inputs)))[0]


def unary():
    x = normal(4, 5) * 3
    for op, node, attrs in [*((n.lower(), n, {}) for n in SAME_NAME), *WITH_ATTRIBUTES]:
        yield Case(op, [x], attrs), node, [x], attrs


def binary():
    a, b = np.array([7, -7, 7, -7, 5], np.int32), np.array([2, 2, -2, -2, 5], np.int32)
    yield Case("divide", [a, b]), "Div", [a, b], {}
    yield Case("mod", [a, b]), "Mod", [a, b], {}
    yield Case("mod", [a, b], {"fmod": True}), "Mod", [a, b], {"fmod": 1}
    x, y = normal(4, 1, 3), normal(2, 1)
    for op, node in (("add", "Add"), ("divide", "Div"), ("maximum", "Max"), ("less_equal", "LessOrEqual"), ("prelu", "PRelu")):
        yield Case(op, [x, np.abs(y)]), node, [x, np.abs(y)], {}
    u, n = np.array([1, 200, 255], np.uint8), np.array([1, 3, 7], np.uint8)
    yield Case("left_shift", [u, n]), "BitShift", [u, n], {"direction": "LEFT"}
    yield Case("right_shift", [u, n]), "BitShift", [u, n], {"direction": "RIGHT"}
    yield Case("power", [np.abs(x), y]), "Pow", [np.abs(x), y], {}
    condition = normal(4, 1, 1) > 0
    yield Case("where", [condition, x, x * 2]), "Where", [condition, x, x * 2], {}


def convolutions():
    for groups, (strides, dilations), padding in itertools.product(
        (1, 2, 4), (([1, 1], [1, 1]), ([2, 1], [1, 2])), ([0, 0, 0, 0], [1, 0, 2, 1])
    ):
        x, w = normal(2, 4, 7, 6), normal(8, 4 // groups, 3, 2)
        ours = {"padding": padding, "strides": strides, "dilations": dilations, "groups": groups}
        theirs = {"pads": padding, "strides": strides, "dilations": dilations, "group": groups}
        yield Case("conv2d", [x, w], ours), "Conv", [x, w], theirs
        w = normal(4, 3, 3, 2)
        more = {"output_padding": [1, 0] if strides[0] > 1 else [0, 0]}
        yield Case("conv2d_transpose", [x, w], {**ours, **more}), "ConvTranspose", [x, w], {**theirs, **more}
    x, w = normal(1, 3, 9), normal(4, 3, 4)
    yield Case("conv1d", [x, w], {"padding": [1, 2], "strides": [2]}), "Conv", [x, w], {"pads": [1, 2], "strides": [2]}
    x, w = normal(1, 2, 5, 4, 6), normal(3, 2, 2, 2, 3)
    yield Case("conv3d", [x, w]), "Conv", [x, w], {}


def pools():
    x = normal(2, 3, 8, 7)
    for ceil, padding, strides, dilations in itertools.product((0, 1), ([0, 0, 0, 0], [1, 1, 1, 0]), ([1, 1], [2, 3]), ([1, 1], [2, 1])):
        ours = {"kernel": [3, 2], "padding": padding, "strides": strides, "dilations": dilations, "ceil_mode": bool(ceil)}
        theirs = {"kernel_shape": [3, 2], "pads": padding, "strides": strides, "dilations": dilations, "ceil_mode": ceil}
        yield Case("max_pool2d", [x], ours), "MaxPool", [x], theirs
        for include in (0, 1):
            yield (
                Case("avg_pool2d", [x], {**ours, "count_include_pad": bool(include)}),
                "AveragePool",
                [x],
                {**theirs, "count_include_pad": include},
            )


def reductions():
    x = normal(3, 4, 5)
    for op, axis in itertools.product(("sum", "mean", "prod", "max", "min"), ([0], [1, 2])):
        axes = np.array(axis, np.int64)
        yield Case(op, [x], {"axis": axis, "keepdims": True}), f"Reduce{op.capitalize()}", [x, axes], {"keepdims": 1}
    ties = np.array([[1, 3, 3, 0], [2, 2, 2, 2]], np.float32)
    for op, last in itertools.product(("argmax", "argmin"), (0, 1)):
        node = {"argmax": "ArgMax", "argmin": "ArgMin"}[op]
        yield (
            Case(op, [ties], {"axis": 1, "select_last": bool(last)}),
            node,
            [ties],
            {"axis": 1, "keepdims": 0, "select_last_index": last},
        )
    for exclusive, reverse in itertools.product((0, 1), (0, 1)):
        ours = {"axis": 1, "exclusive": bool(exclusive), "reverse": bool(reverse)}
        yield Case("cumsum", [x], ours), "CumSum", [x, np.array(1, np.int64)], {"exclusive": exclusive, "reverse": reverse}
    for op, node in (("softmax", "Softmax"), ("log_softmax", "LogSoftmax")):
        yield Case(op, [x], {"axis": 1}), node, [x], {"axis": 1}


def norms():
    x, gamma, beta = normal(2, 4, 3, 5), normal(4), normal(4)
    yield (
        Case("layer_norm", [x, normal(5) * 0 + 2, normal(5) * 0 + 1]),
        "LayerNormalization",
        [x, np.full(5, 2, np.float32), np.full(5, 1, np.float32)],
        {},
    )
    mean, variance = normal(4), np.abs(normal(4))
    yield Case("batch_norm", [x, gamma, beta, mean, variance]), "BatchNormalization", [x, gamma, beta, mean, variance], {}
    yield Case("instance_norm", [x, gamma, beta]), "InstanceNormalization", [x, gamma, beta], {}
    yield Case("group_norm", [x, gamma, beta], {"num_groups": 2}), "GroupNormalization", [x, gamma, beta], {"num_groups": 2}
    for size in (1, 3, 5):
        attrs = {"size": size, "alpha": 0.4, "beta": 0.6, "bias": 1.2}
        yield Case("lrn", [x], attrs), "LRN", [x], attrs


def movement():
    x = normal(4, 6)
    for mode, pads in itertools.product(("constant", "reflect", "edge", "wrap"), ([1, 2, 3, 0], [2, 1, 0, 4])):
        yield Case("pad", [x], {"pads": pads, "mode": mode}), "Pad", [x, np.array(pads, np.int64)], {"mode": mode}
    y = normal(2, 8, 4, 6)
    for mode in ("DCR", "CRD"):
        yield Case("depth_to_space", [y], {"block": 2, "mode": mode}), "DepthToSpace", [y], {"blocksize": 2, "mode": mode}
    yield Case("space_to_depth", [y], {"block": 2}), "SpaceToDepth", [y], {"blocksize": 2}
    i = indices(4, 3, 6)
    yield Case("gather_elements", [x, i]), "GatherElements", [x, i], {"axis": 0}
    yield Case("take", [x, indices(6, 2, 2)], {"axis": 1}), "Gather", None, {"axis": 1}
    pairs = np.array([[0, 1], [-1, 5], [3, -6]])
    yield Case("gather_nd", [x, pairs]), "GatherND", [x, pairs], {}
    yield Case("gather_nd", [x, indices(6, 4, 1)], {"batch_dims": 1}), "GatherND", None, {"batch_dims": 1}
    rows, updates = np.array([[0, 1, 2, 3, 0, 1]]), normal(1, 6)
    for reduction in ("none", "add", "mul", "max", "min"):
        yield (
            Case("scatter_elements", [x, rows, updates], {"reduction": reduction}),
            "ScatterElements",
            [x, rows, updates],
            {"reduction": reduction},
        )
        yield Case("scatter_nd", [x, pairs, normal(3)], {"reduction": reduction}), "ScatterND", None, {"reduction": reduction}
    for upper, op in ((1, "triu"), (0, "tril")):
        yield Case(op, [x], {"k": 1}), "Trilu", [x, np.array(1, np.int64)], {"upper": upper}
    yield Case("matmul", [normal(2, 1, 3, 4), normal(5, 4, 2)]), "MatMul", None, {}


@pytest.mark.parametrize("family", sampled([unary, binary, convolutions, pools, reductions, norms, movement], 2))
def test_agrees_with_onnxruntime(family):
    rows = list(family())
    wrong = []
    for found, (case, node, inputs, attrs) in zip(computed([case for case, *_ in rows]), rows, strict=True):
        expected = reference(node, case.inputs if inputs is None else inputs, attrs)
        problem = difference(found, expected)
        if problem:
            wrong.append(f"{case}: {problem[:500]}")
    assert wrong == []
