"""Windows whose output has an axis of size 1, on input that they do not use up: dropping the axis must not change what they read."""
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from random_models import random_model
from thoroughly import first_of, sampled

import legato
from legato import tir as T
from legato.core.cpu import missing_features

LEVELS = [f"llvm{{cpu={cpu}}}" for cpu in ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4") if not missing_features(cpu, "")]

# op, the input's sizes, kernel, strides, dilations, groups (of convolutions): each has an output axis of size 1, and input left over
WINDOWS = [
    ("Conv", ("n", 4, 2, 3), (1, 2), (1, 2), (1, 1), 2),
    ("Conv", ("n", 4, 3, 2), (2, 1), (2, 1), (1, 1), 2),
    ("Conv", ("n", 4, 5, 3), (2, 2), (4, 2), (1, 1), 2),
    ("Conv", ("n", 4, 4, 2), (2, 1), (3, 1), (2, 1), 2),
    ("Conv", (2, 4, "h", 3), (1, 2), (1, 2), (1, 1), 2),
    ("Conv", ("n", 3, 2, 3), (1, 2), (1, 2), (1, 1), 1),
    ("Conv", ("n", 4, 2, 3), (1, 2), (1, 2), (1, 1), 4),
    ("Conv", ("n", 4, 3), (2,), (2,), (1,), 2),
    ("Conv", ("n", 4, 3), (2,), (2,), (1,), 4),
    ("Conv", ("n", 3, 3), (2,), (2,), (1,), 1),
    ("Conv", ("n", 4, 2, 2, 3), (1, 1, 2), (1, 1, 2), (1, 1, 1), 2),
    ("Conv", ("n", 2, 3, 2, 3), (2, 2, 2), (2, 1, 2), (1, 1, 1), 1),
    ("MaxPool", ("n", 4, 2, 3), (1, 2), (1, 2), (1, 1), 1),
    ("MaxPool", ("n", 4, 3), (2,), (2,), (1,), 1),
    ("MaxPool", ("n", 4, 2, 4, 3), (1, 2, 2), (1, 2, 2), (1, 1, 1), 1),
    ("AveragePool", ("n", 4, 2, 3), (1, 2), (1, 2), (1, 1), 1),
    ("AveragePool", ("n", 4, 5), (3,), (3,), (1,), 1),
]


def model_of_windows() -> onnx.ModelProto:
    """A model with an output for each window, and for each convolution another with a bias."""
    rng, nodes, weights, inputs, outputs = np.random.default_rng(0), [], [], [], []

    def weight(*shape: int) -> str:
        weights.append(numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), f"w{len(weights)}"))
        return weights[-1].name

    for n, (op, shape, kernel, strides, dilations, groups) in enumerate(WINDOWS):
        inputs.append(helper.make_tensor_value_info(f"x{n}", TensorProto.FLOAT, shape))
        attributes = {"strides": strides, "kernel_shape": kernel} | ({} if op == "AveragePool" else {"dilations": dilations})
        others = [[]] if op != "Conv" else [[weight(4, shape[1] // groups, *kernel)] for _ in range(2)]
        if op == "Conv":
            attributes["group"] = groups
            others[1].append(weight(4))
        for more in others:
            outputs.append(helper.make_tensor_value_info(f"y{len(outputs)}", TensorProto.FLOAT, [None] * len(shape)))
            nodes.append(helper.make_node(op, [f"x{n}", *more], [outputs[-1].name], **attributes))
    graph = helper.make_graph(nodes, "windows", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("target", first_of(LEVELS[::-1]))
def test_windows_of_models(target):
    model = model_of_windows()
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal([s if isinstance(s, int) else 2 for s in shape]).astype(np.float32) for _, shape, *_ in WINDOWS]
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, {f"x{n}": array for n, array in enumerate(arrays)})
    found = legato.compile(legato.from_onnx(model), target)(*arrays)
    for node, got, want in zip(model.graph.node, found, wanted, strict=True):
        np.testing.assert_allclose(got, np.asarray(want), rtol=1e-5, atol=1e-5, err_msg=str(node))


@T.prim_func
def greatest_of_row(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 5, 4), "float32")
    C = T.match_buffer(c, (n, 1, 4), "float32")
    for i, o, j in T.grid(n, 1, 4):
        C[i, o, j] = A[i, o * 3, j]
    for i, o, j, k in T.grid(n, 1, 4, 2):
        C[i, o, j] = T.max(C[i, o, j], A[i, o * 3 + k, j])


@T.prim_func
def sum_of_row(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 5), "float32")
    C = T.match_buffer(c, (n, 1), "float32")
    for i, o in T.grid(n, 1):
        C[i, o] = 0.0
    for i, o, k in T.grid(n, 1, 2):
        C[i, o] = C[i, o] + A[i, o * 3 + k]


@T.prim_func
def weighted_row(a: T.handle, W: T.Buffer((2,), "float32"), c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 5), "float32")
    C = T.match_buffer(c, (n, 1), "float32")
    for i, o in T.grid(n, 1):
        C[i, o] = 0.0
    for i, o, k in T.grid(n, 1, 2):
        C[i, o] = C[i, o] + A[i, o + k] * W[k]


@T.prim_func
def shifted_rows(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 7), "float32")
    C = T.match_buffer(c, (n, 1, 4), "float32")
    for i, o, j in T.grid(n, 1, 4):
        C[i, o, j] = A[i, o * 2 + j] * 2.0


KERNELS = {
    greatest_of_row: lambda a, w: a[:, :2].max(1, keepdims=True),
    sum_of_row: lambda a, w: a[:, :2].sum(1, keepdims=True),
    weighted_row: lambda a, w: (a[:, :2] * w).sum(1, keepdims=True),
    shifted_rows: lambda a, w: a[:, None, :4] * 2,
}
SHAPES = {greatest_of_row: (3, 5, 4), sum_of_row: (3, 5), weighted_row: (3, 5), shifted_rows: (3, 7)}


@pytest.mark.parametrize("target", sampled(LEVELS, 3))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_windows_of_kernels(kernel, target):
    rng = np.random.default_rng(0)
    a, w = rng.standard_normal(SHAPES[kernel]).astype(np.float32), rng.standard_normal(2).astype(np.float32)
    want = KERNELS[kernel](a, w)
    given = [a, w] if kernel is weighted_row else [a]
    found = legato.compile(kernel, target)(*given)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", sampled(range(12), 2))
def test_random_models(seed):
    model = random_model(seed)
    found = legato.compile(legato.from_onnx(model.model), LEVELS[seed % len(LEVELS)])(model.array)
    np.testing.assert_allclose(found, model.expected(), rtol=2e-4, atol=2e-5, err_msg=str(model.steps))
