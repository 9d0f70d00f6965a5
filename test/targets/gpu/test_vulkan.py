"""Models and kernels on a Vulkan device: against numpy and onnxruntime, saved and loaded, static and symbolic."""
import os
import shutil
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest
import test_onnx_loops as loops
import test_onnx_region_requirements as region_requirements
from emulate import inputs
from interpret import relative_error
from onnx_check import assert_same, reference
from threads_kernels import REFERENCES
from vulkan_driver import needs_vulkan

import legato
from bench import light
from examples.minilm import model as minilm
from legato.codegen.spirv import binaries
from legato.runtime.vulkan.device import the_device
from legato.runtime.vulkan.plan import DevicePart, dense, regions

pytestmark = needs_vulkan
SIZES = {"n": 5, "m": 13, "k": 19}
ALL = "LEGATO_TEST_VULKAN_MODELS"     # set where all models are to be tested, which takes minutes
QUICK = ("shufflenet",)
CALLS_A_LIBRARY = ("device_function",)   # refused: test_vulkan_errors.py
ROWS = """func.func @main(%x: tensor<?x64xf32, #relax.dims<["n", 64]>> {relax.name = "x"}, %w: tensor<64x32xf32> {relax.name = "w"})
    -> tensor<?x32xf32, #relax.dims<["n", 32]>> {
  %0 = "relax.matmul"(%x, %w) : (tensor<?x64xf32, #relax.dims<["n", 64]>>, tensor<64x32xf32>) -> tensor<?x32xf32, #relax.dims<["n", 32]>>
  %1 = "relax.softmax"(%0) {axis = 1} : (tensor<?x32xf32, #relax.dims<["n", 32]>>) -> tensor<?x32xf32, #relax.dims<["n", 32]>>
  return %1 : tensor<?x32xf32, #relax.dims<["n", 32]>>
}"""


def rows(n, seed=0):
    """Arguments of ROWS, and what it gives."""
    random = np.random.default_rng(seed)
    x, w = random.standard_normal((n, 64), np.float32), random.standard_normal((64, 32), np.float32)
    e = np.exp((x @ w) - (x @ w).max(1, keepdims=True, initial=-np.inf))
    return x, w, e / e.sum(1, keepdims=True)


@pytest.fixture(scope="module")
def symbolic():
    return legato.compile(legato.Module.parse(ROWS), "vulkan")


@pytest.mark.parametrize("n", [1, 5, 300, 5, 0, 2000])
def test_one_compile_runs_all_sizes(symbolic, n):
    x, w, expected = rows(n, n)
    np.testing.assert_allclose(symbolic(x, w), expected, rtol=1e-5, atol=1e-7)


def test_many_sizes_are_recorded_and_dropped_again(symbolic):
    for n in [*range(1, 30), 3]:
        x, w, expected = rows(n)
        np.testing.assert_allclose(symbolic(x, w), expected, rtol=1e-5, atol=1e-7)


def test_arguments_are_checked_before_anything_runs(symbolic):
    x, w, _ = rows(3)
    with pytest.raises(ValueError, match="'w'"):
        symbolic(x, w[:, :4])
    with pytest.raises(TypeError, match="'x'"):
        symbolic(x.astype(np.float64), w)


@pytest.mark.parametrize("kernel", [k for k in REFERENCES if k.__name__ not in CALLS_A_LIBRARY], ids=lambda k: k.__name__)
def test_kernel_with_threads(kernel):
    """The kernels that the emulator runs: shared memory, barriers in loops, reductions over threads, vectors, launches in loops."""
    exe = legato.compile(kernel, "vulkan")
    arrays = inputs(exe, **SIZES)
    np.testing.assert_allclose(exe(*arrays), REFERENCES[kernel](*arrays), rtol=1e-5, atol=1e-5)


def feeds(path, **sizes):
    """An image, or tokens, for the model in a file, of these sizes (1 for others that have names), and what onnxruntime gives for it."""
    session = onnxruntime.InferenceSession(str(path))
    random = np.random.default_rng(0)
    given = {}
    for one in session.get_inputs():
        shape = [d if isinstance(d, int) else sizes.get(d, 1) for d in one.shape]
        tokens = one.type == "tensor(int64)"
        given[one.name] = random.integers(0, 2, shape) if tokens else random.standard_normal(shape, np.float32)
    return given, session.run(None, given)


def model(name, folder):
    """A model's file."""
    path = folder / f"{name}.onnx"
    if name == "minilm":
        minilm.save(path, minilm.build(1, 8))
        return path
    return light.save(name, path)


@pytest.mark.parametrize("name", ["minilm", *(light.NAMES if ALL in os.environ else QUICK)])
def test_whole_model(name, tmp_path):
    path = model(name, tmp_path)
    given, expected = feeds(path)
    found = legato.compile(legato.from_onnx(path), "vulkan")(**given)
    for one, wanted in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        assert np.ptp(np.asarray(wanted)) > 1e-3 * abs(np.asarray(wanted)).max()    # the model is alive
        assert relative_error(one, wanted) < 1e-4
    check_binaries(legato.lower(legato.from_onnx(path), "vulkan"), tmp_path)


def test_a_whole_model_of_unknown_sizes(tmp_path):
    path = tmp_path / "minilm.onnx"
    minilm.save(path, minilm.build())
    exe = legato.compile(legato.from_onnx(path), "vulkan")
    for batch, seq in ((1, 8), (3, 5)):
        given, (expected,) = feeds(path, batch=batch, seq=seq)
        assert abs(expected).max() > 0.1 and relative_error(exe(**given), expected) < 1e-4


def check_binaries(lowered, folder):
    """Every kernel is valid SPIR-V for Vulkan, by the validator of Khronos where it is installed."""
    found = binaries(lowered)
    assert found and all(code[:4] == b"\x03\x02\x23\x07" for code in found.values())
    if shutil.which("spirv-val"):
        for name, code in found.items():
            (folder / f"{name}.spv").write_bytes(code)
        for path in folder.glob("*.spv"):
            subprocess.run(["spirv-val", "--target-env", "vulkan1.1", str(path)], check=True, capture_output=True)


def test_saved_and_loaded_without_a_compiler(symbolic, tmp_path):
    """A new process, for any CPU: the host's code computes nothing but sizes."""
    symbolic.save(tmp_path / "rows.legato")
    assert "for x86-64, 1 thread" in legato.load(tmp_path / "rows.legato")._repr_html_()
    x, w, expected = rows(7)
    np.savez(tmp_path / "given.npz", x=x, w=w)
    code = ("import numpy, sys, legato; exe = legato.load('rows.legato'); given = dict(numpy.load('given.npz')); "
            "assert 'torch_mlir' not in sys.modules; numpy.save('y.npy', exe(**given))")
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=1e-5, atol=1e-7)


def test_weights_are_on_the_device_once(tmp_path):
    path = model("minilm", tmp_path)
    given, expected = feeds(path)
    exe = legato.compile(legato.from_onnx(path), "vulkan")
    exe.save(tmp_path / "m.legato")
    for one in (exe, legato.load(tmp_path / "m.legato")):
        assert relative_error(one(**given), expected[0]) < 1e-4
        assert relative_error(one(**given), expected[0]) < 1e-4


def test_donated_inputs():
    """The result is in the argument's memory, whose old contents the device has read."""
    module = legato.donate(legato.Module.parse("""func.func @main(%x: tensor<?x3xf32, #relax.dims<["n", 3]>> {relax.name = "x"})
        -> (tensor<?x3xf32, #relax.dims<["n", 3]>> {relax.name = "y"}, tensor<?x3xf32, #relax.dims<["n", 3]>>) {
      %0 = "relax.cumsum"(%x) {axis = 0} : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
      %1 = "relax.negative"(%x) : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
      return %0, %1 : tensor<?x3xf32, #relax.dims<["n", 3]>>, tensor<?x3xf32, #relax.dims<["n", 3]>>
    }"""), {"x": "y"})
    exe = legato.compile(module, "vulkan")
    for n in (4, 1, 0):
        x = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
        before = x.copy()
        sums, negative = exe(x)
        assert sums is x
        np.testing.assert_array_equal(x, before.cumsum(0))
        np.testing.assert_array_equal(negative, -before)


def test_layers_with_loops():
    """Between its launches main copies parts of buffers: steps of a sequence, states."""
    proto, arrays = loops.layer("LSTM", 14, "bidirectional")
    exe = legato.compile(legato.from_onnx(proto, shapes={"x": ["steps", 3, 5]}), "vulkan")
    assert_same(list(exe(**arrays)), reference(proto, arrays))


def test_what_a_loop_requires():
    region_requirements.check_rows(legato.compile(legato.from_onnx(region_requirements.scanning()), "vulkan"))


@pytest.mark.parametrize("strides,count", [((24, 6, 1), 1), ((48, 6, 1), 2), ((24, 12, 1), 8), ((24, 6, 2), 48), ((1, 2, 8), 48)])
def test_regions_of_copies(strides, count):
    """As few as possible, and the right ones: a copy by them is numpy's."""
    sizes = (2, 4, 6)
    memory, found = np.arange(400, dtype=np.float32), np.zeros(100, np.float32)
    parts = regions(DevicePart(0, 16, sizes, strides, 5), DevicePart(1, 8, sizes, dense(sizes)), 4)
    for a, b, size in parts:
        found.view(np.uint8)[b:b + size] = memory.view(np.uint8)[a:a + size]
    expected = np.lib.stride_tricks.as_strided(memory[9:], sizes, [4 * one for one in strides])
    np.testing.assert_array_equal(found[2:50], expected.reshape(-1))
    assert len(parts) == count


def test_an_output_that_is_an_input(symbolic):
    module = legato.Module.parse("""func.func @main(%x: tensor<?x3xi32, #relax.dims<["n", 3]>> {relax.name = "x"})
        -> (tensor<?x3xi32, #relax.dims<["n", 3]>>, tensor<?x3xi32, #relax.dims<["n", 3]>>) {
      %0 = "relax.negative"(%x) : (tensor<?x3xi32, #relax.dims<["n", 3]>>) -> tensor<?x3xi32, #relax.dims<["n", 3]>>
      return %x, %0 : tensor<?x3xi32, #relax.dims<["n", 3]>>, tensor<?x3xi32, #relax.dims<["n", 3]>>
    }""")
    exe = legato.compile(module, "vulkan")
    for n in (2, 0, 5):
        x = np.arange(3 * n, dtype=np.int32).reshape(n, 3)
        same, negative = exe(x)
        np.testing.assert_array_equal(same, x)
        np.testing.assert_array_equal(negative, -x)


def test_the_device_names_itself():
    device = the_device()
    assert device.name and device.kind and device.limits.block.threads >= 128


def test_grids_longer_than_an_axis():
    type_ = 'tensor<?x2xf32, #relax.dims<["n", 2]>>'
    exe = legato.compile(legato.Module.parse(f"""func.func @main(%x: {type_}) -> {type_} {{
      %0 = "relax.softmax"(%x) {{axis = 1}} : ({type_}) -> {type_}
      return %0 : {type_} }}"""), target="vulkan")
    x = np.random.default_rng(0).standard_normal((4_400_000, 2), np.float32)
    y = exe(x)
    np.testing.assert_allclose(y.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(y.argmax(axis=1), x.argmax(axis=1))
    assert exe(x[:0]).shape == (0, 2)
