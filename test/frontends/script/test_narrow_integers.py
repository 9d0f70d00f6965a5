"""Integers of 8 and 16 bits beside literals, indices and loop variables: computed in int32, as by TVM (0.27), whose results these are."""
import numpy as np
import pytest

import legato
from legato.script import parse, print_script
from legato.script import tir as T

x, u = np.array([-128, -3, 0, 5, 127], "int8"), np.array([0, 3, 128, 250, 255], "uint8")
w = np.array([-(2**31), -1, 0, 7, 2**31 - 1], "int32")
X, U, W, I = (a.astype(np.int64) for a in (x, u, w, np.arange(5)))
CASES = {
    "U[i] - 10": U - 10, "X[i] * 100": X * 100, "100 * X[i]": X * 100, "X[i] + 1000": X + 1000, "X[i] + i": X + I, "U[i] * i": U * I,
    "(U[i] + 250) // 7": (U + 250) // 7, "(X[i] - 100) % 7": (X - 100) % 7, "T.ceildiv(U[i], 100)": -(-U // 100),
    "T.ceildiv(T.min(U[i], T.uint8(1)), T.uint8(255))": np.minimum(U, 1), "T.max(X[i], 1000)": np.maximum(X, 1000),
    "T.Select(X[i] < 200, X[i], 300)": X, "T.if_then_else(X[i] == 200, 1, X[i])": X, "T.Cast('int32', U[i] < 0)": 0 * U,
    "T.Cast('int32', U[i] > -1)": 0 * U + 1, "W[i] + 3000000000": W + 3000000000, "T.Cast('int32', W[i] < 3000000000)": 0 * W + 1,
    # on bits, literals take the other's type
    "X[i] & 15": X & 15, "X[i] & 0xFF": X, "W[i] & 0xFFFFFFFF": W, "X[i] << 1": x << np.int8(1), "U[i] >> 1": U >> 1,
    # integers of two buffers: the wider type
    "X[i] + X[i]": x + x, "X[i] + W[i]": x + w, "U[i] * T.uint8(3)": u * np.uint8(3),
}
FORMAT = """
@T.prim_func
def f(X: T.Buffer((5,), "int8"), U: T.Buffer((5,), "uint8"), W: T.Buffer((5,), "int32"), {}):
    for i in range(5):
        {}
"""


def test_results_are_those_of_int32():
    outputs = ", ".join(f'Y{number}: T.Buffer((5,), "int64")' for number in range(len(CASES)))
    lines = "\n        ".join(f'Y{number}[i] = T.Cast("int64", {text})' for number, text in enumerate(CASES))
    module = parse(FORMAT.format(outputs, lines))
    for given in (module, parse(print_script(module))):
        for (text, want), found in zip(CASES.items(), legato.compile(given)(x, u, w), strict=True):
            np.testing.assert_array_equal(found, want, err_msg=text)


def test_a_stored_result_keeps_the_low_bits():
    module = parse(FORMAT.format('Y: T.Buffer((5,), "uint8")', "Y[i] = U[i] - 10"))
    np.testing.assert_array_equal(legato.compile(module)(x, u, w), u - np.uint8(10))


def test_a_narrow_integer_as_place_in_a_view():
    @T.prim_func
    def rows(places: T.Buffer((5,), "uint8"), A: T.Buffer((256, 4), "float32"), Y: T.Buffer((5,), "float32")):
        flat = T.decl_buffer((1024,), "float32", data=A.data)
        for i in range(5):
            Y[i] = flat[places[i] * 4 + 1]

    a = np.arange(1024, dtype=np.float32).reshape(256, 4)
    np.testing.assert_array_equal(legato.compile(rows)(u, a), a[u, 1])


@pytest.mark.parametrize("text", ["T.int8(200)", "X[i] & 300", "U[i] & -1"])
def test_a_literal_that_the_type_cannot_represent_is_refused(text: str):
    with pytest.raises(legato.LegatoError, match=r"is no value of type u?int8"):
        parse(FORMAT.format('Y: T.Buffer((5,), "int8")', f"Y[i] = {text}"))
