"""The functions of ``T`` are one table: an entry of it makes a word of scripts, of Python functions and of the printer."""
import ast

import numpy as np
import pytest

import legato
from legato.core.mlir import math
from legato.frontends.script.kernel.arithmetic import binary
from legato.frontends.script.kernel.intrinsics import ScalarFunction, unary
from legato.frontends.script.kernel.vocabulary import FUNCTIONS
from legato.frontends.script.language.words import word_path
from legato.script import T, parse, print_script, tir


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_entry_is_a_word_of_T(name):
    assert callable(getattr(T, name)) and callable(getattr(tir, name))
    call = ast.parse(f"T.{name}(x)", mode="eval").body
    assert word_path(call, {"T": T}, ()) == ["T", name]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_entry_is_known_to_kernels(name):
    """With arguments that are wrong it says so; a word that is no function is not supported."""
    with pytest.raises(legato.LegatoError) as error:
        parse(KERNEL.format(call=f"T.{name}(A, A, A, A, nonsense=A)"))
    assert "not supported" not in str(error.value)
    with pytest.raises(legato.LegatoError, match=f"T.no_{name} is not supported as a value in a kernel"):
        parse(KERNEL.format(call=f"T.no_{name}(A)"))


KERNEL = '''
@T.prim_func
def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = {call}
'''


@pytest.fixture
def cube(monkeypatch):
    monkeypatch.setitem(FUNCTIONS, "cube", ScalarFunction(lambda x: binary("*", x, binary("*", x, x))))


def cube_and_one(x):
    return T.cube(x) + 1.0


@pytest.mark.parametrize(("call", "more"), [("T.cube(A[i])", 0), ("cube_and_one(A[i])", 1)])
def test_one_entry_adds_a_function(cube, call, more):
    x = np.arange(4, dtype="float32")
    module = parse(KERNEL.format(call=call), cube_and_one=cube_and_one)
    np.testing.assert_array_equal(legato.compile(module)(x), x**3 + more)


def test_one_entry_adds_a_function_of_compute(cube):
    A = T.placeholder((4,))
    B = T.compute((4,), lambda i: T.apply("cube", A[i]), name="B")
    x = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(legato.compile(T.create_prim_func([A, B]))(x), x**3)


def test_without_the_entry_there_is_no_such_function():
    with pytest.raises(legato.LegatoError, match=r"T\.cube is not supported as a value in a kernel"):
        parse(KERNEL.format(call="T.cube(A[i])"))


def test_one_entry_adds_a_word_of_the_printer(monkeypatch):
    monkeypatch.setitem(FUNCTIONS, "cbrt", unary(math.CbrtOp))
    module = parse(KERNEL.format(call="T.cbrt(A[i])"))
    text = print_script(module)
    assert "B[i] = T.cbrt(A[i])" in text
    assert str(parse(text)) == str(module)


ROUNDED = '''
@T.prim_func
def rounded(A: T.Buffer((8,), "float32"), N: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"),
            M: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = T.round(A[i])
        C[i] = T.nearbyint(A[i])
        M[i] = T.round(N[i]) + T.floor(N[i]) + T.Mod(N[i], 3)
'''


def test_halves_are_rounded_to_the_even_number():
    """As by TVM (0.27) and numpy; integers are whole, and ``T.Mod`` is C's remainder."""
    a, n = np.array([0.5, 1.5, -0.5, 2.5, -2.5, 0.49, -0.3, np.inf], np.float32), np.arange(-4, 4, dtype=np.int32)
    b, c, m = legato.compile(parse(ROUNDED))(a, n)
    np.testing.assert_array_equal(b, np.rint(a))
    np.testing.assert_array_equal(c, np.rint(a))
    np.testing.assert_array_equal(m, 2 * n + np.fmod(n, 3))


def test_halves_away_from_zero_are_printed_as_an_expression():
    a = np.array([0.5, 1.5, -0.5, 2.5, -2.5, 0.49, -0.3, np.inf, -np.inf, 0.49999997, 8388609, np.nan], np.float32)
    text = str(parse(KERNEL.format(call="T.round(A[i])").replace("(4,)", "(12,)").replace("range(4)", "range(12)")))
    module = legato.Module.parse(text.replace("math.roundeven", "math.round"))
    with np.errstate(invalid="ignore"):
        want = np.where(np.abs(a) < 2**22, np.trunc(a.astype("float64") + np.copysign(0.5, a)), a).astype(np.float32)
    for one in (module, parse(print_script(module))):
        found = np.asarray(legato.compile(one)(a))
        np.testing.assert_array_equal(found, want)
        np.testing.assert_array_equal(np.signbit(found[:11]), np.signbit(a[:11]))
