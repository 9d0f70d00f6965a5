"""Elementary functions over all of f32's range, against f64, in units in the last place."""

import ml_dtypes
import numpy as np
import pytest
from harness import TARGETS, Net
from scipy import special
from thoroughly import first_of

import legato
from legato.core.ir_helpers import find
from legato.passes.pipeline.base import PassContext
from legato.targets.catalog import Catalog
from legato.targets.cpu.machine import Machine

STEP = 4099  # every so many floats, in order of their bits, of both signs
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754942e-38, 3.4028235e38, -3.4028235e38, 1.0, -1.0], np.float32)


def floats() -> np.ndarray:
    bits = np.arange(0, 0x7F800000, STEP, dtype=np.uint32)
    return np.concatenate([bits.view(np.float32), (bits | 0x80000000).view(np.float32), SPECIAL])


def log1p(x):
    return np.log1p(np.where(x < -1, np.nan, x))


def log(x):
    return np.log(np.where(x < 0, np.nan, x))


CASES = {
    "exp": (np.exp, 1.0),
    "expm1": (np.expm1, 2.0),
    "log": (log, 1.0),
    "log1p": (log1p, 2.0),
    "tanh": (np.tanh, 1.0),
    "erf": (special.erf, 1.0),
    "sin": (np.sin, 1.0),
    "cos": (np.cos, 1.0),
    "asin": (np.arcsin, 0.51),
    "acos": (np.arccos, 0.51),
    "atan": (np.arctan, 0.51),
    "sigmoid": (special.expit, 1.0),
    "silu": (lambda x: x * special.expit(x), 2.0),
    "mish": (lambda x: x * np.tanh(np.logaddexp(0, x)), 4.7),
}


def ulps(found: np.ndarray, right: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        near = right.astype(np.float32)
        unit = np.maximum(np.spacing(np.abs(near)), np.float32(1e-45)).astype(np.float64)
        return np.abs(found.astype(np.float64) - right) / unit


def compute(names, arrays, dtype="f32", target="llvm"):
    """Each op on each array, in one compile."""
    net = Net(target)
    inputs = [net.input(a.shape, dtype) for a in arrays]
    net.output(*[net.op(f"relax.{name}", [x]) for name, x in zip(names, inputs)])
    return net.run(*arrays)


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_accuracy_over_all_floats(target):
    x = floats()
    with np.errstate(all="ignore"):
        for name, found in zip(CASES, compute(CASES, [x] * len(CASES), target=target)):
            function, bound = CASES[name]
            right = function(x.astype(np.float64))
            finite = np.isfinite(right.astype(np.float32))
            assert np.array_equal(found[~finite], right.astype(np.float32)[~finite], equal_nan=True), name
            worst = np.argmax(np.where(finite, ulps(found, np.where(finite, right, 0)), 0))
            assert ulps(found[worst], right[worst]) <= bound, (name, x[worst], found[worst], right[worst])


def test_sine_and_cosine():
    x = np.concatenate([np.linspace(-100, 100, 40001), np.linspace(-1e9, 1e9, 20011), np.geomspace(1e9, 3.4e38, 20011),
                        -np.geomspace(1e9, 3.4e38, 20011), [1e18, 2.0**30, 2.0**31, 0.0, np.inf, np.nan]]).astype(np.float32)
    with np.errstate(invalid="ignore"):
        for function, found in zip((np.sin, np.cos), compute(("sin", "cos"), [x, x])):
            assert np.allclose(found, function(x.astype(np.float64)), rtol=0, atol=1.5e-7, equal_nan=True)


def operands_of_remainders(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Special ones in all pairs; any bits, of which most quotients are huge or none; denormals; neighbours of multiples; quotients around
    those from which on f32 has no fractions."""
    rng, f32 = np.random.default_rng(0), np.float32
    special = np.concatenate([SPECIAL, np.array([2.0**23, 2.0**24, 1e-40, 3, 7], f32)])
    bits = [rng.integers(0, 1 << 32, count, dtype=np.uint32).view(f32) for _ in range(2)]
    denormal = [rng.integers(0, 1 << 24, count, dtype=np.uint32).view(f32) for _ in range(2)]
    unit = rng.integers(1, 1 << 22, count).astype(f32) * f32(2) ** rng.integers(-30, 30, count).astype(f32)
    multiple = (unit.astype(np.float64) * rng.integers(1, 1 << 20, count)).astype(f32)
    neighbours = (multiple.view(np.int32) + rng.integers(-2, 3, count, dtype=np.int32)).view(f32)
    far = (unit.astype(np.float64) * rng.uniform(0, 2.0**25, count)).astype(f32)
    x, y = (np.resize(part, count) for part in np.meshgrid(special, special))
    return [(x, y), (bits[0], bits[1]), (denormal[0], denormal[1]), (neighbours, unit), (-far, unit), (multiple, multiple[::-1].copy())]


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_remainders_are_those_of_fmod_bit_by_bit(target):
    net, arrays = Net(target), []
    pairs = operands_of_remainders(10007)
    for x, y in pairs:
        net.output(net.op("relax.mod", [net.input(x.shape), net.input(y.shape)], fmod=True))
        arrays += [x, y]
    for number, (found, (x, y)) in enumerate(zip(net.run(*arrays), pairs, strict=True)):
        with np.errstate(all="ignore"):
            right = np.fmod(x, y)
        same = (np.asarray(found).view(np.uint32) == right.view(np.uint32)) | (np.isnan(found) & np.isnan(right))
        assert same.all(), (number, x[~same][:3], y[~same][:3], np.asarray(found)[~same][:3])


def test_f64_is_exact_to_its_own_precision():
    x = np.linspace(-20, 20, 1001)
    for name, found in zip(("exp", "tanh", "erf"), compute(("exp", "tanh", "erf"), [x] * 3, "f64")):
        assert np.allclose(found, CASES[name][0](x), rtol=1e-14, atol=1e-300), name


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_half_floats_round_once(dtype):
    number = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}[dtype]
    x = np.linspace(-8, 8, 777).astype(number)
    for name, found in zip(("exp", "tanh", "erf"), compute(("exp", "tanh", "erf"), [x] * 3, dtype)):
        right = CASES[name][0](x.astype(np.float64)).astype(np.float32).astype(number)
        close = (
            np.abs(found.astype(np.float32) - right.astype(np.float32))
            <= np.abs(right.astype(np.float32)) * {"f16": 1e-3, "bf16": 8e-3}[dtype]
        )
        assert close.all() and (found == right).mean() > 0.99, name


def test_lowering_leaves_no_call_per_element():
    """The functions above are vectors in the code, no calls of libm."""
    net = Net()
    x = net.input((256,))
    net.output(*[net.op(f"relax.{name}", [x]) for name in CASES])
    net.output(net.op("relax.mod", [x, x], fmod=True))
    text = str(net.lowered())
    calls = [f"@{name}(" for name in ("expf", "expm1f", "logf", "log1pf", "tanhf", "erff", "asinf", "acosf", "atanf")]
    assert not [name for name in (*calls, "llvm.frem") if name in text]
    lanes = Machine.host().lanes(32)
    assert f"vector<{lanes}xf32>" in text or f"vector<{8 * lanes}xf32>" in text


def maxima(count: int, last: str) -> str:
    """A chain of maxima of arguments, and one with ``last``."""
    chain = [f"%{i + 1} = arith.maxnumf %{i}, %a : f32" for i in range(count)]
    return "\n".join(["func.func @maxima(%a: f32, %b: f32) -> f32 {", "%number = arith.constant 1.0 : f32", "%0 = arith.addf %a, %b : f32",
                      *chain, f"%end = arith.maxnumf %{count}, {last} : f32", "return %end : f32", "}"])


@pytest.mark.parametrize("last, left", [("%b", 521), ("%number", 520)])
def test_a_long_chain_of_maxima(last, left):
    """As sizes that a model computes in floats are; only the maximum with a number needs no check of NaN."""
    module = legato.Module.parse(maxima(520, last))
    legato.Pipeline("tir-legalize-intrinsics{target=llvm}").run(module, PassContext(resolve_target=Catalog().resolve))
    assert len(find(module.operation, "arith.maxnumf")) == left
