"""Profiles of models for GPUs: kernels timed by events of the CUDA driver (its stand-in), and by timestamps of a Vulkan device."""
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import test_onnx_loops as loops
from device_tensors import on_device
from standin import TARGET, compiled, driver, prepared
from vulkan_driver import needs_vulkan

import legato
from legato.codegen.jit import jit
from legato.runtime.cuda_device import cuda_figures

pytest.importorskip("llvmlite")

X = 'tensor<?x8xf32, #relax.dims<["n", 8]>>'
Y = 'tensor<?x6xf32, #relax.dims<["n", 6]>>'
S = 'tensor<?xf32, #relax.dims<["n"]>>'
MODEL = f"""func.func @main(%x: {X} {{relax.name = "x"}}, %w: tensor<8x6xf32> {{relax.name = "w"}}) -> ({Y}, {S}) {{
  %0 = "relax.matmul"(%x, %w) : ({X}, tensor<8x6xf32>) -> {Y} loc("dense")
  %1 = "relax.sum"(%0) {{axis = array<i64: 1>}} : ({Y}) -> {S} loc("total")
  return %0, %1 : {Y}, {S}
}}"""
N = 40


@pytest.fixture(scope="module")
def lowered():
    return prepared(legato.Module.parse(MODEL))


def operands():
    random = np.random.default_rng(0)
    return random.standard_normal((N, 8), np.float32), random.standard_normal((8, 6), np.float32)


def check(found, device):
    """Layers by the model's names, with their work; times that follow each other, within the run."""
    dense, total = found.calls
    assert (dense.ops, total.ops) == (("relax.matmul dense",), ("relax.sum total",))
    assert (dense.flops, dense.bytes) == (N * 6 * 8 * 2, 4 * (N * 8 + 8 * 6 + N * 6)) and total.flops == N * 6
    assert [call.count for call in found.calls] == [1, 1] and found.symbols == {"n": N} and device in found.device
    assert 0 < dense.seconds and 0 < total.seconds and dense.seconds + total.seconds < found.seconds
    assert [number for number, _, _ in found.events] == [0, 1]
    times = [time for _, *both in found.events for time in both]
    assert times == sorted(times)
    assert f"on {found.device}, n = {N}" in str(found) and found.json()["device"] == found.device
    assert [event["name"] for event in found.chrome_trace()["traceEvents"]] == ["relax.matmul dense", "relax.sum total"]


def test_cuda(lowered, nothing_is_left):
    """With host arrays and tensors of the device; peaks are those of the device. A model that nobody profiles records no event."""
    exe = jit(lowered.module, lowered.weights)
    x, w = operands()
    for given in ((x, w), (on_device(x), on_device(w))):
        found = legato.profile(exe, *given, runs=4, warmup=1)
        check(found, "Stand-in 0")
        assert found.peaks is not None
        assert round(found.peaks.gflops) == 19492 and round(found.peaks.bandwidth) == 1555      # an A100's, as NVIDIA has them
    before = driver().standin_calls(b"cuEventRecord")
    exe(x, w)
    assert driver().standin_calls(b"cuEventRecord") == before
    del found, given


def test_a_driver_that_tells_no_clock(lowered, nothing_is_left, monkeypatch):
    """There are times, and no percentages."""
    monkeypatch.setattr("legato.profiling.cuda_figures", lambda: replace(cuda_figures(), bandwidth=0.0))
    found = legato.profile(jit(lowered.module, lowered.weights), *operands(), runs=2)
    check(found, "Stand-in 0")
    assert found.peaks is None


@pytest.mark.parametrize("name,nth,match", [("cuEventCreate", 4, "recording the time on the device failed"),
                                            ("cuEventRecord", 2, "recording the time on the device failed"),
                                            ("cuEventElapsedTime", 3, "reading the times of kernels failed"),
                                            ("cuLaunchKernel", 2, "launching the kernel .* for relax.sum total")])
def test_a_recorded_call_that_fails(lowered, nothing_is_left, name, nth, match):
    exe = jit(lowered.module, lowered.weights)
    driver().standin_fail(name.encode(), nth, 1)
    with pytest.raises(RuntimeError, match=match):
        legato.profile(exe, *operands(), runs=2)
    driver().standin_reset()
    check(legato.profile(exe, *operands(), runs=2, peaks=False), "Stand-in 0")


def test_a_call_in_a_loop(nothing_is_left):
    """A recurrent layer: each step's calls have their own times."""
    proto, arrays = loops.layer("RNN", 14)
    exe = compiled(legato.from_onnx(proto, shapes={"x": ["steps", 3, 5]}))
    found = legato.profile(exe, *arrays.values(), runs=2, peaks=False)
    assert {call.count for call in found.calls} == {1, loops.STEPS}
    assert [begin for _, begin, _ in found.events] == sorted(begin for _, begin, _ in found.events)
    del exe, found


def test_the_command_line_on_a_saved_model(lowered, tmp_path):
    exe = legato.compile(legato.Module.parse(MODEL), TARGET)
    path = exe.save(tmp_path / "model.legato")
    command = [sys.executable, "-m", "legato.tools.legato_run", str(path), "--random", "--dim", f"n={N}", "--profile", "json"]
    ran = subprocess.run([*command, "--bench", "2", "--trace", str(tmp_path / "trace.json")], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["device"] == "Stand-in 0" and [call["ops"] for call in found["calls"]] == [["relax.matmul dense"], ["relax.sum total"]]
    assert [event["ph"] for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]] == ["X", "X"]


@needs_vulkan
def test_vulkan(tmp_path):
    """Compiled and loaded; calls that nobody measures use other recordings of the launches."""
    exe = legato.compile(legato.Module.parse(MODEL), "vulkan")
    x, w = operands()
    y = exe(x, w)[0]
    exe.save(tmp_path / "model.legato")
    for one in (exe, legato.load(tmp_path / "model.legato")):
        found = legato.profile(one, x, w, runs=4, warmup=1)
        assert found.device and found.peaks is None
        check(found, found.device)
        np.testing.assert_array_equal(one(x, w)[0], y)
