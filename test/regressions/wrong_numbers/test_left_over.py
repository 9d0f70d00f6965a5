"""Sizes that only a call knows and that are divided: what is left over is an error of the call, as in onnxruntime; it was lost."""
from dataclasses import dataclass, field

import numpy as np
import onnxruntime
import pytest
from onnx import helper
from onnx_check import model, value
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

import legato


@dataclass(frozen=True)
class Division:
    """A node on x of these sizes; ``fits``, ``wrong``: the sizes of calls; ``match``: what the error says."""

    op: str
    sizes: list
    fits: list
    wrong: list
    match: str
    attributes: dict = field(default_factory=dict)
    constants: dict = field(default_factory=dict)
    outputs: int = 1
    opset: int = 17


CASES = {
    "Reshape": Division("Reshape", ["n"], [(8,), (0,)], [(6,), (1,)], "the number of elements of x", constants={"s": np.array([-1, 4])}),
    "Reshape of two sizes": Division("Reshape", ["n", "m"], [(2, 6), (4, 3)], [(2, 3), (1, 1)], "the number of elements of x",
                                     constants={"s": np.array([2, -1, 2])}),
    "SpaceToDepth": Division("SpaceToDepth", ["b", 3, "h", "w"], [(1, 3, 4, 6)], [(1, 3, 5, 4), (2, 3, 2, 3)], "the (height|width) of x",
                             {"blocksize": 2}),
    "DepthToSpace": Division("DepthToSpace", ["b", "c", 2, "w"], [(1, 8, 2, 3)], [(1, 6, 2, 2), (1, 3, 2, 1)], "the channels of x",
                             {"blocksize": 2}),
    "Split": Division("Split", ["n", 3], [(4, 3), (6, 3)], [(5, 3), (1, 3)], "to split into 2 equal parts", outputs=2),
    "Split into listed parts": Division("Split", ["n", 3], [(5, 3)], [(4, 3), (6, 3)], "parts of 2, 3 to make n",
                                        constants={"s": np.array([2, 3])}, outputs=2),
}


def compiled(case):
    outputs = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op, ["x", *case.constants], outputs, **case.attributes)
    proto = model([node], [value("x", np.zeros(1, np.float32), case.sizes)], outputs, constants=case.constants, opset=case.opset)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString(), options)


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_over_is_an_error(name):
    case = CASES[name]
    exe, session = compiled(case)
    for shape in case.fits:
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        found = exe(x)
        for ours, theirs in zip(found if isinstance(found, tuple) else (found,), session.run(None, {"x": x}), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    for shape in case.wrong:
        x = np.zeros(shape, np.float32)
        with pytest.raises((Fail, InvalidArgument, RuntimeException)):
            session.run(None, {"x": x})
        with pytest.raises(ValueError, match=case.match):
            exe(x)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_last_part_may_be_smaller(count):
    """Since opset 18, ``num_outputs`` parts are equal but for the last."""
    case = Division("Split", ["n", 2], [], [], "", {"num_outputs": count}, outputs=count, opset=18)
    exe, session = compiled(case)
    for n in (4 * count, 4 * count - 1, count, 3 * count - 2):
        x = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
        for ours, theirs in zip(exe(x), session.run(None, {"x": x}), strict=True):
            np.testing.assert_array_equal(ours, theirs)


GUARDED = {
    "Reshape": ([helper.make_node("Reshape", ["x", "shape"], ["a"])], {"shape": np.array([-1, 4])}),
    "Split": ([helper.make_node("Split", ["x"], ["a", "unused"], axis=0)], {}),
    "SpaceToDepth": ([helper.make_node("Unsqueeze", ["x", "axes"], ["u"]), helper.make_node("Concat", ["u", "u"], ["v"], axis=2),
                      helper.make_node("SpaceToDepth", ["v"], ["a"], blocksize=2)], {"axes": np.array([0, 1, 2])}),
}


@pytest.mark.parametrize("name", GUARDED)
def test_a_branch_that_a_condition_on_the_size_guards(name):
    """The other branch runs where something would be left over."""
    none, (divided, constants) = helper.make_empty_tensor_value_info, GUARDED[name]
    rows = helper.make_graph([*divided, helper.make_node("ReduceSum", ["a"], ["t"], keepdims=0)], "rows", [], [none("t")])
    whole = helper.make_graph([helper.make_node("ReduceMax", ["x"], ["e"], keepdims=0)], "whole", [], [none("e")])
    nodes = [helper.make_node("Shape", ["x"], ["n"]), helper.make_node("Mod", ["n", "four"], ["rest"]),
             helper.make_node("Equal", ["rest", "zero"], ["fits"]), helper.make_node("Squeeze", ["fits"], ["c"]),
             helper.make_node("If", ["c"], ["y"], then_branch=rows, else_branch=whole)]
    proto = model(nodes, [value("x", np.zeros(1, np.float32), ["n"])], ["y"], opset=17,
                  constants={**constants, "four": np.array([4]), "zero": np.array([0])})
    exe, session = legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString())
    for n in (8, 6, 4, 1):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_array_equal(exe(x), session.run(None, {"x": x})[0])
