"""Models for NVIDIA's GPUs, from their own host code to their kernels, on a stand-in for the driver (standin.py)."""
import subprocess
import sys

import numpy as np
import onnx
import pytest
import test_onnx_loops as loops
import test_onnx_region_requirements as region_requirements
import tvm_ffi
from device_tensors import ALLOCATED, address, context, framework, on_device, on_host, stream, wait
from emulate import inputs
from in_threads import in_threads
from onnx_check import assert_same, reference
from standin import TARGET, compiled, driver, prepared
from thoroughly import sampled
from threads_kernels import REFERENCES, histogram, matmul_any, matmul_tiled, rfactored, softmax, tree, two_launches

import legato
from legato.codegen.jit import jit
from legato.core.weights import WeightStore

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("nothing_is_left")

MODEL = """func.func @main(%x: tensor<?x8xf32, #relax.dims<["n", 8]>> {relax.name = "x"}, %w: tensor<8x6xf32> {relax.name = "w"})
    -> (tensor<?x6xf32, #relax.dims<["n", 6]>>, tensor<?xf32, #relax.dims<["n"]>>) {
  %c = "relax.constant"() {value = dense<[1.0, 2.0, -3.0, 4.0, 5.0, -6.0]> : tensor<6xf32>} : () -> tensor<6xf32>
  %0 = "relax.matmul"(%x, %w) : (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<8x6xf32>) -> tensor<?x6xf32, #relax.dims<["n", 6]>>
      loc("dense")
  %1 = "relax.add"(%0, %c) : (tensor<?x6xf32, #relax.dims<["n", 6]>>, tensor<6xf32>) -> tensor<?x6xf32, #relax.dims<["n", 6]>> loc("bias")
  %2 = "relax.sum"(%1) {axis = array<i64: 1>} : (tensor<?x6xf32, #relax.dims<["n", 6]>>) -> tensor<?xf32, #relax.dims<["n"]>> loc("total")
  return %1, %2 : tensor<?x6xf32, #relax.dims<["n", 6]>>, tensor<?xf32, #relax.dims<["n"]>>
}"""
BIAS = np.float32([1, 2, -3, 4, 5, -6])


def module():
    return legato.Module.parse(MODEL)


@pytest.fixture(scope="module")
def lowered():
    """The model, lowered once; each ``jit`` of it is code of its own."""
    return prepared(module())


def instance(lowered):
    """New code of the model, and an instance."""
    return jit(lowered.module, lowered.weights)


def operands(n, seed=0):
    random = np.random.default_rng(seed)
    return random.standard_normal((n, 8), np.float32), random.standard_normal((8, 6), np.float32)


def check(results, x, w):
    y = x @ w + BIAS
    np.testing.assert_allclose(results[0], y, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(results[1], y.sum(1), rtol=1e-5, atol=1e-4)


def calls(name):
    return driver().standin_calls(name.encode())


@pytest.mark.parametrize("kernel", sampled(
    [matmul_tiled, matmul_any, softmax, rfactored, tree, histogram, two_launches], 2), ids=lambda k: k.__name__)
def test_kernels_by_hand(kernel):
    """Shared memory, barriers, warp shuffles, several launches."""
    exe = compiled(kernel)
    given = inputs(exe, m=37, n=20, k=11)
    np.testing.assert_allclose(exe(*given), REFERENCES[kernel](*given), rtol=2e-5, atol=1e-5)
    del exe


@pytest.mark.parametrize("n", [3, 1, 0, 400])
def test_arrays_of_the_host(lowered, n):
    """One wait a call; sizes of each call; no array is changed."""
    exe = instance(lowered)
    x, w = operands(n)
    kept, before = x.copy(), calls("cuStreamSynchronize")
    check(exe(x, w), x, w)
    assert calls("cuStreamSynchronize") == before + 1
    np.testing.assert_array_equal(x, kept)
    check(exe(x=x[::-1], w=np.asfortranarray(w)), x[::-1], w)


def test_the_whole_way(lowered, tmp_path):
    """compile, save, load, the command line: all by the code that the stand-in has kernels of."""
    x, w = operands(5)
    exe = legato.compile(module(), TARGET)
    check(exe(x, w), x, w)
    path = exe.save(tmp_path / "model.legato")
    del exe
    loaded = legato.load(path)
    assert loaded.signature.device == "cuda"
    check(loaded(x, w), x, w)
    again = legato.load(loaded.save(tmp_path / "again.legato"))
    del loaded
    check(again(x, w), x, w)
    for name, array in (("x", x), ("w", w)):
        np.save(tmp_path / f"{name}.npy", array)
    ran = subprocess.run(
        [sys.executable, "-m", "legato.tools.legato_run", str(path), "--input", f"x={tmp_path}/x.npy", "--input", f"w={tmp_path}/w.npy",
         "--save", f"out0={tmp_path}/y.npy"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), x @ w + BIAS, rtol=1e-5, atol=1e-5)


def test_weights_go_to_the_device_once():
    """Those of the weight store, and constants of kernels."""
    weight = np.random.default_rng(1).standard_normal((8, 6), np.float32)
    text = MODEL.replace(', %w: tensor<8x6xf32> {relax.name = "w"}', "").replace(
        '%0 = "relax.matmul"', '%w = "relax.constant"() {weight = "w"} : () -> tensor<8x6xf32>\n  %0 = "relax.matmul"')
    model = legato.Module.parse(text, weights=weights_of(w=weight))
    exe = compiled(model)
    assert next(p.name for p in exe.signature.weights) == "w"
    x, before = operands(4)[0], calls("cuMemcpyHtoDAsync_v2")
    for _ in range(3):
        check(exe(x), x, weight)
    assert calls("cuMemcpyHtoDAsync_v2") == before + 3
    del exe


def weights_of(**arrays):
    store = WeightStore()
    for name, array in arrays.items():
        store.add(name, array)
    return store


def test_tensors_of_the_device_are_used_in_place(lowered):
    """Nothing is copied and nobody waits; results are on the device, and outlive the model."""
    exe = instance(lowered)
    x, w = operands(7)
    here = on_device(x), on_device(w)
    names = ("cuStreamSynchronize", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2")
    before = [calls(name) for name in names]
    results = exe(*here)
    assert [calls(name) for name in names] == before
    del exe
    assert all(isinstance(one, tvm_ffi.Tensor) for one in results)
    check([on_host(one) for one in results], x, w)


def test_tensors_of_both(lowered):
    exe = instance(lowered)
    x, w = operands(7)
    results = exe(x, on_device(w))
    check([on_host(one) for one in results], x, w)


def test_a_tensor_that_is_not_aligned_is_copied(lowered):
    """Kernels load 16 bytes at once."""
    exe = instance(lowered)
    x, w = operands(7)
    before = calls("cuMemcpyDtoDAsync_v2")
    check([on_host(one) for one in exe(on_device(x, shift=4), on_device(w))], x, w)
    assert calls("cuMemcpyDtoDAsync_v2") == before + 1


def test_the_callers_stream(lowered):
    """Work is in the order of the stream that tvm-ffi knows, and what one call still uses no other call gets."""
    exe = instance(lowered)
    x, w = operands(50)
    streams = [stream(), stream()]
    here = on_device(x), on_device(w)
    results, found = [], None
    for one in streams:
        with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), one.value):
            results.append(exe(*here))
    for one, found in reversed(list(zip(streams, results))):
        check([on_host(tensor, one) for tensor in found], x, w)
    wait(streams[0])
    del results, found, exe
    with context():
        for one in streams:
            driver().cuStreamDestroy_v2(one)


def test_the_callers_allocator(lowered):
    """A framework's memory for results, as tvm-ffi has it while torch's tensors are passed."""
    exe = instance(lowered)
    x, w = operands(7)
    here = on_device(x), on_device(w)
    with framework():
        results = exe(*here)
    assert [address(one) for one in results] == ALLOCATED[-2:]
    check([on_host(one) for one in results], x, w)


def test_many_threads_and_two_instances(lowered):
    """More threads than the instance keeps lanes, and another instance of the same model."""
    pair = instance(lowered), instance(lowered)

    def work(seed):
        for n in (3, 17, 2):
            x, w = operands(n + seed, seed)
            check(pair[seed % 2](x, w), x, w)

    in_threads(work, 40)


def conditional():
    """An ONNX model that doubles or squares x, by the sign of its sum."""
    make, number = onnx.helper, onnx.TensorProto.FLOAT
    x, y = (make.make_tensor_value_info(name, number, ["n", 3]) for name in "xy")
    branches = {f"{name}_branch": make.make_graph([make.make_node(op, ["x", "x"], [op])], op, [],
                                                  [make.make_tensor_value_info(op, number, ["n", 3])])
                for name, op in (("then", "Add"), ("else", "Mul"))}
    nodes = [make.make_node("ReduceSum", ["x"], ["sum"], keepdims=0), make.make_node("Greater", ["sum", "zero"], ["positive"]),
             make.make_node("If", ["positive"], ["y"], **branches)]
    graph = make.make_graph(nodes, "conditional", [x], [y], [make.make_tensor("zero", number, [], [0.0])])
    return make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)


def test_branches_on_the_devices_data():
    """The host reads the condition, which takes one more wait; a read that fails is the call's error."""
    exe = compiled(legato.from_onnx(conditional()))
    x = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    before = calls("cuStreamSynchronize")
    np.testing.assert_array_equal(exe(x), x + x)
    assert calls("cuStreamSynchronize") == before + 2
    np.testing.assert_array_equal(exe(-x), x * x)
    np.testing.assert_array_equal(on_host(exe(on_device(-x))), x * x)
    driver().standin_fail(b"cuMemcpyDtoHAsync_v2", 1, 1)
    with pytest.raises(RuntimeError, match="reading a number from the device for the model failed"):
        exe(x)
    np.testing.assert_array_equal(exe(x), x + x)
    del exe


@pytest.mark.thorough
def test_what_a_loop_requires():
    """Sizes that do not fit are an error in a step, and none without one; a state begins as a constant of no dimensions."""
    nodes, fits, other, message = region_requirements.BRANCHES["products"]
    exe = compiled(legato.from_onnx(region_requirements.looping(nodes)))
    for shape, steps in ((fits, 2), (fits, 0), (other, 0)):
        x, z = np.ones(shape, np.float32), np.ones((3, 5), np.float32)
        np.testing.assert_array_equal(exe(x, z, np.array(steps)), steps * x.sum() * 5)
    with pytest.raises(ValueError, match=message):
        exe(x, z, np.array(1))
    del exe


def test_layers_with_loops():
    """Between its launches main copies parts of the device's buffers: steps of a sequence, states."""
    proto, arrays = loops.layer("LSTM", 14, "bidirectional")
    exe = compiled(legato.from_onnx(proto, shapes={"x": ["steps", 3, 5]}))
    assert_same(list(exe(**arrays)), reference(proto, arrays))
    del exe
