"""Compile time grows with the model, not with its square: CPU time of models of one kind, at a size and at four times that."""
import time
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import legato

TIMES = 4
GROWTH = 7  # linear is 4, the square 16
FLOOR = 0.1  # seconds: what a process's other work can hide


def chain(count: int) -> onnx.ModelProto:
    """Tanh and Add in turns, each of which reads the one before and the input."""
    nodes = [helper.make_node(*(("Tanh", [f"t{i}"]) if i % 2 else ("Add", [f"t{i}", "t0"])), [f"t{i + 1}"]) for i in range(count)]
    return model(nodes, ["t0"], f"t{count}", [2, 8])


def many_inputs(count: int) -> onnx.ModelProto:
    """The sum of as many inputs."""
    names = [f"x{i}" for i in range(count)]
    nodes = [helper.make_node("Add", [names[0] if i == 1 else f"s{i - 1}", names[i]], [f"s{i}"]) for i in range(1, count)]
    return model(nodes, names, f"s{count - 1}", [2, 8])


def many_calls(count: int) -> onnx.ModelProto:
    """Products with as many weights, one after the other: calls that share a kernel."""
    nodes = [helper.make_node("MatMul", [f"t{i}", f"w{i}"], [f"t{i + 1}"]) for i in range(count)]
    weights = [onnx.numpy_helper.from_array(np.full((8, 8), i / 8 / count, np.float32), f"w{i}") for i in range(count)]
    return model(nodes, ["t0"], f"t{count}", [2, 8], weights)


def concat(count: int) -> onnx.ModelProto:
    """A concatenation of as many inputs."""
    names = [f"x{i}" for i in range(count)]
    return model([helper.make_node("Concat", names, ["y"], axis=0)], names, "y", [2 * count, 8])


def model(nodes: list[onnx.NodeProto], inputs: list[str], output: str, shape: list[int],
          weights: list[onnx.TensorProto] | None = None) -> onnx.ModelProto:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 8]) for name in inputs]
    result = helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "linear", values, [result], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def parts(build: Callable[[int], onnx.ModelProto], count: int) -> dict[str, float]:
    """CPU seconds of the import and of each stage."""
    proto = build(count)
    begin = time.process_time()
    module = legato.from_onnx(proto)
    taken, last = {"import": time.process_time() - begin}, time.process_time()

    def note(stage: str, _: float) -> None:
        nonlocal last
        taken[stage], last = time.process_time() - last, time.process_time()

    legato.compile(module, progress=note)
    return taken


@pytest.mark.parametrize(("build", "count"), [(chain, 1000), (many_inputs, 200), (many_calls, 200), (concat, 100)])
def test_compile_time_is_linear(build: Callable[[int], onnx.ModelProto], count: int):
    parts(build, 8)  # imports what is imported at first use
    steep: set[str] = set()
    for attempt in range(3):  # a stage that is not linear is steep every time, one that other processes delayed is not
        small, large = parts(build, count), parts(build, count * TIMES)
        found = {stage for stage in large if large[stage] > GROWTH * (small[stage] + FLOOR / TIMES)}
        steep = found if attempt == 0 else steep & found
        if not steep:
            return
    raise AssertionError(f"compile time grows faster than the model in {', '.join(sorted(steep))}")
