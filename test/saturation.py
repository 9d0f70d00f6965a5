"""Products of u8 by i8 in onnxruntime: without VNNI its kernels add pairs of them in 16 bits, which saturate."""
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

PRODUCTS = ("ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul")


@cache
def saturates() -> bool:
    """Whether onnxruntime's products saturate on this CPU."""
    a = helper.make_tensor_value_info("a", TensorProto.UINT8, (4, 64))
    b = helper.make_tensor_value_info("b", TensorProto.INT8, (64, 16))
    y = helper.make_tensor_value_info("y", TensorProto.INT32, (4, 16))
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], "g", [a, b], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8)
    found = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(
        None, {"a": np.full((4, 64), 255, np.uint8), "b": np.full((64, 16), 127, np.int8)})[0]
    return bool((np.asarray(found) != 255 * 127 * 64).any())


def exact(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> list[Any] | None:
    """What onnx's reference computes for a model with products that onnxruntime gets wrong here; None for others."""
    if saturates() and any(node.op_type in PRODUCTS for node in model.graph.node):
        return list(ReferenceEvaluator(model).run(None, dict(inputs)))
    return None
