"""Memory of large results: later calls take it once nobody holds them any more, and never before."""
import gc
import os
import threading

import numpy as np
import pytest
import tvm_ffi
from models import SYMBOLIC, build, identity, numbers
from onnx import TensorProto, helper

import legato
from legato.runtime import load

ROWS = 4096         # 128 KB


@pytest.fixture(scope="module", params=["jit", "saved"])
def model(request, tmp_path_factory):
    """(x + y) * 4 and x, of n rows of 8."""
    exe = build(SYMBOLIC)
    return exe if request.param == "jit" else load(exe.save(tmp_path_factory.mktemp("kept") / "m.legato"))


def called(model, n, value):
    """The sum for rows of a value, which is checked."""
    x = np.full((n, 8), value, np.float32)
    total, same = model(x, numbers(n, 8))
    np.testing.assert_array_equal(total, (x + numbers(n, 8)) * 4)
    np.testing.assert_array_equal(same, x)
    return total


def test_released_results_are_taken_again(model):
    addresses, total = [], None
    for call in range(12):
        total = called(model, ROWS + 8 * call, call)     # the one before is held meanwhile
        assert total.flags.c_contiguous and total.flags.writeable and total.ctypes.data % 64 == 0
        addresses.append(total.ctypes.data)
    assert len(set(addresses)) == 2


def test_held_results_are_not(model):
    """A view, a tensor and a buffer hold a result as its array does."""
    holders = [lambda y: y, lambda y: y[100:, 3], lambda y: tvm_ffi.from_dlpack(y), memoryview]
    held = [holder(called(model, ROWS, call)) for call, holder in enumerate(holders * 4)]
    for _ in range(8):
        called(model, ROWS, -1)
    for call, kept in enumerate(held):
        array = np.asarray(kept) if isinstance(kept, memoryview) else np.from_dlpack(kept)
        expected = (np.float32(call) + numbers(ROWS, 8)) * 4
        np.testing.assert_array_equal(array, expected[100:, 3] if array.ndim == 1 else expected)


def test_a_result_as_an_argument(model):
    x = called(model, ROWS, 1)
    for _ in range(6):
        before = x.copy()
        x, same = model(x, before)
        np.testing.assert_array_equal(same, before)
        np.testing.assert_array_equal(x, (before + before) * 4)
        x = x / 8


def test_results_outlive_the_instance():
    exe = build(SYMBOLIC)
    held = [called(exe, ROWS, call) for call in range(6)]
    del exe
    gc.collect()
    for call, total in enumerate(held):
        np.testing.assert_array_equal(total, (np.float32(call) + numbers(ROWS, 8)) * 4)


def test_threads(model):
    """Each holds its last results, while others call."""
    failures = []

    def work(number):
        try:
            held = []
            for call in range(40):
                value = 100 * number + call
                held = [*held[-2:], (value, called(model, ROWS + 512 * (call % 3), value))]
                for value, total in held:
                    np.testing.assert_array_equal(total, (np.float32(value) + numbers(len(total), 8)) * 4)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def resident():
    """Megabytes of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def test_kept_memory_is_bounded():
    """Of 8 results, an instance keeps at most 4, and none when it ends, or where later ones are much smaller."""
    exe = build(identity("?x", "f32", '?xf32, #relax.dims<["n"]>'))
    x = np.zeros(10_000_000, np.float32)     # 40 MB, which malloc maps, and unmaps
    before = resident()
    held = [exe(x) for _ in range(8)]
    assert resident() - before > 300
    del held
    assert resident() - before < 200
    for _ in range(4):
        exe(x[:100_000])
    assert resident() - before < 20
    exe(x)
    del exe
    gc.collect()
    assert resident() - before < 20


def test_sizes_that_depend_on_data():
    """Memory that main requests itself."""
    node = helper.make_node("NonZero", ["x"], ["y"])
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
                              [helper.make_tensor_value_info("y", TensorProto.INT64, [1, "k"])])
    exe = legato.compile(legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])))
    addresses, y = set(), None
    for call in range(8):
        x = (np.arange(20_000) % (5 - call % 2) > 0).astype(np.float32)
        y = exe(x)
        np.testing.assert_array_equal(y, np.nonzero(x))
        addresses.add(y.ctypes.data)
    assert len(addresses) == 2
