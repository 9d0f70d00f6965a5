"""T.call_packed and T.call_extern: functions of the run time and of C, called from inside kernels."""
import shutil
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tvm_ffi

import legato
from legato.script import I, R, T, parse, print_script

F = "float32"


def packed(name):
    return lambda function: tvm_ffi.register_global_func(f"legato.test.kernel.{name}", function, override=True)


given = []


@packed("sine")
def sine(x, *rest):
    *rest, y = rest
    given.append(rest)
    np.sin(np.from_dlpack(x), out=np.from_dlpack(y))


@packed("total")
def total(x, i):
    return float(np.from_dlpack(x).sum()) + i


@T.prim_func
def mixed(A: T.Buffer((8, 4), F), B: T.Buffer((8, 4), F), C: T.Buffer((8,), F)):
    tmp = T.alloc_buffer((8, 4), F)
    T.call_packed("legato.test.kernel.sine", A, 3, 1.5, "text", True, tmp)
    for i in range(8):
        for j in range(4):
            B[i, j] = tmp[i, j] * T.float32(2)
        x = T.call_packed("legato.test.kernel.total", A[i, 0:4], i, dtype="float32")
        C[i] = x


def test_buffers_parts_of_them_numbers_and_texts():
    a = np.random.default_rng(0).random((8, 4)).astype(F)
    b, c = legato.compile(mixed)(a)
    np.testing.assert_allclose(b, 2 * np.sin(a), rtol=1e-6)
    np.testing.assert_allclose(c, a.sum(1) + np.arange(8), rtol=1e-6)
    assert given[-1] == [3, 1.5, "text", True]


@I.ir_module
class Symbolic:
    @T.prim_func
    def step(x: T.handle, y: T.handle):
        n, m = T.int64(), T.int64()
        X = T.match_buffer(x, (n, m), F)
        Y = T.match_buffer(y, (n, m), F)
        T.evaluate(T.call_packed("legato.test.kernel.negate", X[0:n, 1:m], n, Y))
        for i in T.serial(n):
            Y[i, 0] = X[i, 0]

    @R.function
    def main(x: R.Tensor(("a", 6), F), y: R.Tensor((3, "b"), F)):
        u = R.call_tir(Symbolic.step, (x,), R.Tensor(("a", 6), F))
        v = R.call_tir(Symbolic.step, (R.exp(u),), R.Tensor(("a", 6), F))
        w = R.call_tir(Symbolic.step, (y,), R.Tensor((3, "b"), F))
        return v, w


@packed("negate")
def negate(x, n, y):
    x, y = np.from_dlpack(x), np.from_dlpack(y)
    assert len(x) == n and not x.flags.c_contiguous
    y[:, 1:] = -x


def stepped(x):
    return np.concatenate([x[:, :1], -x[:, 1:]], 1)


def test_a_kernel_called_several_times_with_symbolic_sizes():
    rng = np.random.default_rng(1)
    x, y = rng.random((5, 6)).astype(F), rng.random((3, 9)).astype(F)
    v, w = legato.compile(Symbolic)(x, y)
    np.testing.assert_allclose(v, stepped(np.exp(stepped(x))), rtol=1e-6)
    np.testing.assert_allclose(w, stepped(y), rtol=1e-6)


@T.prim_func
def types(A: T.Buffer((6,), "uint8"), B: T.Buffer((6,), "bool"), C: T.Buffer((6,), "int64"), D: T.Buffer((2, 3), "float16")):
    inner = T.decl_buffer((2, 3), "uint8", data=A.data)
    for i in range(6):
        C[i] = T.call_packed("legato.test.kernel.types", inner, B[1:4], A[i], B[i], T.float64(0.5), T.int16(-3), dtype="int64")
    T.call_packed("legato.test.kernel.halves", A, D)


@packed("types")
def seen_types(a, b, one, flag, half, short):
    a, b = np.from_dlpack(a), np.from_dlpack(b)
    assert (a.dtype, a.shape, b.dtype, b.shape) == (np.uint8, (2, 3), np.bool_, (3,))
    assert (type(one), type(flag), half, short) == (int, bool, 0.5, -3)
    return one * 2 + flag


@packed("halves")
def halves(a, d):
    np.from_dlpack(d)[:] = np.from_dlpack(a).reshape(2, 3) / 2


def test_types_of_elements_and_numbers():
    a, b = np.array([0, 1, 127, 128, 200, 255], np.uint8), np.array([1, 0, 1, 0, 1, 0], bool)
    c, d = legato.compile(types)(a, b)
    np.testing.assert_array_equal(c, a.astype("int64") * 2 + b)
    np.testing.assert_array_equal(d, (a.reshape(2, 3) / 2).astype("float16"))


class Stop(Exception):
    pass


STEPS = []


@packed("fails_at")
def fails_at(x, i):
    STEPS.append(i)
    if i == 3:
        raise IndexError("at three")


@T.prim_func
def failing(A: T.Buffer((8,), F), B: T.Buffer((8,), F)):
    for i in range(8):
        B[i] = A[i]
        T.call_packed("legato.test.kernel.fails_at", A, i)


@R.function
def around_failing(x: R.Tensor((8,), F)):
    y = R.call_tir(failing, (R.exp(x),), R.Tensor((8,), F))
    R.call_packed("legato.test.kernel.fails_at", y, 100, sinfo_args=R.Tuple())
    return y


def test_an_error_ends_the_kernel_and_the_model_and_arrives_as_it_is():
    exe = legato.compile(around_failing)
    for _ in range(3):
        STEPS.clear()
        with pytest.raises(IndexError, match="at three"):
            exe(np.zeros(8, F))
        assert STEPS == [0, 1, 2, 3], "what follows the error is not run"


@T.prim_func
def with_buffers(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), F)
    B = T.match_buffer(b, (n,), F)
    for i in range(4):
        inner = T.alloc_buffer((n,), F)
        for j in range(n):
            inner[j] = A[j] + T.float32(i)
        T.call_packed("legato.test.kernel.fails_at", inner, i)
        for j in range(n):
            B[j] = inner[j]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_an_error_frees_the_buffers_of_the_loop_that_it_leaves():
    assert "memref.dealloc" in str(legato.lower(with_buffers, last="bufferized"))
    exe, x = legato.compile(with_buffers), np.zeros(1 << 16, F)

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    for calls in (20, 400):
        before = resident()
        for _ in range(calls):
            with pytest.raises(IndexError, match="at three"):
                exe(x)
    assert resident() - before < 20 << 20  # one buffer a call would be 100 MB


@pytest.mark.parametrize(("result", "dtype", "message"), [
    ("text", "int32", "'legato.test.kernel.wrong' must return an int, but a str came back"),
    (1.5, "int64", "an int, but a float came back"),
    (None, "float32", "a float, but None came back")])
def test_a_value_of_another_type(result, dtype, message):
    packed("wrong")(lambda x: result)
    kernel = parse(f'''
@T.prim_func
def k(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "{dtype}")):
    B[0] = T.call_packed("legato.test.kernel.wrong", A, dtype="{dtype}")
    B[1] = B[0]
''')
    with pytest.raises(TypeError, match=message):
        legato.compile(kernel)(np.zeros(2, F))


def test_an_int_serves_as_a_float():
    packed("wrong")(lambda x: 3)
    kernel = parse('''
@T.prim_func
def k(A: T.Buffer((2,), "float32"), B: T.Buffer((1,), "float32")):
    B[0] = T.call_packed("legato.test.kernel.wrong", A, dtype="float32")
''')
    assert legato.compile(kernel)(np.zeros(2, F)) == 3


REFUSED = {
    "parallel": ("for i in T.parallel(4):\n        T.call_packed('f', A, i)\n        B[i] = A[i]", "the loop i around this one is par"),
    "vectorized": ("for i in T.vectorized(4):\n        B[i] = A[i]\n        T.call_packed('f', A, i)", "is vectorized"),
    "no name": ("T.call_packed(A, B)", "calls a packed function by its name"),
    "nothing": ("T.call_packed()", "says the name of the function"),
    "keyword": ("T.call_packed('f', A, B, where=3)", "has no argument 'where'"),
    "steps": ("T.call_packed('f', A[0:4:2], B)", "has no steps"),
    "outside": ("T.call_packed('f', A[0:4, 0:2], B)", "1 dimensions, and 2 indices"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_at_its_line(case):
    body, message = REFUSED[case]
    with pytest.raises(legato.LegatoError, match=message):
        parse(f'@T.prim_func\ndef k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n    {body}\n')


def test_a_loop_that_a_schedule_makes_parallel_is_refused():
    packed("row")(lambda x, i: None)
    sch = legato.Schedule(parse('''
@T.prim_func
def k(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in range(4):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
                T.call_packed("legato.test.kernel.row", A, vi)
'''))
    sch.parallel(sch.get_loops(sch.get_block("B"))[0])
    with pytest.raises(legato.LegatoError, match=r"calls the packed function 'legato.test.kernel.row' in a parallel loop"):
        legato.compile(sch.module)


def test_a_gpu_calls_no_function_of_the_host():
    with pytest.raises(legato.LegatoError, match=r"the kernel @mixed calls the packed function '.*sine', which a GPU cannot"):
        legato.lower(mixed, "nvvm")


def test_a_missing_function_is_named():
    kernel = parse('@T.prim_func\ndef k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n'
                   '    T.call_packed("legato.test.kernel.sin", A, B)\n')
    with pytest.raises(legato.LegatoError, match=r"calls the packed function 'legato.test.kernel.sin', which is not there; did you mean "
                                                 "legato.test.kernel.sine.*It is called in the kernel @k"):
        legato.compile(kernel)


def test_saved_and_in_two_threads(tmp_path):
    path = legato.compile(mixed).save(tmp_path / "mixed.so")
    exe = legato.load(path)
    errors = []

    def work(seed):
        rng = np.random.default_rng(seed)
        try:
            for _ in range(100):
                a = rng.random((8, 4)).astype(F)
                b, c = exe(a)
                np.testing.assert_allclose(b, 2 * np.sin(a), rtol=1e-6)
                np.testing.assert_allclose(c, a.sum(1) + np.arange(8), rtol=1e-6)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_printed_kernels_call_the_same():
    text = print_script(mixed.module())
    assert 'T.call_packed("legato.test.kernel.sine", A, 3, 1.5, "text", True, tmp)' in text
    assert 'T.call_packed("legato.test.kernel.total", A[i, 0:4], i, dtype="float32")' in text
    a = np.random.default_rng(0).random((8, 4)).astype(F)
    b, c = legato.compile(parse(text))(a)
    np.testing.assert_allclose(b, 2 * np.sin(a), rtol=1e-6)
    np.testing.assert_allclose(c, a.sum(1) + np.arange(8), rtol=1e-6)
    x = np.random.default_rng(1).random((3, 6)).astype(F)
    again = legato.compile(parse(print_script(Symbolic)))
    np.testing.assert_allclose(again(x, x)[1], stepped(x), rtol=1e-6)


@packed("print_row")
def print_row(address, i):
    given.append((address, i))


@T.prim_func
def addresses(A: T.Buffer((4, 8), F), B: T.Buffer((4, 8), F)):
    for i, j in T.grid(4, 8):
        B[i, j] = A[i, j]
    for i in range(4):
        T.call_packed("legato.test.kernel.print_row", T.address_of(A[i, 0]), i)


def test_addresses():
    given.clear()
    legato.compile(addresses)(np.zeros((4, 8), F))
    at = [getattr(address, "value", address) for address, _ in given]
    assert [b - a for a, b in pairwise(at)] == [32, 32, 32] and [i for _, i in given] == [0, 1, 2, 3]


# --- functions of C ---

EXTERNAL = """
float dot(const float* a, const float* b, int n) { float s = 0; for (int i = 0; i < n; ++i) s += a[i] * b[i]; return s; }
void scale(const double* from, double* to, int n, double by) { for (int i = 0; i < n; ++i) to[i] = from[i] * by; }
long long add(const signed char* a, short b, long long c) { return a[0] + b + c; }
double widest(const unsigned char* a, int n) { unsigned char m = 0; for (int i = 0; i < n; ++i) m = a[i] > m ? a[i] : m; return m; }
"""


@T.prim_func
def calls_c(A: T.Buffer((4, 8), F), D: T.Buffer((8,), "float64"), I8: T.Buffer((8,), "int8"), U8: T.Buffer((8,), "uint8"),
            B: T.Buffer((4,), F), E: T.Buffer((8,), "float64"), G: T.Buffer((8,), "int64"), H: T.Buffer((1,), "float64")):
    for i in range(4):
        B[i] = T.call_extern("float32", "legato_test_dot", T.address_of(A[i, 0]), A.access_ptr("r"), 8)
    for i in range(8):
        G[i] = T.call_extern("int64", "legato_test_add", T.address_of(I8[i]), T.int16(-7), T.int64(1) << T.int64(40))
        E[i] = T.float64(0)
    T.evaluate(T.call_extern("void", "legato_test_scale", D.data, E.access_ptr("w"), 8, T.float64(0.25)))
    H[0] = T.call_extern("float64", "legato_test_widest", U8.data, 8)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_functions_of_c(tmp_path):
    """In a process of its own, for the library's names stay known."""
    source = EXTERNAL
    for name in ("dot", "scale", "add", "widest"):
        source = source.replace(f" {name}(", f" legato_test_{name}(")
    (tmp_path / "c.c").write_text(source)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", tmp_path / "c.so", tmp_path / "c.c"], check=True)
    program = f"""
import ctypes, importlib.util, sys, numpy as np
ctypes.CDLL({str(tmp_path / "c.so")!r}, ctypes.RTLD_GLOBAL)
spec = importlib.util.spec_from_file_location("kernels", {str(Path(__file__))!r})
kernels = sys.modules["kernels"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernels)
import legato
rng = np.random.default_rng(0)
a, d = rng.random((4, 8)).astype("float32"), rng.random(8)
i8, u8 = np.arange(-4, 4, dtype="int8"), np.array([1, 200, 3, 255, 0, 9, 8, 7], "uint8")
b, e, g, h = legato.compile(kernels.calls_c)(a, d, i8, u8)
np.testing.assert_allclose(b, a @ a[0], rtol=1e-5)
np.testing.assert_array_equal(e, d * 0.25)
np.testing.assert_array_equal(g, i8.astype("int64") - 7 + (1 << 40))
assert h[0] == 255
print("good")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "good", done.stderr
