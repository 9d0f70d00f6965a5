"""Sizes, branches and loops that depend on data, on a Vulkan device: the host reads a number, and plans on."""
import dataclasses
import subprocess
import sys

import numpy as np
import onnx
import pytest
import test_onnx_loops as loops
from data_sizes import INPUTS, MODEL, best_of_some, boxes, check, rows_and_places
from onnx import TensorProto, helper
from onnx_check import assert_same, model, reference, value
from thoroughly import thorough
from vulkan_driver import needs_vulkan

import legato
from legato.runtime.vulkan.device import VulkanDevice, the_device

pytestmark = needs_vulkan


@pytest.fixture(scope="module")
def counted():
    return legato.compile(legato.Module.parse(MODEL), "vulkan")


@pytest.fixture
def submitted(monkeypatch):
    """What is submitted to the device, in order."""
    found, submit = [], VulkanDevice.submit
    monkeypatch.setattr(VulkanDevice, "submit", lambda device, commands, done: (found.append(commands), submit(device, commands, done))[1])
    return found


def test_results_have_the_sizes_that_were_counted(counted):
    assert [list(one.shape) for one in counted.outputs] == [[1, "k"], [1, "k"], ["n"]]
    for x in map(np.float32, [*INPUTS, *INPUTS[::-1]]):
        check(counted(x), x)


def test_one_wait_for_each_size(counted, submitted):
    """And what is submitted before it is kept."""
    for x in map(np.float32, ([1, 0, 1], [0, 0, 1], [1, 1, 1])):
        check(counted(x), x)
    assert len(submitted) == 6 and submitted[0] == submitted[2] == submitted[4]


def test_a_model_without_such_sizes_is_one_submission(submitted):
    proto, arrays = loops.layer("GRU", 14, "forward")
    exe = legato.compile(legato.from_onnx(proto, shapes={"x": ["steps", 3, 5]}), "vulkan")
    for _ in range(3):
        assert_same(list(exe(**arrays)), reference(proto, arrays))
    assert len(submitted) == 3 and len(set(submitted)) == 1


def test_saved_and_loaded(counted, tmp_path):
    counted.save(tmp_path / "counted.legato")
    code = ("import numpy, sys, legato; exe = legato.load('counted.legato'); assert 'torch_mlir' not in sys.modules; "
            "numpy.savez('y.npz', *exe(numpy.float32([0, 3, 0, 4])))")
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    with np.load(tmp_path / "y.npz") as found:
        check([found[name] for name in found.files], np.float32([0, 3, 0, 4]))


@pytest.mark.parametrize("build", [boxes, best_of_some, *thorough([rows_and_places])], ids=lambda build: build.__name__)
def test_models(build):
    proto, arrays = build()
    results = legato.compile(legato.from_onnx(proto), "vulkan")(**arrays)
    assert_same(list(results) if isinstance(results, tuple) else [results], reference(proto, arrays))


def halving():
    """x is halved while its sum exceeds a limit, at most m times; how often, and the sums on the way, are results."""
    def typed(name, type_, shape):
        return helper.make_tensor_value_info(name, type_, shape)

    nodes = [helper.make_node("Mul", ["state", "half"], ["next"]), helper.make_node("ReduceSum", ["next"], ["sum"], keepdims=0),
             helper.make_node("Greater", ["sum", "limit"], ["more"]), helper.make_node("Add", ["count", "one"], ["counted"])]
    body = helper.make_graph(nodes, "body", [typed("i", TensorProto.INT64, []), typed("go", TensorProto.BOOL, []),
                                             typed("state", TensorProto.FLOAT, ["n"]), typed("count", TensorProto.INT64, [])],
                             [typed("more", TensorProto.BOOL, []), typed("next", TensorProto.FLOAT, ["n"]),
                              typed("counted", TensorProto.INT64, []), typed("sum", TensorProto.FLOAT, [])])
    outer = helper.make_node("Loop", ["m", "yes", "x", "zero"], ["y", "times", "sums"], body=body)
    constants = {"half": np.float32(0.5), "one": np.int64(1), "zero": np.int64(0), "yes": np.bool_(True)}
    arrays = {"x": np.float32([5, 6, 7]), "m": np.array(20), "limit": np.array(1, np.float32)}
    inputs = [value("x", arrays["x"], ["n"]), value("m", arrays["m"]), value("limit", arrays["limit"])]
    return model([outer], inputs, ["y", "times", "sums"], 17, constants), arrays


def test_loops_whose_ends_are_data():
    proto, arrays = halving()
    exe = legato.compile(legato.from_onnx(proto), "vulkan")
    for changed in ({}, {"m": np.array(2)}, {"m": np.array(0)}, {"limit": np.array(100, np.float32)}, {"x": np.float32([50] * 7)}):
        given = {**arrays, **changed}
        assert_same(list(exe(**given)), reference(proto, given))


def test_branches():
    proto = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        main (float[n] x, float[n] w) => (float[m] y) {
          s = ReduceSum <keepdims = 0> (x)
          t = ReduceSum <keepdims = 0> (w)
          c = Greater (s, t)
          y = If (c) <then_branch = one () => (float[a] a) { a = Add (x, w) },
                      else_branch = other () => (float[b] b) { b = Concat <axis = 0> (x, w) }>
        }""")
    exe = legato.compile(legato.from_onnx(proto), "vulkan")
    for x, w in (([1, 2], [3, 4]), ([3, 4], [1, 2])):
        given = {"x": np.float32(x), "w": np.float32(w)}
        assert_same([exe(**given)], reference(proto, given))


def test_requirements_on_sizes_that_were_counted():
    """Two counts that have to be equal."""
    one, other = ('tensor<1x?xi64, #relax.dims<[1, "k"]>>', 'tensor<1x?xi64, #relax.dims<[1, "l"]>>')
    exe = legato.compile(legato.Module.parse(f"""func.func @main(%x: tensor<4xf32>, %w: tensor<4xf32>) -> {one} {{
      %0 = "relax.nonzero"(%x) {{size = "k"}} : (tensor<4xf32>) -> {one}
      %1 = "relax.nonzero"(%w) {{size = "l"}} : (tensor<4xf32>) -> {other}
      %2 = "relax.add"(%0, %1) : ({one}, {other}) -> {one}
      return %2 : {one} }}"""), "vulkan")
    x, w = np.float32([0, 1, 0, 1]), np.float32([1, 1, 0, 0])
    np.testing.assert_array_equal(exe(x, w), [[1, 4]])
    with pytest.raises(ValueError, match=r"main cannot run on these sizes: .*expected \d, found \d"):
        exe(x, np.float32([1, 1, 1, 0]))
    np.testing.assert_array_equal(exe(x, w), [[1, 4]])     # nothing is lost


def test_profiles(counted):
    found = legato.profile(counted, np.float32([1, 0, 1])).json()
    assert any("nonzero" in str(call) for call in found["calls"])


def test_memory_that_the_device_does_not_have(counted, monkeypatch):
    x, device = np.ones(400, np.float32), the_device()
    monkeypatch.setattr(device, "limits", dataclasses.replace(device.limits, buffer=2000))
    fresh = legato.compile(legato.Module.parse(MODEL), "vulkan")
    with pytest.raises(Exception, match=r"takes 3968 bytes, and one buffer on the device .* can have 2000"):
        fresh(x)
    check(fresh(x[:20]), x[:20])
