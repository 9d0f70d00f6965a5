"""A user's kernel in the place of an op of an imported model."""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import legato
from legato.script import tir as T

F = np.float32


def model():
    rng = np.random.default_rng(0)
    w = onnx.numpy_helper.from_array((rng.random((8, 3, 3, 3)) - 0.5).astype(F), "w")
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="/layer1/conv1/Conv"),
             helper.make_node("Relu", ["c"], ["r"], name="/layer1/Relu"),
             helper.make_node("Softmax", ["r"], ["y"], name="/Softmax", axis=1)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 10, 10])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 8, 8])], [w])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@T.prim_func
def my_conv(X: T.Buffer((1, 3, 10, 10), "float32"), W: T.Buffer((8, 3, 3, 3), "float32"), Y: T.Buffer((1, 8, 8, 8), "float32")):
    for f, h, w, c, kh, kw in T.grid(8, 8, 8, 3, 3, 3):
        with T.block("conv"):
            vf, vh, vw, vc, vkh, vkw = T.axis.remap("SSSRRR", [f, h, w, c, kh, kw])
            with T.init():
                Y[0, vf, vh, vw] = 0.0
            Y[0, vf, vh, vw] = Y[0, vf, vh, vw] + X[0, vc, vh + vkh, vw + vkw] * W[vf, vc, vkh, vkw]


@T.prim_func
def my_relu(X: T.Buffer(("a", "b", "c", "d"), "float32"), Y: T.Buffer(("a", "b", "c", "d"), "float32")):
    a, b, c, d = T.int64(), T.int64(), T.int64(), T.int64()
    for i, j, k, m in T.grid(a, b, c, d):
        with T.block("Y"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [i, j, k, m])
            Y[v0, v1, v2, v3] = T.max(X[v0, v1, v2, v3], 0.0)


@pytest.mark.parametrize(("what", "kernel"), [
    ("/layer1/conv1/Conv", my_conv), ("relax.relu", my_relu), (lambda op: op.name == "relax.relu", my_relu)])
def test_replaced_op_agrees_with_onnxruntime(what, kernel):
    replaced = legato.replace(legato.from_onnx(model().SerializeToString()), what, kernel)
    assert f"call @{kernel.__name__}" in str(replaced)
    x = np.random.rand(1, 3, 10, 10).astype(F)
    want, = onnxruntime.InferenceSession(model().SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(legato.compile(replaced)(x), np.asarray(want), rtol=1e-4, atol=1e-6)


def test_what_cannot_be_replaced():
    m = legato.from_onnx(model().SerializeToString())
    with pytest.raises(legato.LegatoError, match="no op is '/layer9'; the model's ops are: /layer1/conv1/Conv, /layer1/Relu"):
        legato.replace(m, "/layer9", my_conv)
    with pytest.raises(legato.LegatoError, match=r'relax.softmax "/Softmax" cannot be done by the kernel .my_conv.: .* takes 2 tensors'):
        legato.replace(m, "/Softmax", my_conv)
