"""What a machine, a device or its driver cannot do is an error with numbers; nothing is lost, and the next call works."""
import ctypes
from typing import Any

import numpy as np
import pytest
import tvm_ffi
from device_tensors import context, framework, on_device, on_host, stream
from in_threads import in_threads
from standin import compiled, driver, prepared
from test_cuda import MODEL, check, instance, operands

import legato
from legato.script import T

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("nothing_is_left")

OUT_OF_MEMORY, NOT_PERMITTED, LAUNCH_FAILED = 2, 800, 719


@pytest.fixture(scope="module")
def lowered():
    return prepared(legato.Module.parse(MODEL))


def fail(name, code, nth=1):
    driver().standin_fail(name.encode(), nth, code)


def refused(lowered, match):
    """The error of a call of a model that cannot be made here, which is the same for each call; it can be saved. Once the machine can, it
    works."""
    exe = instance(lowered)
    for _ in range(2):
        with pytest.raises(legato.LegatoError, match=match):
            exe(*operands(3))
    return exe


def test_no_driver(lowered, monkeypatch, tmp_path):
    monkeypatch.setenv("LEGATO_LIBCUDA", "/nowhere/libcuda.so.1")
    exe = refused(lowered, r"compiled for 'nvvm\{chip=sm_80\}', and the CUDA driver cannot be loaded: /nowhere.*apt install libcuda1")
    path = exe.save(tmp_path / "model.legato")
    with pytest.raises(legato.LegatoError, match="Install NVIDIA's driver"):
        legato.load(path)
    monkeypatch.undo()
    x, w = operands(3)
    check(exe(x, w), x, w)
    check(legato.load(path)(x, w), x, w)
    del exe


def test_another_library(lowered, monkeypatch):
    monkeypatch.setenv("LEGATO_LIBCUDA", "libm.so.6")
    refused(lowered, "the CUDA driver libm.so.6 does not have the function cuInit")


def test_no_device(lowered, monkeypatch):
    monkeypatch.setenv("STANDIN_DEVICES", "0")
    refused(lowered, "the CUDA driver finds no device")


@pytest.mark.parametrize("given", ["1", "-1", "", "one", "0x"])
def test_no_such_device(lowered, monkeypatch, given):
    monkeypatch.setenv("LEGATO_CUDA_DEVICE", given)
    refused(lowered, f"LEGATO_CUDA_DEVICE={given} is no device: it takes a number from 0, and there are 1 CUDA devices")


def test_too_old_a_device(lowered, monkeypatch):
    monkeypatch.setenv("STANDIN_CHIP", "75")
    refused(lowered, r"compiled for sm_80, and CUDA device 0 \(Stand-in 0\) is an sm_75.*compile it for the target 'nvvm\{chip=sm_75\}'")
    monkeypatch.setenv("STANDIN_CHIP", "90")
    x, w = operands(3)
    check(instance(lowered)(x, w), x, w)


def test_code_for_one_chip_only(monkeypatch):
    """sm_90a runs on nothing else, sm_100f on no other major version."""
    target = "nvvm{approx=true chip=sm_90a}"
    special = prepared(legato.Module.parse(MODEL), target)
    monkeypatch.setenv("STANDIN_CHIP", "100")
    refused(special, "sm_90a and run on that chip only, and CUDA device 0 .* is an sm_100")
    monkeypatch.setenv("STANDIN_CHIP", "90")
    x, w = operands(3)
    check(instance(special)(x, w), x, w)


@pytest.mark.parametrize("name,code,match", [
    ("cuInit", 3, r"starting the CUDA driver failed: .*\(error 3\)"),
    ("cuDevicePrimaryCtxRetain", 3, "making a context"),
    ("cuModuleLoadDataEx", 218, "loading the kernels, PTX for sm_80"),
    ("cuModuleGetFunction", 500, "finding the kernel fused_matmul"),
    ("cuMemAlloc_v2", NOT_PERMITTED, "allocating 256 bytes for the weights failed"),
    ("cuMemcpyHtoDAsync_v2", 1, "copying the weights"),
])
def test_an_instance_that_fails(lowered, name, code, match):
    """Whatever fails on the way, what was made before is freed, and the next attempt works."""
    fail(name, code)
    exe = instance(lowered)
    fail(name, code)
    with pytest.raises(legato.LegatoError, match=match):
        exe(*operands(3))
    x, w = operands(3)
    check(exe(x, w), x, w)


@pytest.mark.parametrize("name,nth,code,kind,match", [
    ("cuMemAlloc_v2", 1, OUT_OF_MEMORY, None, None),     # the second attempt, once models have made room, has memory
    ("cuStreamCreate", 1, OUT_OF_MEMORY, RuntimeError, "making a stream on the device failed: CUDA_ERROR_OUT_OF_MEMORY"),
    ("cuEventCreate", 1, OUT_OF_MEMORY, RuntimeError, "making a stream on the device"),
    ("cuMemcpyHtoDAsync_v2", 2, 1, RuntimeError, r"copying 'w', 192 bytes, to the device"),
    ("cuLaunchKernel", 1, NOT_PERMITTED, RuntimeError,
     r"launching the kernel \w*matmul\w* for relax.matmul dense.* \(grid \d+ x \d+ x 1, blocks of \d+ x \d+ x 1 threads, 0 bytes of "
     r"dynamic shared memory\) failed: .*\(error 800\)"),
    ("cuMemcpyDtoHAsync_v2", 1, 1, RuntimeError, "copying the results to the host"),
    ("kernel", 2, LAUNCH_FAILED, RuntimeError, "running the model's kernels failed: CUDA_ERROR_LAUNCH_FAILED"),
    ("cuCtxPushCurrent_v2", 1, 201, RuntimeError, "using the device's context"),
])
def test_a_call_that_fails(lowered, name, nth, code, kind, match):
    exe = instance(lowered)
    x, w = operands(3)
    fail(name, code, nth)
    if kind is not None:
        with pytest.raises(kind, match=match):
            exe(x, w)
        driver().standin_reset()
    check(exe(x, w), x, w)


def test_out_of_memory(lowered, monkeypatch):
    """With numbers; a smaller call works, and results on the device count, too."""
    exe = instance(lowered)
    monkeypatch.setenv("STANDIN_MEMORY", str(1 << 20))
    x, w = operands(50_000)
    with pytest.raises(MemoryError, match=r"device 0 is out of memory: \d{7} bytes are needed for a call's buffers, and \d+ of 1048576 "):
        exe(x, w)
    check(exe(x[:99], w), x[:99], w)
    monkeypatch.setenv("STANDIN_MEMORY", str(2 << 20))
    here = on_device(x), on_device(w)
    with pytest.raises(MemoryError, match="is out of memory"):
        exe(*here)
    monkeypatch.undo()
    check([on_host(one) for one in exe(*here)], x, w)


def test_more_threads_than_the_device_takes(lowered, monkeypatch):
    exe = instance(lowered)
    x, w = operands(300)
    monkeypatch.setenv("STANDIN_THREADS", "16")
    with pytest.raises(RuntimeError, match=r"for relax.matmul dense.* blocks of .*, and the device takes 16 threads in a block\) failed: "):
        exe(x, w)
    monkeypatch.undo()
    check(exe(x, w), x, w)


def test_an_older_driver_than_the_ptx(lowered, monkeypatch):
    """The error says which driver it takes; NVIDIA's own does not."""
    monkeypatch.setenv("STANDIN_PTX", "65")
    refused(lowered, r"for sm_80, are PTX of version 7\.0, which takes a driver of CUDA 11\.0 or later, and this one is of CUDA 10\.5")
    monkeypatch.setenv("STANDIN_PTX", "70")
    x, w = operands(3)
    check(instance(lowered)(x, w), x, w)


def test_a_stream_that_is_captured(lowered):
    """A graph of the caller's would use memory of the instance whenever it is launched."""
    exe, one = instance(lowered), stream()
    x, w = operands(3)
    here = on_device(x), on_device(w)
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), one.value):
        driver().standin_capture(one, 1)
        with pytest.raises(RuntimeError, match=r"the caller's stream is being captured into a CUDA graph.*nvvm\{graphs=true\}"):
            exe(*here)
        driver().standin_capture(one, 0)
        check([on_host(result, one) for result in exe(*here)], x, w)
    with context():
        driver().cuStreamDestroy_v2(one)


@T.prim_func
def sparse(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in T.thread_binding(A.shape[0] * A.shape[0], thread="blockIdx.x"):
        with T.block("B"):
            v = T.axis.spatial(A.shape[0], i)
            T.where(i < A.shape[0])
            B[v] = A[v] + T.float32(1)


def test_more_blocks_than_a_grid_takes():
    """65,537² blocks are 131,073, in 32 bits: a launch of these would leave elements out."""
    exe = compiled(sparse)
    np.testing.assert_array_equal(exe(np.arange(300, dtype=np.float32)), np.arange(1, 301, dtype=np.float32))
    with pytest.raises(RuntimeError, match=r"\(grid 4295098369 x 1 x 1, .* and a grid takes 2147483647 x 65535 x 65535 blocks"):
        exe(np.zeros(65537, np.float32))


def test_arguments(lowered, monkeypatch):
    exe = instance(lowered)
    x, w = operands(3)
    with pytest.raises(ValueError, match=r"'w' must be float32\[8, 6\], but float32\[8, 5\] was given: dimension 1 is 5, not 6"):
        exe(x, on_device(w[:, :5]))
    with pytest.raises(TypeError, match=r"'x' must be float32\[n, 8\], but int32\[3, 8\] was given: the element type differs"):
        exe(on_device(x.astype(np.int32)), w)
    monkeypatch.setenv("STANDIN_DEVICES", "2")
    there = on_device(x, ordinal=1)
    with pytest.raises(ValueError, match="it is on CUDA device 1, and this instance of the model is on CUDA device 0"):
        exe(there, w)
    with pytest.raises(ValueError, match=r"argument 0 'x' .* is on a device of type 2, not on the CPU"):
        legato.compile(legato.Module.parse(MODEL))(there, w)


def test_the_second_device(lowered, monkeypatch):
    monkeypatch.setenv("STANDIN_DEVICES", "2")
    monkeypatch.setenv("LEGATO_CUDA_DEVICE", "1")
    exe = instance(lowered)
    x, w = operands(3)
    check(exe(x, w), x, w)
    results = exe(on_device(x, ordinal=1), w)
    assert [one.__dlpack_device__() for one in results] == [(2, 1)] * 2


def call(exe, n):
    """A call with host arrays, which keeps some 60 bytes of the device for each row."""
    x, w = operands(n)
    check(exe(x, w), x, w)


def used():
    """The bytes of the device that are in use."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with context():
        assert driver().cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
    return total.value - free.value


def leave_free(monkeypatch, size):
    """All but ``size`` bytes of the device are in use: the models of other tests that this process still holds do not count."""
    monkeypatch.setenv("STANDIN_MEMORY", str(used() + size))


def test_models_make_room_for_others(lowered, monkeypatch, tmp_path):
    """What a model keeps for later calls is given up where another finds no memory, for buffers and for results on the device, whether
    models are compiled or loaded. Models that have ended are not asked."""
    models = [instance(lowered) for _ in range(4)]

    def call_all(*models: Any, size: int) -> None:
        for one in models:
            call(one, size)

    call_all(*models, size=3)
    path = models[0].save(tmp_path / "model.legato")
    leave_free(monkeypatch, 3 << 19)
    call_all(*models, size=15_000)
    del models[2], models[0]
    call_all(*models, legato.load(path), *models, size=15_000)
    x, w = operands(20_000)
    here = on_device(x), on_device(w)
    check([on_host(one) for one in models[0](*here)], x, w)
    with pytest.raises(MemoryError, match="is out of memory"):      # what callers have stays
        call(models[1], 20_000)
    del here
    call(models[1], 20_000)


def test_room_for_a_frameworks_results(lowered, monkeypatch):
    """The caller's allocator, which has no memory left, is asked again; its error is the call's where that does not help."""
    first, second = instance(lowered), instance(lowered)
    call(first, 3)
    x, w = operands(15_000)
    here = on_device(x), on_device(w)
    call(second, 15_000)
    leave_free(monkeypatch, 99)
    with framework():
        check([on_host(one) for one in first(*here)], x, w)
    leave_free(monkeypatch, 99)
    with framework(), pytest.raises(MemoryError, match="the framework has none left"):
        first(*here)


def test_room_for_weights(lowered, monkeypatch):
    """For the weights of a model that is made while others keep all memory."""
    first, second = instance(lowered), instance(lowered)
    call(first, 15_000)
    leave_free(monkeypatch, 0)
    call(second, 3)
    call(first, 14_000)


def test_no_room_for_weights(lowered, monkeypatch):
    monkeypatch.setenv("STANDIN_MEMORY", "0")
    exe = refused(lowered, "device 0 is out of memory")     # whatever other tests' models keep for later calls is given up
    monkeypatch.undo()
    leave_free(monkeypatch, 100)
    exe = refused(lowered, r"device 0 is out of memory: 256 bytes are needed for the weights, and 100 of \d+ bytes are free")
    monkeypatch.undo()
    call(exe, 3)


def test_threads_make_room(lowered, monkeypatch):
    """Models on several threads, of which each may find no memory at any time; those that have none run when others are done."""
    models = [instance(lowered) for _ in range(3)]
    leave_free(monkeypatch, 1 << 20)

    def work(seed):
        for n in np.random.default_rng(seed).integers(1, 4000, 15):     # 240 KB at most
            call(models[seed % 3], int(n))

    in_threads(work, 4)
