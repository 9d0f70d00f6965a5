"""Functions of f32 on a Vulkan device, against scipy's of f64: everywhere, denormal results aside, which a device may flush."""
import numpy as np
import pytest
import scipy.special
from vulkan_driver import needs_vulkan

import legato

pytestmark = needs_vulkan
EXACT = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "exp": np.exp, "log": np.log, "tanh": np.tanh,
    "erf": scipy.special.erf, "sigmoid": scipy.special.expit, "log1p": np.log1p, "expm1": np.expm1, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "floor": np.floor, "ceil": np.ceil, "round": np.round, "abs": np.abs,
}
BOUND = 1e-5   # relative; e^x of Vulkan may have errors of 3 + 2 |x| units in the last place
SMALL = 1.2e-38


def inputs():
    random = np.random.default_rng(0)
    spread = 10.0 ** random.uniform(-30, 30, 2000)
    return np.concatenate([np.linspace(-1, 1, 1001), np.linspace(-20, 20, 1001), random.standard_normal(2000) * 1e4,
                           random.standard_normal(1000) * 1e8, spread, -spread,
                           [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, np.inf, -np.inf, np.nan]]).astype(np.float32)


@pytest.fixture(scope="module")
def results():
    x = inputs()
    type_ = f"tensor<{x.size}xf32>"
    ops = "\n".join(f'  %{i} = "relax.{op}"(%x) : ({type_}) -> {type_}' for i, op in enumerate(EXACT))
    values, types = ", ".join(f"%{i}" for i in range(len(EXACT))), ", ".join([type_] * len(EXACT))
    text = f"func.func @main(%x: {type_}) -> ({types}) {{\n{ops}\n  return {values} : {types}\n}}"
    exe = legato.compile(legato.Module.parse(text), "vulkan")
    return x, dict(zip(EXACT, exe(x), strict=True))


@pytest.mark.parametrize("op", EXACT)
def test_function(results, op):
    x, found = results[0], results[1][op]
    with np.errstate(all="ignore"):
        wanted = EXACT[op](x.astype(np.float64))
        single = wanted.astype(np.float32)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(single))
    np.testing.assert_array_equal(found[np.isinf(single)], single[np.isinf(single)])
    normal = np.isfinite(single) & (np.abs(single) > SMALL)
    relative = np.abs(found[normal] - wanted[normal]) / np.abs(wanted[normal])
    if op in ("sin", "cos"):   # near the zeros of a function of large arguments the absolute error counts
        relative = np.minimum(relative, np.abs(found[normal] - wanted[normal]))
    assert (relative < BOUND).all()


def test_powers_and_their_special_cases():
    special = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 2.5, -2.5, 1e9, -1e9,
                        np.finfo(np.float32).max, np.inf, -np.inf, np.nan], np.float32)
    random = np.random.default_rng(1)
    x = np.concatenate([np.repeat(special, special.size), random.uniform(0, 10, 1000), random.uniform(-10, 10, 1000)]).astype(np.float32)
    y = np.concatenate([np.tile(special, special.size), random.uniform(-10, 10, 1000), np.round(random.uniform(-10, 10, 1000))])
    y = y.astype(np.float32)
    type_ = f"tensor<{x.size}xf32>"
    exe = legato.compile(legato.Module.parse(f"""func.func @main(%x: {type_}, %y: {type_}) -> {type_} {{
      %0 = "relax.power"(%x, %y) : ({type_}, {type_}) -> {type_}
      return %0 : {type_}
    }}"""), "vulkan")
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(exe(x, y), wanted, rtol=2e-5, atol=SMALL)
    np.testing.assert_array_equal(np.signbit(exe(x, y))[np.isfinite(wanted)], np.signbit(wanted)[np.isfinite(wanted)])


def test_halves_of_f64_are_rounded_to_even():
    special = [-0.0, 0.49999999999999994, np.inf, -np.inf, np.nan]
    x = np.concatenate([np.linspace(-10, 10, 401), 2.0 ** 31 + np.arange(-5, 5, 0.25), -(2.0 ** 51) + np.arange(-5, 5, 0.5),
                        2.0 ** 52 + np.arange(-5, 5, 0.5), np.geomspace(1, 1e300, 99), special])
    type_ = f"tensor<{x.size}xf64>"
    exe = legato.compile(legato.Module.parse(f"""func.func @main(%x: {type_}) -> {type_} {{
      %0 = "relax.round"(%x) : ({type_}) -> {type_}
      return %0 : {type_}
    }}"""), "vulkan")
    np.testing.assert_array_equal(exe(x), np.round(x))
    np.testing.assert_array_equal(np.signbit(exe(x)), np.signbit(np.round(x)))
