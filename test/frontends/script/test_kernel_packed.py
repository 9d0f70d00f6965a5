"""T.call_packed: buffers, parts of them, numbers, texts and addresses as arguments, and numbers as results."""
import threading
from itertools import pairwise

import numpy as np
from kernels_packed import F, given, mixed, packed

import legato
from legato.script import I, R, T, parse, print_script


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
    np.negative(x, out=y[:, 1:])


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
    np.divide(np.from_dlpack(a).reshape(2, 3), 2, out=np.from_dlpack(d))


def test_types_of_elements_and_numbers():
    a, b = np.array([0, 1, 127, 128, 200, 255], np.uint8), np.array([1, 0, 1, 0, 1, 0], bool)
    c, d = legato.compile(types)(a, b)
    np.testing.assert_array_equal(c, a.astype("int64") * 2 + b)
    np.testing.assert_array_equal(d, (a.reshape(2, 3) / 2).astype("float16"))


def test_an_int_serves_as_a_float():
    packed("wrong")(lambda x: 3)
    kernel = parse('''
@T.prim_func
def k(A: T.Buffer((2,), "float32"), B: T.Buffer((1,), "float32")):
    B[0] = T.call_packed("legato.test.kernel.wrong", A, dtype="float32")
''')
    assert legato.compile(kernel)(np.zeros(2, F)) == 3


def test_saved_and_in_two_threads(tmp_path):
    path = legato.compile(mixed).save(tmp_path / "mixed.legato")
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
