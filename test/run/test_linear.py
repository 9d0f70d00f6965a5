"""Compiling takes work in proportion to the model: in each stage, the lines of Python that run and the ops that are left, for a size and
four times that.

Lines are counted, not time: their number is the same in every run. Work of upstream's passes is seen only in the ops that they leave, and
the native stage, which is LLVM's, is left out.
"""
import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from thoroughly import thorough

import legato
from legato.core.mlir import ir
from legato.driver import lower
from legato.stages import stages_of
from legato.targets.catalog import Catalog

BASE, SIZE, TIMES = 8, 64, 4  # the work at BASE is that of any model: it is subtracted from the others
LINEAR = (TIMES * SIZE - BASE) / (SIZE - BASE)
GROWTH = 1.25 * LINEAR  # a part that grows with the square passes this bound where it is a tenth of the linear part at SIZE
FEW = {"lines": 2000, "ops": 50}  # what a kernel more or less makes


def chain(count: int) -> onnx.ModelProto:
    """Tanh and Add in turns, each of which reads the one before and the input."""
    nodes = [helper.make_node(*(("Tanh", [f"t{i}"]) if i % 2 else ("Add", [f"t{i}", "t0"])), [f"t{i + 1}"]) for i in range(count)]
    return model(nodes, ["t0"], f"t{count}", [2, 8])


def branches(count: int) -> onnx.ModelProto:
    """Products that two others read, the sums of which the next product reads: little of it is fused."""
    nodes = []
    for i in range(0, count, 4):
        nodes += [helper.make_node("MatMul", [f"t{i}", "w"], [f"a{i}"]), helper.make_node("MatMul", [f"a{i}", "w"], [f"b{i}"]),
                  helper.make_node("Softmax", [f"a{i}"], [f"c{i}"]), helper.make_node("Add", [f"b{i}", f"c{i}"], [f"t{i + 4}"])]
    return model(nodes, ["t0"], f"t{count}", [2, 8], [onnx.numpy_helper.from_array(np.full((8, 8), 1 / 8, np.float32), "w")])


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


def readers(count: int) -> onnx.ModelProto:
    """Products with the result of one product, one after the other."""
    return _with("a", [helper.make_node("MatMul", ["x", "w"], ["a"])], count)


def readers_of_view(count: int) -> onnx.ModelProto:
    """Products with another shape of the result of one product."""
    return _with("a", [helper.make_node("MatMul", ["x", "flat"], ["b"]), helper.make_node("Reshape", ["b", "shape"], ["a"])], count)


def readers_of_input(count: int) -> onnx.ModelProto:
    """Products with an input."""
    return _with("x", [], count)


def _with(factor: str, first: list[onnx.NodeProto], count: int) -> onnx.ModelProto:
    """A chain of ``count`` products with one factor, of 8 x 8 numbers."""
    nodes = [*first, *(helper.make_node("MatMul", [f"t{i}", factor], [f"t{i + 1}"]) for i in range(count))]
    initial = {"w": np.full((8, 8), 1 / 8, np.float32), "flat": np.full((8, 8), 1 / 8, np.float32), "shape": np.array([8, 8])}
    weights = [onnx.numpy_helper.from_array(value, name) for name, value in initial.items()]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [8, 8]), ("t0", [2, 8]))]
    result = helper.make_tensor_value_info(f"t{count}", TensorProto.FLOAT, [2, 8])
    return helper.make_model(helper.make_graph(nodes, "linear", values, [result], weights), opset_imports=[helper.make_opsetid("", 17)])


def kernels(count: int) -> onnx.ModelProto:
    """Sums of rows, of another number of rows or planes each: as many kernels, of one schedule. None has many rows, which threads share."""
    nodes = [helper.make_node("ReduceSum", [f"x{i}", "axes"], [f"y{i}"], keepdims=0) for i in range(count)]
    shapes = [[2 + i // 16, 2 + i % 16] for i in range(count)]
    values = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, [*shape, 8]) for i, shape in enumerate(shapes)]
    axes = onnx.numpy_helper.from_array(np.array([2]), "axes")
    results = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, shape) for i, shape in enumerate(shapes)]
    return helper.make_model(helper.make_graph(nodes, "linear", values, results, [axes]), opset_imports=[helper.make_opsetid("", 17)])


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


@dataclass(frozen=True)
class Work:
    """What a stage did: ``lines`` of Python that ran, iterations of comprehensions included, and ``ops`` that it left."""

    lines: int
    ops: int


def work(build: Callable[[int], onnx.ModelProto], count: int) -> dict[str, Work]:
    """The work of the import and of each stage for the model of a size."""
    proto, ran = build(count), 0

    def line(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        nonlocal ran
        ran += 1
        return line

    done: dict[str, Work] = {}
    before = sys.gettrace()
    gc.collect()
    gc.disable()  # what else was left by other tests is not finalized in here
    sys.settrace(line)
    try:
        module = legato.from_onnx(proto)
        done["import"] = Work(ran, 0)
        first = None
        for stage, _ in stages_of(Catalog().resolve("llvm"), None, None, False):
            started = ran
            module = lower(module, "llvm", from_stage=first, last=stage)
            lines, first = ran - started, stage
            sys.settrace(None)
            done[stage] = Work(lines, ops_in(module.module))
            sys.settrace(line)
    finally:
        sys.settrace(before)
        gc.enable()
    return done


def ops_in(module: ir.Module) -> int:
    """The number of ops in a module."""
    count = 0

    def visit(_: ir.Operation) -> ir.WalkResult:
        nonlocal count
        count += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return count


MODELS = [chain, branches, many_inputs, concat, readers]


@pytest.mark.parametrize("build", [*MODELS, *thorough([readers_of_view, readers_of_input, kernels, many_calls])])
def test_work_is_linear(build: Callable[[int], onnx.ModelProto]):
    work(build, BASE)  # the first run imports modules and fills caches
    least, small, large = (work(build, count) for count in (BASE, SIZE, TIMES * SIZE))
    steep = []
    for stage in large:
        for what, few in FEW.items():
            of = [getattr(done[stage], what) for done in (least, small, large)]
            if of[2] - of[0] > GROWTH * (of[1] - of[0]) + few:
                steep.append(f"{what} of {stage}: {of}")
    assert not steep, f"for {BASE}, {SIZE} and {TIMES * SIZE} nodes"
