"""What TVM's tutorials call on tensors, functions and modules outside of scripts: reductions and words of T, size symbols, show."""
import numpy as np
import pytest

import legato
from legato.script import ir as I
from legato.script import parse
from legato.script import relax as R
from legato.script import tir as T

F = np.float32
X = (np.random.default_rng(0).random((6, 8)) - 0.5).astype(F)
A, K = T.placeholder((6, 8), name="A"), T.reduce_axis((0, 8), "k")


def computed(*tensors):
    return legato.compile(T.create_prim_func([A, *tensors]))(X)


@pytest.mark.parametrize("word, expected", [("max", np.max), ("min", np.min), ("sum", np.sum), ("prod", np.prod)])
def test_reductions_by_keyword_by_place_and_over_several_axes(word, expected):
    reduced, r = getattr(T, word), T.reduce_axis(6, "r")
    by_keyword, by_place, of_all = computed(T.compute((6,), lambda i: reduced(A[i, K], axis=K), name="rows"),
                                            T.compute((6,), lambda i: reduced(A[i, K], K), name="again"),
                                            T.compute((1,), lambda i: reduced(A[r, K], axis=[r, K]), name="whole"))
    np.testing.assert_allclose(by_keyword, expected(X, 1), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(by_place, by_keyword)
    np.testing.assert_allclose(of_all, [expected(X)], rtol=1e-4, atol=1e-6)


def test_functions_of_elements():
    found = computed(T.compute((6, 8), lambda i, j: T.max(T.min(A[i, j], 0.25), 0.0), name="clipped"),
                     T.compute((6, 8), lambda i, j: T.exp(A[i, j]), name="powers"),
                     T.compute((6, 8), lambda i, j: T.Select(A[i, j] > 0.0, A[i, j], T.abs(A[i, j]) * 2.0), name="chosen"))
    np.testing.assert_allclose(found[0], np.clip(X, 0, 0.25), rtol=1e-6)
    np.testing.assert_allclose(found[1], np.exp(X), rtol=1e-5)
    np.testing.assert_allclose(found[2], np.where(X > 0, X, abs(X) * 2), rtol=1e-6)


def test_size_symbols():
    n, m = T.var("n", "int64"), T.var("int64")
    a, k = T.placeholder((n, m), name="a"), T.reduce_axis((0, m), "k")
    top = T.compute((n,), lambda i: T.max(a[i, k], axis=k), name="top")
    shifted = T.compute((n, m), lambda i, j: a[i, j] - top[i] + T.cast(n, "float32"), name="shifted")
    twice = T.compute((n * 2,), lambda i: a[i // 2, 0], name="twice")
    found = legato.compile(T.create_prim_func([a, top, shifted, twice]))(X)
    np.testing.assert_array_equal(found[0], X.max(1))
    np.testing.assert_allclose(found[1], X - X.max(1, keepdims=True) + 6, rtol=1e-6)
    np.testing.assert_array_equal(found[2], X[:, 0].repeat(2))


@pytest.mark.parametrize("call, said", [
    (lambda: T.var("n", "float32"), "the size symbol 'n' is an integer"),
    (lambda: T.var(3), "a size symbol has a name"),
    (lambda: T.max(1, 2), r"T\.max\(\.\.\.\) has a meaning inside of a script only"),
    (lambda: T.grid(A[0, 0]), r"T\.grid\(\.\.\.\) has a meaning inside of a script only")])
def test_what_has_no_meaning(call, said):
    with pytest.raises(legato.LegatoError, match=said):
        call()


@T.prim_func
def kernel(x: T.Buffer((6, 8), "float32"), y: T.Buffer((6, 8), "float32")):
    for i, j in T.grid(6, 8):
        y[i, j] = x[i, j] * T.float32(2)


@R.function
def graph(x: R.Tensor((6, 8), "float32")):
    return R.multiply(x, R.const(2.0, "float32"))


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((6, 8), "float32")):
        return R.add(x, x)


@pytest.mark.parametrize("shown", [kernel, graph, Module, T.create_prim_func([A, T.compute((6, 8), lambda i, j: A[i, j] * 2.0, name="B")])])
def test_show_prints_a_script(shown, capsys):
    shown.show()
    text = capsys.readouterr().out
    assert "@I.ir_module" in text
    np.testing.assert_array_equal(legato.compile(parse(text))(X), X * 2)


def test_show_prints_mlir_where_scripts_lack_an_op(capsys):
    legato.Module.parse("""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = math.exp %x : tensor<4xf32>
      return %0 : tensor<4xf32> }""").show()
    assert "math.exp %" in capsys.readouterr().out
