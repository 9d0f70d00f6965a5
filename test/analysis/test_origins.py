"""A kernel's graph ops, by the model's names, at every stage of both targets."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import legato
from legato.analysis.origins import kernel_origins
from legato.targets.catalog import Catalog

NAMES = {"/conv", "/relu", "/conv2", "/relu2", "/fc", "/softmax"}


def model() -> legato.Module:
    """Two equal convolutions with relu, which share a kernel, a matmul and a softmax."""
    weights = [numpy_helper.from_array(np.random.default_rng(0).standard_normal(shape).astype(np.float32), name)
               for name, shape in (("w", (4, 4, 3, 3)), ("w2", (4, 4, 3, 3)), ("m", (256, 5)))]
    pads = {"pads": [1, 1, 1, 1]}
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], name="/conv", **pads), helper.make_node("Relu", ["a"], ["b"], name="/relu"),
             helper.make_node("Conv", ["b", "w2"], ["c"], name="/conv2", **pads), helper.make_node("Relu", ["c"], ["d"], name="/relu2"),
             helper.make_node("Flatten", ["d"], ["e"], name="/flat"), helper.make_node("MatMul", ["e", "m"], ["f"], name="/fc"),
             helper.make_node("Softmax", ["f"], ["y"], name="/softmax")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4, 8, 8))],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 5))], weights)
    return legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))


@pytest.mark.parametrize("target", ["llvm", "nvvm"])
def test_every_stage_says_what_its_kernels_are_for(target):
    module, first = model(), None
    for stage in [name for name, _ in Catalog().resolve(target).pipeline()]:
        module, first = legato.lower(module, target, from_stage=first, last=stage), stage
        if stage == "relax":
            continue
        found = kernel_origins(module.module)
        assert {name for kernel in found.values() for _, name in kernel} >= NAMES, stage
        if stage != "legalized":
            shared = next(kernel for kernel in found.values() if ("relax.conv2d", "/conv") in kernel)
            assert shared == [("relax.conv2d", "/conv"),
                              ("relax.relu", "/relu"), ("relax.conv2d", "/conv2"), ("relax.relu", "/relu2")], stage
