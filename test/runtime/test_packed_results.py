"""Packed functions that return tensors of their own: memory, lifetimes, threads, re-entrancy, C, saved models."""
import gc
import os
import shutil
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
import tvm_ffi

import legato
from legato.script import parse

F = "float32"


def packed(name):
    return lambda function: tvm_ffi.register_global_func(f"legato.test.results.{name}", function, override=True)


@packed("positive")
def positive(x):
    x = np.from_dlpack(x)
    return x[x > 0]


def graph(body, parameters='x: R.Tensor(("n",), "float32")'):
    text = f"@R.function\ndef main({parameters}):\n    n, m, k = T.int64(), T.int64(), T.int64()\n"
    return parse(text + "".join(f"    {line}\n" for line in body.strip().split("\n")))


COMPACT = graph('''
y = R.call_packed("legato.test.results.positive", x, sinfo_args=R.Tensor((m,), "float32"))
z = R.exp(R.sum(R.add(R.expand_dims(y, axis=[0]), R.expand_dims(y, axis=[1])), axis=[1]))
return z, R.sum(x)
''')


def compacted(x):
    y = x[x > 0]
    return np.exp(np.sum(y[None] + y[:, None], axis=1))


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="module")
def exe():
    return legato.compile(COMPACT)


def test_sizes_differ_from_call_to_call(exe):
    rng = np.random.default_rng(0)
    for n in (5, 100, 1, 0, 37):
        x = rng.standard_normal(n).astype(F) / 10
        found, total = exe(x)
        np.testing.assert_allclose(found, compacted(x), rtol=1e-4)
        np.testing.assert_allclose(total, x.sum(), rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_100000_calls_do_not_grow():
    """One of eight fails, when another result has come back: by a wrong type, or by an error of a function."""
    step = {"count": 0}

    @packed("sometimes")
    def sometimes(y):
        step["count"] += 1
        if step["count"] % 16 == 0:
            raise RuntimeError("the sixteenth")
        return np.zeros((2, 2), F) if step["count"] % 16 == 8 else np.add(np.from_dlpack(y), 1)

    exe = legato.compile(graph('''
y = R.call_packed("legato.test.results.positive", x, sinfo_args=R.Tensor((m,), "float32"))
z = R.exp(R.add(y, y))
w = R.call_packed("legato.test.results.sometimes", z, sinfo_args=R.Tensor((m,), "float32"))
return R.add(w, z)
''')).function
    x = tvm_ffi.from_dlpack(np.ones(512, F))

    def calls(number):
        failed = 0
        for _ in range(number):
            try:
                exe(x)
            except (RuntimeError, ValueError):
                failed += 1
        return failed

    calls(4000)
    gc.collect()
    before = resident()
    assert calls(96000) == 12000
    gc.collect()
    assert resident() - before < 8 << 20  # one leaked result a call would be 200 MB


def test_what_is_held_is_given_back_when_the_call_ends():
    made = []

    @packed("counted")
    def counted(x):
        array = np.arange(5, dtype=F)
        made.append(weakref.ref(array))
        return array

    exe = legato.compile(graph('''
y = R.call_packed("legato.test.results.counted", x, sinfo_args=R.Tensor((m,), "float32"))
return R.add(y, y)
'''))
    result = exe(np.ones(3, F))
    gc.collect()
    assert made[0]() is None
    np.testing.assert_array_equal(result, 2 * np.arange(5))


def test_a_result_in_an_arguments_memory_outlives_it():
    """The argument's buffer is used again while the result is needed: the result has been copied."""
    packed("itself")(lambda x: x)
    packed("tail")(lambda x: np.from_dlpack(x)[1:])
    packed("negative")(lambda x, out: np.negative(np.from_dlpack(x), out=np.from_dlpack(out)))
    exe = legato.compile(graph('''
a = R.exp(x)
b = R.call_packed("legato.test.results.itself", a, sinfo_args=R.Tensor((n,), "float32"))
t = R.call_packed("legato.test.results.tail", a, sinfo_args=R.Tensor((m,), "float32"))
c = R.call_dps_packed("legato.test.results.negative", (x,), R.Tensor((n,), "float32"))
d = R.call_dps_packed("legato.test.results.negative", (c,), R.Tensor((n,), "float32"))
e = R.call_dps_packed("legato.test.results.negative", (d,), R.Tensor((n,), "float32"))
return R.add(b, e), R.exp(t)
'''))
    x = np.linspace(-1, 1, 9, dtype=F)
    both, tail = exe(x)
    np.testing.assert_allclose(both, np.exp(x) - x, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(tail, np.exp(np.exp(x)[1:]), rtol=1e-6)


@pytest.mark.parametrize("make", [
    lambda x: np.asfortranarray(x), lambda x: x[::-1], lambda x: np.repeat(x, 2, 1)[:, ::2], lambda x: misaligned(x)],
    ids=["transposed", "reversed", "strided", "misaligned"])
def test_strided_and_misaligned_results_are_copied(make):
    packed("strided")(lambda x: make(np.from_dlpack(x)))
    exe = legato.compile(graph('''
y = R.call_packed("legato.test.results.strided", x, sinfo_args=R.Tensor((n, 3), "float32"))
return R.exp(y)
''', 'x: R.Tensor(("n", 3), "float32")'))
    x = np.random.default_rng(0).standard_normal((4, 3)).astype(F)
    np.testing.assert_allclose(exe(x), np.exp(make(x)), rtol=1e-6)


def misaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)
    raw[1:] = np.frombuffer(x.tobytes(), np.uint8)
    return raw[1:].view(F).reshape(x.shape)


def test_no_memory_is_an_error_and_leaves_nothing():
    exe = legato.compile(graph('''
y = R.call_packed("legato.test.results.positive", x, sinfo_args=R.Tensor((m,), "float32"))
z = R.full((m * 1073741824, 4096), R.const(1, "float32"), "float32")
return R.sum(z), y
'''))
    for _ in range(3):
        with pytest.raises(MemoryError, match="whose size was known only in the middle"):
            exe(np.ones(100, F))
    result = legato.compile(graph('''
y = R.call_packed("legato.test.results.positive", x, sinfo_args=R.Tensor((m,), "float32"))
return R.full((m * 1073741824, 4096), R.const(1, "float32"), "float32")
'''))
    with pytest.raises(MemoryError, match="whose size was known only in the middle"):
        result(np.ones(100, F))


def test_two_threads_call_one_model(exe):
    errors = []

    def work(seed):
        rng = np.random.default_rng(seed)
        try:
            for _ in range(300):
                x = rng.standard_normal(rng.integers(1, 60)).astype(F) / 10
                np.testing.assert_allclose(exe(x)[0], compacted(x), rtol=1e-4)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_a_packed_function_calls_the_model_again():
    model = {}

    @packed("again")
    def again(x):
        x = np.from_dlpack(x).copy()
        return x if len(x) <= 1 else np.concatenate([model["exe"](x[1:]), x[:1]])

    model["exe"] = legato.compile(graph('''
y = R.call_packed("legato.test.results.again", x, sinfo_args=R.Tensor((n,), "float32"))
return R.add(y, R.const(1, "float32"))
'''))
    x = np.arange(6, dtype=F)
    expected = x.copy()
    for i in range(6):
        expected[i] += i + 1
    np.testing.assert_array_equal(model["exe"](x)[::-1], expected)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    path = tmp_path_factory.mktemp("c") / "packed.so"
    includes = [f"-I{tvm_ffi.libinfo.find_include_path()}", f"-I{tvm_ffi.libinfo.find_dlpack_include_path()}"]
    found = Path(tvm_ffi.libinfo.find_libtvm_ffi())
    subprocess.run(["cc", "-shared", "-fPIC", *includes, "-o", path, Path(__file__).parent / "inputs" / "packed.c", f"-L{found.parent}",
                    f"-l:{found.name}", f"-Wl,-rpath,{found.parent}"], check=True)
    return path


IN_C = graph('''
y = R.call_packed("legato.test.results.c_compact", x, sinfo_args=R.Tensor((m,), "float32"))
z = R.call_packed("legato.test.results.c_same", R.exp(y), sinfo_args=R.Tensor((m,), "float32"))
return R.add(y, z)
''')


def register(library):
    module = tvm_ffi.load_module(str(library))
    for name in ("compact", "same", "fail"):
        tvm_ffi.register_global_func(f"legato.test.results.c_{name}", module[name], override=True)


def test_functions_in_c(library):
    register(library)
    exe = legato.compile(IN_C)
    x = np.linspace(-1, 1, 10, dtype=F)
    found = [exe(x) for _ in range(1000)][-1]
    np.testing.assert_allclose(found, x[x > 0] + np.exp(x[x > 0]), rtol=1e-6)
    failing = legato.compile(graph('''
y = R.call_packed("legato.test.results.c_compact", x, sinfo_args=R.Tensor((m,), "float32"))
return R.call_packed("legato.test.results.c_fail", y, sinfo_args=R.Tensor((m,), "float32"))
'''))
    with pytest.raises(ValueError, match="as it was told"):
        failing(x)


def test_a_saved_model_finds_its_functions_in_another_process(library, tmp_path):
    register(library)
    path = legato.compile(IN_C).save(tmp_path / "model.legato")
    program = f"""
import sys, numpy as np, tvm_ffi
from legato.runtime import load
try:
    load({str(path)!r})
except Exception as error:
    print(type(error).__name__, error)
module = tvm_ffi.load_module({str(library)!r})
for name in ("compact", "same"):
    tvm_ffi.register_global_func(f"legato.test.results.c_{{name}}", module[name])
assert "legato.core.mlir" not in sys.modules
print(load({str(path)!r})(np.array([1, -1, 2], "float32")).tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    error, values = done.stdout.strip().split("\n")
    assert "calls the packed function 'legato.test.results.c_compact', which is not there" in error and "register_global_func" in error
    x = np.array([1, 2], F)
    np.testing.assert_allclose(eval(values), x + np.exp(x), rtol=1e-6)


def test_what_depends_on_no_data_is_compiled_as_before():
    """The same main, and no frame: only a packed function's result brings one."""
    module = graph("return R.exp(x)")
    lowered = str(legato.lower(module))
    assert "legato.open_frame" not in lowered and "legato.call_returning" not in lowered and "tir.frame" not in lowered
    assert "legato.open_frame" in str(legato.lower(COMPACT))
