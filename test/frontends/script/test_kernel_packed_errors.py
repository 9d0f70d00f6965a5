"""T.call_packed: errors of the functions, results of other types, and where it is refused."""
from pathlib import Path

import numpy as np
import pytest
from kernels_packed import F, mixed, packed

import legato
from legato.script import R, T, parse

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
        inner = T.alloc_buffer((n + i,), F)      # of a size that only the loop knows: what others take is the caller's
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
