"""Sizes that depend on data, for NVIDIA's GPUs on the stand-in for the driver: main reads a count from the device, and asks for memory."""
import numpy as np
import pytest
import tvm_ffi
from data_sizes import INPUTS, MODEL, boxes, check, rows_and_places
from device_tensors import context, on_device, on_host, stream
from in_threads import in_threads
from onnx_check import assert_same, reference
from standin import compiled, driver, prepared
from thoroughly import first_of

import legato
from legato.codegen.jit import jit

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("nothing_is_left")

OUT_OF_MEMORY = 2


@pytest.fixture(scope="module")
def lowered():
    return prepared(legato.Module.parse(MODEL))


def instance(lowered):
    return jit(lowered.module, lowered.weights)


def calls(name):
    return driver().standin_calls(name.encode())


def test_one_wait_for_the_size(lowered):
    """Of a call with host arrays there is one more, at its end; with tensors of the device no other. Memory is kept for later calls."""
    exe = instance(lowered)

    def compare(x, given, read, waits):
        before = calls("cuStreamSynchronize")
        results = exe(given)
        assert calls("cuStreamSynchronize") == before + waits
        check([read(one) for one in results], x)

    for x in map(np.float32, INPUTS):
        compare(x, x, np.asarray, 2)
        compare(x, on_device(x), on_host, 1)
    ones, before = np.ones(800, np.float32), 0
    for n in (800, 800, 800, 10, 799):
        check(exe(ones[:n]), ones[:n])
        before = before if n < 800 else calls("cuMemAlloc_v2")
    assert calls("cuMemAlloc_v2") == before


def test_streams_of_the_caller(lowered):
    """Memory that one call's kernels still use no other call gets, whatever stream it runs on."""
    exe = instance(lowered)
    arrays = [(np.arange(n) % 3 == n % 2).astype(np.float32) for n in (50, 60, 70)]
    made = [stream() for _ in arrays]
    results = []
    for one, x in zip(made, [on_device(array) for array in arrays]):
        with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), one.value):
            results.append(exe(x))
    for one, x in reversed(list(zip(made, arrays))):
        check([on_host(tensor, one) for tensor in results.pop()], x)
    with context():
        for one in made:
            assert driver().cuStreamDestroy_v2(one) == 0


def test_many_threads(lowered):
    exe = instance(lowered)

    def work(seed):
        for n in (90, 7, 300):
            x = (np.arange(n) % (2 + seed) == 1).astype(np.float32)
            check(exe(x), x)

    in_threads(work, 20)


FAILURES = [
    ("cuStreamCreate", 2, RuntimeError, "making a stream on the device failed"),
    ("cuMemAlloc_v2", 1, None, None),       # the second attempt, with other lanes freed, has memory
    ("cuMemcpyDtoHAsync_v2", 1, RuntimeError, "reading a number from the device for the model failed"),
    ("cuLaunchKernel", 4, RuntimeError, "launching the kernel"),
    ("cuMemcpyDtoHAsync_v2", 3, RuntimeError, "copying the results to the host"),
]


def test_what_fails_in_the_middle(lowered, monkeypatch):
    """Nothing is lost, and the next call works. Where there is no memory for what is of the size that was counted, a call with a smaller
    one works."""
    exe, x = instance(lowered), np.float32(INPUTS[2])
    for name, nth, kind, match in FAILURES:
        driver().standin_fail(name.encode(), nth, OUT_OF_MEMORY)
        if kind is not None:
            with pytest.raises(kind, match=match):
                exe(x)
            driver().standin_reset()
        check(exe(x), x)
        check([on_host(one) for one in exe(on_device(x))], x)
    x = np.ones(40_000, np.float32)
    monkeypatch.setenv("STANDIN_MEMORY", str(600 << 10))
    with pytest.raises(MemoryError, match=r"of memory: 362880 bytes are needed for a call's buffers, and \d+ of 614400 bytes are free"):
        exe(x)
    few = np.where(np.arange(len(x)) < 7, x, 0)
    check(exe(few), few)


@pytest.mark.parametrize("build", first_of([rows_and_places, boxes]), ids=lambda build: build.__name__)
def test_models(build):
    proto, arrays = build()
    exe = compiled(legato.from_onnx(proto))
    results = exe(**arrays)
    assert_same(list(results) if isinstance(results, tuple) else [results], reference(proto, arrays))
    del exe
