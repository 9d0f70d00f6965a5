"""What users of TVM write in a compute, and in Python functions that a kernel calls: each works, or is refused at the user's line."""
# pyright: reportInvalidTypeForm=false
import numpy as np
import pytest

import legato
from legato.script import tir as T

X = np.array([-2, -1, 0, 1, 2, 3], "float32")
K = T.reduce_axis(6, "k")
N = T.var("n", "int64")


def computed(body, shape=(6,), given=X, size=6):
    A = T.placeholder((size,), str(given.dtype), name="A")
    return legato.compile(T.create_prim_func([A, T.compute(shape, body(A), name="B")], "kernel"))(given)


def relu(x):
    return T.if_then_else(x > 0, x, 0.0)


@pytest.mark.parametrize("body, expected", [
    (lambda A: lambda i: T.if_then_else(A[i] > 0, A[i], 0.0), np.maximum(X, 0)),
    (lambda A: lambda i: T.if_then_else(i > 0, A[i - 1], 9.0), [9, -2, -1, 0, 1, 2]),
    (lambda A: lambda i: T.if_then_else(T.all(i > 0, i < 3), A[i - 1], T.float32(0)), [0, -2, -1, 0, 0, 0]),
    (lambda A: lambda i: T.if_then_else(i > 2, 1.0, T.if_then_else(i > 1, A[i], 2.0)), [2, 2, 0, 1, 1, 1]),
    (lambda A: lambda i: T.if_then_else(True, A[i], 2.0), X),
    (lambda A: lambda i: relu(A[i]), np.maximum(X, 0)),
    (lambda A: lambda i: T.Select(i == 2, A[i], 9.0), [9, 9, 0, 9, 9, 9]),
    (lambda A: lambda i: T.Select(i != 2, A[i], 9.0), [-2, -1, 9, 1, 2, 3]),
    (lambda A: lambda i: T.Select(T.likely(i < 3), A[i], 0.0), [-2, -1, 0, 0, 0, 0]),
    (lambda A: lambda i: T.Select(~(i > 1), A[i], 0.0), [-2, -1, 0, 0, 0, 0]),
    (lambda A: lambda i: abs(A[i]) ** 2, X * X),
    (lambda A: lambda i: A(i).astype("float32") + T.cast(i, "float32"), X + np.arange(6)),
    (lambda A: lambda *i: A(*i) + 1, X + 1),
    (lambda A: lambda i: np.float32(2) * A[i] + np.float32(1), X * 2 + 1),
    (lambda A: lambda i: T.max(A[i], T.min_value("float32")) + T.float32(i), X + np.arange(6)),
    (lambda A: lambda i: T.call_pure_extern("float32", "fabsf", A[i]), np.abs(X)),
])
def test_elements(body, expected):
    np.testing.assert_array_equal(computed(body), np.array(expected, "float32"))


@pytest.mark.parametrize("body, expected", [
    (lambda A: lambda i: T.sum(A[K], axis=K, where=K > 2), 6),
    (lambda A: lambda i: T.max(A[K], axis=K, where=K < 2), -1),
    (lambda A: lambda i: T.sum(T.if_then_else(K > 2, A[K - 3], 0.0), axis=K), -3),
])
def test_reductions_of_some_values(body, expected):
    np.testing.assert_array_equal(computed(body, (1,)), np.array([expected], "float32"))


@pytest.mark.parametrize("body", [
    lambda A: lambda i: T.if_then_else(i == N - 1, A[N - 1 - i], 5.0), lambda A: lambda i: T.if_then_else(N - 1 == i, A[N - 1 - i], 5.0),
    lambda A: lambda i: T.if_then_else(i == A.shape[0] - 1, A[A.shape[0] - 1 - i], 5.0)])
def test_sizes_that_are_symbols(body):
    np.testing.assert_array_equal(computed(body, (N,), size=N), np.array([5, 5, 5, 5, 5, -2], "float32"))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float16", "float64", "uint8"])
def test_elements_have_the_types_of_their_expressions(dtype):
    given = np.array([100, 2, 27], dtype)
    y = computed(lambda A: lambda i: A[i] * 2 + 1, (3,), given, 3)
    wide = given.astype("int32") if dtype == "uint8" else given   # narrow integers beside literals are computed in int32
    np.testing.assert_array_equal(y, wide * 2 + 1, strict=True)


def test_conditions_are_booleans():
    np.testing.assert_array_equal(computed(lambda A: lambda i: A[i] > 0), X > 0, strict=True)


@pytest.mark.parametrize("body", [
    lambda A: lambda i: A[i] if A[i] > 0 else 0.0, lambda A: lambda i: A[i] if i == 2 else 0.0, lambda A: lambda i: max(A[i], 0.0),
    lambda A: lambda i: T.Select(i > 1 and i < 3, A[i], 0.0), lambda A: lambda i: T.Select(not i > 1, A[i], 0.0)])
def test_python_cannot_choose(body):
    with pytest.raises(TypeError, match="whether a value of the kernel holds is known at run time only"):
        computed(body)


@pytest.mark.parametrize("body, message", [
    (lambda A: lambda i: A[i, i], "'A' has 1 dimension, and 2 indices are given"),
    (lambda A: lambda i: A[i + 1], "the indices of 'A' on axis 0 go from 1 to 6"),
    (lambda A: lambda i: T.sum(A[K], axis=K) + 1, "a reduction is the whole body of a compute"),
    (lambda A: lambda i: T.erf(i), "a float is wanted here, not index"),
    (lambda A: lambda i: T.lgamma(A[i], A[i]), r"T.lgamma takes 1 \(x\), not 2"),
    (lambda A: lambda i: T.hypot(A[i]), r"T.hypot takes 2 \(x, y\), not 1"),
])
def test_errors_stand_at_the_users_line(body, message):
    with pytest.raises(legato.LegatoError, match=message) as error:
        computed(body)
    assert str(error.value).startswith(f"{__file__}:") and "lambda A: lambda i:" in str(error.value).splitlines()[1]


@pytest.mark.parametrize("body, message", [
    (lambda A: lambda i: (A[i], A[i]), "compute 'B': its function gives several values"),
    (lambda A: lambda i: None, "compute 'B': its function gives None: is a return missing?"),
    (lambda A: lambda i: T.exp(A[i], A[i]), "T.exp: too many positional arguments"),
    (lambda A: lambda i, j: A[i], "1 sizes, and a function of 2 indices"),
])
def test_what_is_no_expression_is_refused(body, message):
    with pytest.raises(legato.LegatoError, match=message):
        computed(body)


def test_elements_are_not_iterated_over():
    with pytest.raises(TypeError, match="the elements of 'A' are read by their indices"):
        computed(lambda A: lambda i: sum(A))


def at_two(i, x):
    return T.Select(i == 2, x, 9.0)


def not_at_two(i, x):
    return T.Select(i != 2, x, T.max(x, T.min_value("float32")))


@T.prim_func
def compares(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    for i in range(6):
        B[i] = at_two(i, A[i])
        C[i] = not_at_two(i, A[i])


def test_functions_that_a_kernel_calls_compare():
    at, other = legato.compile(compares)(X)
    np.testing.assert_array_equal(at, np.where(np.arange(6) == 2, X, 9))
    np.testing.assert_array_equal(other, X)


def chooses(i, x):
    return x if i == 2 else x + 1.0


def guards(i, x):
    return T.if_then_else(i == 2, x, 0.0)


@pytest.mark.parametrize("function, message", [
    (chooses, "use T.if_then_else or T.Select"), (guards, "use T.Select, or write a macro, @T.macro")])
def test_functions_that_a_kernel_calls_cannot_choose(function, message):
    with pytest.raises(legato.LegatoError, match=message):
        @T.prim_func
        def kernel(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
            for i in range(6):
                B[i] = function(i, A[i])
