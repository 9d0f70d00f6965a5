"""Windows larger than their padded axis: pools give one output where they exceed it by less than a stride, as onnxruntime and ONNX's shape
inference say, and where the axis is symbolic they do so in ceil mode; else a call or the compile says that the window is larger."""
from random import Random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_check import reference
from thoroughly import first_of

import legato

OPS = ("MaxPool", "AveragePool", "LpPool", "Conv")


def window(seed: int) -> tuple[onnx.ModelProto, list[np.ndarray], int]:
    """A model of one window op on a short axis, its inputs, and by how much the window exceeds the padded axis."""
    rng = Random(seed)
    op, size, stride, dilation = rng.choice(OPS), rng.randint(1, 3), rng.randint(1, 4), rng.choice((1, 1, 2))
    kernel = rng.randint(2, 5)
    extent = (kernel - 1) * dilation + 1
    begin, end = rng.randint(0, 1), rng.randint(0, 1)
    attributes = {"strides": [stride], "dilations": [dilation], "pads": [begin, end], "kernel_shape": [kernel]}
    if op in ("MaxPool", "AveragePool"):
        attributes["ceil_mode"] = rng.randint(0, 1)
    if op == "AveragePool":
        attributes["count_include_pad"] = rng.randint(0, 1)
    numbers = np.random.default_rng(seed)
    arrays = [numbers.standard_normal((2, 3, size)).astype(np.float32)]
    if op == "Conv":
        arrays.append(numbers.standard_normal((4, 3, kernel)).astype(np.float32))
    names = ["x", "w"][:len(arrays)]
    free = [2, 3, "n"] if rng.random() < 0.5 else [2, 3, size]
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in zip(names, (free, [4, 3, kernel]))]
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **attributes)], "g", given, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    return model, arrays, extent - size - begin - end


@pytest.mark.parametrize("part", first_of(range(4)))
def test_windows_on_short_axes(part):
    seen, wrong = 0, []
    for seed in range(part * 30, part * 30 + 30):
        model, arrays, excess = window(seed)
        attributes = {a.name: helper.get_attribute_value(a) for a in model.graph.node[0].attribute}
        case = f"{seed}: {model.graph.node[0].op_type} {arrays[0].shape} {attributes}"
        stride = attributes["strides"][0]
        try:
            found = legato.compile(legato.from_onnx(model))(*arrays)
        except legato.LegatoError as error:
            fits = excess <= (0 if model.graph.node[0].op_type == "Conv" else stride)
            if fits or "larger than spatial axis 0" not in str(error):
                wrong.append(f"{case}: {error}")
            continue
        except ValueError as error:
            if excess <= 0 or (attributes.get("ceil_mode") and excess < stride) or ">= " not in str(error):
                wrong.append(f"{case}: {error}")
            continue
        seen += excess > 0
        expected = reference(model, dict(zip(("x", "w"), arrays)))[0]
        if found.shape != expected.shape or not np.allclose(found, expected, rtol=1e-5, atol=1e-5):
            wrong.append(f"{case}: {found.tolist()}, not {expected.tolist()}")
    assert not wrong, "\n".join(wrong)
    assert seen > 3


@pytest.mark.parametrize(("op", "attributes"), [
    ("Conv", {"strides": [1 << 40]}), ("Conv", {"dilations": [1 << 62]}), ("Conv", {"pads": [1 << 62, 0]}),
    ("ConvTranspose", {"strides": [1 << 31]}), ("MaxPool", {"strides": [1 << 62], "kernel_shape": [1]}),
    ("AveragePool", {"kernel_shape": [1 << 40], "pads": [0, (1 << 31) - 1]}),
])
def test_windows_beyond_numbers(op, attributes):
    """They ended in messages of upstream's passes, and an AveragePool counted its elements one by one."""
    names = ["x"] if op.endswith("Pool") else ["x", "w"]
    shapes = ([1, 2, 4], [2, 2, 1])
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in zip(names, shapes)]
    graph = helper.make_graph([helper.make_node(op, names, ["y"], name="layer7", **attributes)], "g", given,
                              [helper.make_empty_tensor_value_info("y")])
    with pytest.raises(legato.LegatoError, match=r"layer7 .*expected (values below|less than) 2\*\*31"):
        legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10))


@pytest.mark.parametrize("target", ["llvm{cpu=x86-64}", "llvm"])
def test_strided_windows_that_cover_the_innermost_axis_of_two_results(target):
    """Channels first, as a result that both branches read keeps them: the innermost loop of the pool steps by 2."""
    pool = {"kernel_shape": [3, 1, 2], "pads": [2, 0, 0, 2, 0, 0], "strides": [2, 1, 2], "count_include_pad": 1}
    branches = {f"{side}_branch": helper.make_graph([helper.make_node("Max", ["t", "t"], [side])], side, [],
                                                    [helper.make_empty_tensor_value_info(side)]) for side in ("then", "else")}
    nodes = [helper.make_node("AveragePool", ["x"], ["t"], **pool), helper.make_node("If", ["c"], ["y"], **branches)]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8, 7, 1, 5]),
             helper.make_tensor_value_info("c", TensorProto.BOOL, [])]
    graph = helper.make_graph(nodes, "g", given, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    x = np.random.default_rng(0).standard_normal((2, 8, 7, 1, 5)).astype(np.float32)
    found = legato.compile(legato.from_onnx(model), target)(x, np.array(True))
    np.testing.assert_allclose(found, reference(model, {"x": x, "c": np.array(True)})[0], rtol=1e-6, atol=1e-6)
