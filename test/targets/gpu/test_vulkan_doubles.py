"""Functions of f64 on a Vulkan device, against numpy's and scipy's: everywhere, denormal numbers aside, which a device may flush."""
import math

import numpy as np
import pytest
import scipy.special
from thoroughly import thorough
from vulkan_driver import needs_vulkan

import legato
from legato.script import T

pytestmark = needs_vulkan
EXACT = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "exp": np.exp, "log": np.log, "tanh": np.tanh,
    "erf": scipy.special.erf, "erfc": np.vectorize(math.erfc), "sigmoid": scipy.special.expit, "log1p": np.log1p, "expm1": np.expm1,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}
SMALL = np.finfo(np.float64).tiny
BOUND = 1e-15   # relative: 4.5 units in the last place
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 2.5, -2.5, 1e9, -1e9, np.finfo(np.float64).max, np.inf, -np.inf,
                    np.nan])


@T.prim_func
def logarithms_and_angles(X: T.Buffer((2000,), "float64"), Y: T.Buffer((2000,), "float64"), twos: T.Buffer((2000,), "float64"),
                          tens: T.Buffer((2000,), "float64"), powers: T.Buffer((2000,), "float64"), angles: T.Buffer((2000,), "float64")):
    for i in range(2000):
        with T.block("all"):
            v = T.axis.spatial(2000, i)
            twos[v] = T.log2(X[v])
            tens[v] = T.log10(X[v])
            powers[v] = T.exp2(X[v])
            angles[v] = T.atan2(X[v], Y[v])


def inputs():
    """Numbers of all sizes, many of which are next to multiples of pi/2, or where a function begins to overflow; and exponents."""
    random = np.random.default_rng(0)
    spread = 10.0 ** random.uniform(-300, 300, 1000)
    x = [np.repeat(SPECIAL, SPECIAL.size), random.uniform(0, 10, 500), random.uniform(-10, 10, 500), np.linspace(-1, 1, 501),
         np.linspace(-20, 20, 501), np.linspace(-750, 720, 1000), np.arange(-200, 200) * np.pi / 2, random.standard_normal(1000) * 1e8,
         spread, -spread]
    y = [np.tile(SPECIAL, SPECIAL.size), random.uniform(-300, 300, 500), np.round(random.uniform(-300, 300, 500))]
    left, right = np.concatenate(x), np.concatenate(y)
    return left, np.concatenate([right, np.full(left.size - right.size, 3.0)])


@pytest.mark.parametrize("target", ["vulkan", *thorough(["vulkan{int64=false}"])])
def test_functions_of_f64(target):
    x, y = inputs()
    type_ = f"tensor<{x.size}xf64>"
    ops = [f'"relax.{op}"(%x) : ({type_}) -> {type_}' for op in EXACT] + [f'"relax.power"(%x, %y) : ({type_}, {type_}) -> {type_}']
    lines = "\n".join(f"  %{n} = {op}" for n, op in enumerate(ops))
    values, types = ", ".join(f"%{n}" for n in range(len(ops))), ", ".join([type_] * len(ops))
    text = f"func.func @main(%x: {type_}, %y: {type_}) -> ({types}) {{\n{lines}\n  return {values} : {types}\n}}"
    found = legato.compile(legato.Module.parse(text), target)(x, y)
    with np.errstate(all="ignore"):
        wanted = [*(function(x) for function in EXACT.values()), np.power(x, y)]
    check(dict(zip((*EXACT, "power"), found, strict=True)), wanted)


def test_logarithms_and_angles_of_f64():
    x, y = (values[:2000] for values in inputs())
    x[1000:1040] = [*(2.0 ** np.arange(-10, 10)), *(10.0 ** np.arange(-10, 10))]    # whose logarithms are whole
    found = legato.compile(logarithms_and_angles, "vulkan")(x, y)
    with np.errstate(all="ignore"):
        wanted = [np.log2(x), np.log10(x), np.exp2(x), np.arctan2(x, y)]
    check(dict(zip(("log2", "log10", "exp2", "atan2"), found, strict=True)), wanted)
    assert (found[0][1000:1020] == np.arange(-10, 10)).all() and (found[1][1020:1040] == np.arange(-10, 10)).all()


def check(found, wanted):
    """Special values and signs are the same, numbers as close as the bound says."""
    for (op, one), exact in zip(found.items(), wanted, strict=True):
        np.testing.assert_array_equal(np.isnan(one), np.isnan(exact), op)
        np.testing.assert_array_equal(one[np.isinf(exact)], exact[np.isinf(exact)], op)
        np.testing.assert_array_equal(np.signbit(one)[~np.isnan(exact)], np.signbit(exact)[~np.isnan(exact)], op)
        finite = np.isfinite(exact)
        np.testing.assert_allclose(one[finite], exact[finite], rtol=BOUND, atol=SMALL, err_msg=op)
