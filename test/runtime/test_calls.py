"""Calling compiled code: values, element types, shapes, several outputs, threads, memory."""
import gc
import sys
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tvm_ffi
from models import STATIC, SYMBOLIC, build, identity, numbers


@pytest.fixture(scope="module")
def static():
    return build(STATIC, {"w": numbers(4, 8)})


@pytest.fixture(scope="module")
def symbolic():
    return build(SYMBOLIC)


def test_static_shapes_and_weights(static):
    x = np.random.default_rng(0).random((4, 8), np.float32)
    np.testing.assert_allclose(static(x), x + numbers(4, 8) + x, rtol=1e-6)


def test_one_compile_serves_every_size(symbolic):
    for n in (1, 5, 64, 0, 3):
        x, y = np.ones((n, 8), np.float32), numbers(n, 8)
        total, same = symbolic(x, y)
        np.testing.assert_array_equal(total, (x + y) * 4)
        np.testing.assert_array_equal(same, x)


def test_inputs_by_name(symbolic):
    x, y = np.ones((2, 8), np.float32), numbers(2, 8)
    for given in (symbolic(x, mask=y), symbolic(mask=y, x=x)):
        np.testing.assert_array_equal(given[0], (x + y) * 4)


def test_results_are_the_callers(static):
    """Writable, 64-byte aligned, no alias of an input, and alive after the executable is gone."""
    exe = build(identity("4x", "f32", "4xf32"))
    x = numbers(4)
    y = exe(x)
    assert y.flags.writeable and y.ctypes.data % 64 == 0 and not np.shares_memory(x, y)
    y[:] = 7
    assert x[1] == 1 and exe(x)[1] == 1
    del exe
    gc.collect()
    np.testing.assert_array_equal(y, np.full(4, 7, np.float32))


def test_results_alias_neither_each_other_nor_inputs(symbolic):
    x = numbers(2, 8)
    total, same = symbolic(x, x)
    assert not np.shares_memory(total, same) and not np.shares_memory(same, x)


DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16,
          "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64, "i1": np.bool_}


@pytest.mark.parametrize("spelling", DTYPES)
def test_element_types(spelling):
    """Booleans are one byte each, in memory and at the boundary; unsigned numbers are signless inside."""
    dtype = np.dtype(DTYPES[spelling])
    inside = "i8" if spelling == "i1" else spelling.removeprefix("u")
    exe = build(identity("2x3x", inside, f"2x3x{spelling}"))
    assert exe.inputs[0].dtype == dtype
    x = (numbers(2, 3, dtype=np.int64) % 2 == 0) if spelling == "i1" else numbers(2, 3, dtype=np.int64).astype(dtype)
    y = exe(x)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(exe(np.asfortranarray(x)), x)
    with pytest.raises(TypeError, match=f"must be {dtype}\\[2, 3\\], but complex64\\[2, 3\\]|but \\(another dtype of 64 bits\\)\\[2, 3\\]"):
        exe(x.astype(np.complex64))


def test_booleans_in_memory_of_their_own_type():
    y = build(identity("5x", "i1", "5xi1"))(np.array([True, False, True, True, False]))
    assert y.tolist() == [True, False, True, True, False]


def test_no_elements_and_no_dimensions():
    empty = build(identity("0x3x", "f32", "0x3xf32"))
    assert empty(np.zeros((0, 3), np.float32)).shape == (0, 3)
    scalar = build(identity("", "f32", "f32"))
    assert scalar(np.array(2.5, np.float32)) == 2.5 and scalar(np.array(2.5, np.float32)).shape == ()
    assert scalar(np.float32(2.5)) == 2.5


def test_numpy_arrays_that_have_to_be_made_ready(static):
    x = numbers(4, 8)
    expected = static(x)
    read_only = x.copy()
    read_only.flags.writeable = False
    odd = np.zeros(4 * 8 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(4, 8)
    odd[:] = x
    for given in (np.asfortranarray(x), numbers(8, 8)[::2] * 0 + x, read_only, odd, x.astype(">f4")):
        np.testing.assert_array_equal(static(given), expected)
    big = np.zeros((4, 16), np.float32)
    big[:, ::2] = x
    np.testing.assert_array_equal(static(big[:, ::2]), expected)


def test_tensors_of_tvm_ffi(static):
    x = numbers(4, 8)
    y = static.function(tvm_ffi.from_dlpack(x))
    assert isinstance(y, tvm_ffi.Tensor) and y.strides == (8, 1)
    np.testing.assert_array_equal(np.from_dlpack(y), static(x))


def test_results_are_arrays_where_others_replace_the_class_of_tensors(static, symbolic):
    """TVM does, where it is imported."""
    class Other(tvm_ffi.core.Tensor):
        pass

    x = numbers(4, 8)
    tvm_ffi.core._set_class_tensor(Other)
    try:
        assert isinstance(static.function(x), Other)
        results = [static(x), *symbolic(x, x), static(tvm_ffi.from_dlpack(x))]
    finally:
        tvm_ffi.core._set_class_tensor(tvm_ffi.Tensor)
    assert [type(result) for result in results] == [np.ndarray] * len(results)


def test_description(symbolic):
    assert [str(p) for p in symbolic.inputs] == ["float32[n, 8]", "float32[n, 8]"]
    assert [(p.name, p.shape) for p in symbolic.outputs] == [("sum", ("n", 8)), ("same", ("n", 8))]
    assert repr(symbolic) == ("<legato.Executable main(x: float32[n, 8], mask: float32[n, 8]) -> "
                              "(sum: float32[n, 8], same: float32[n, 8])>")


def test_two_threads_at_once(symbolic):
    """Each call has an arena of its own: no thread sees another's values."""
    wrong = []

    def work(seed):
        x = np.full((200 + seed, 8), seed, np.float32)
        for _ in range(300):
            total, same = symbolic(x, x)
            if not ((total == 8 * seed).all() and (same == seed).all()):
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_instances_share_nothing():
    one, two = build(STATIC, {"w": numbers(4, 8)}), build(STATIC, {"w": numbers(4, 8) * 2})
    x = np.zeros((4, 8), np.float32)
    np.testing.assert_array_equal(one(x) * 2, two(x))


def test_weights_live_as_long_as_the_instance():
    """The executable may go: the function alone keeps code and weights."""
    weight = numbers(4, 8).copy()
    references = sys.getrefcount(weight)
    function = build(STATIC, {"w": weight}).function
    gc.collect()
    assert sys.getrefcount(weight) > references
    np.testing.assert_array_equal(np.from_dlpack(function(np.zeros((4, 8), np.float32))), weight)
    del function
    gc.collect()
    assert sys.getrefcount(weight) == references


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_no_leak_over_100_000_calls(symbolic):
    x = np.ones((64, 8), np.float32)
    bad = np.ones((64, 7), np.float32)
    function = symbolic.function

    def calls(count):
        for _ in range(count):
            function(x, x)
        for _ in range(count // 100):
            symbolic(x, x)
            with pytest.raises(ValueError):
                symbolic(x, bad)

    calls(10_000)
    before = resident_bytes()
    calls(100_000)
    assert resident_bytes() - before < 2 << 20


def test_arrays_that_have_to_be_copied_are_refused_once(static):
    """A refusal takes 20 times as long as to look at an array's flags, which is done from then on."""
    calls = []

    def counted(*args):
        calls.append(args)
        return static.function(*args)

    exe, x = static.with_function(counted), np.random.default_rng(0).random((4, 8), np.float32)
    read_only = x.copy()
    read_only.flags.writeable = False
    for number, given in enumerate((x, x.T.copy().T, x, np.repeat(x, 2, axis=1)[:, ::2], read_only, x, x.astype(">f4"))):
        np.testing.assert_allclose(exe(given), x + numbers(4, 8) + x, rtol=1e-6)
        assert len(calls) == number + 1 + (number > 0) + (number == 6)     # flags do not tell the order of bytes
