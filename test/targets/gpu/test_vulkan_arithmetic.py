"""Arithmetic on a Vulkan device that drivers, or upstream's conversion, would compute otherwise: against numpy, zeros with their signs."""
import numpy as np
import pytest
from fuzzing import together
from typed_programs import typed_kernel
from vulkan_driver import needs_vulkan

import legato
from legato.script import tir as T

pytestmark = needs_vulkan


@T.prim_func
def with_zeros(A: T.Buffer((10,), "float64"), F: T.Buffer((10,), "float32"), products: T.Buffer((10,), "float64"),
               quotients: T.Buffer((10,), "float64"), zeros: T.Buffer((10,), "float64"), wholes: T.Buffer((10,), "float64"),
               products32: T.Buffer((10,), "float32"), negative: T.Buffer((10,), "float32"), quotients32: T.Buffer((10,), "float32"),
               zeros32: T.Buffer((10,), "float32"), differences: T.Buffer((10,), "float32")):
    for i in range(10):
        products[i] = A[i] * T.float64(0.0)
        quotients[i] = A[i] / T.float64(0.0)
        zeros[i] = T.float64(0.0) / A[i]
        wholes[i] = T.trunc(A[i])
        products32[i] = F[i] * T.float32(0.0)
        negative[i] = T.float32(-0.0) * F[i]
        quotients32[i] = F[i] / T.float32(-0.0)
        zeros32[i] = T.float32(0.0) / F[i]
        differences[i] = F[i] - F[i]


def test_constant_zeros_and_whole_parts():
    x = np.array([1.5, -16777217.5, 33554433.25, 0.0, -0.0, -1e12 - 0.5, np.inf, -np.inf, np.nan, 4291065240.96])
    y = x.astype(np.float32)
    zero = np.float32(0)
    with np.errstate(all="ignore"):
        wanted = [x * 0.0, x / 0.0, 0.0 / x, np.trunc(x), y * zero, y * -zero, y / -zero, zero / y, y - y]
    for found, want in zip(legato.compile(with_zeros, target="vulkan")(x, y), wanted, strict=True):
        found = np.asarray(found)
        np.testing.assert_array_equal(found, want)
        np.testing.assert_array_equal(np.signbit(found[want == 0]), np.signbit(want[want == 0]))


@T.prim_func
def remainders(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int16"), C: T.Buffer((4,), "int32"), D: T.Buffer((4,), "int64"),
               a: T.Buffer((4,), "int8"), b: T.Buffer((4,), "int16"), c: T.Buffer((4,), "int32"), d: T.Buffer((4,), "int64")):
    for i in range(4):
        a[i] = T.truncmod(A[i], T.int8(13))
        b[i] = T.truncmod(B[i], T.int16(13))
        c[i] = T.truncmod(C[i], T.int32(13))
        d[i] = T.truncmod(D[i], T.int64(13))


def test_remainders_of_the_least_integers():
    given = [np.array([np.iinfo(t).min, np.iinfo(t).max, -14, 27], t) for t in (np.int8, np.int16, np.int32, np.int64)]
    for found, x in zip(legato.compile(remainders, target="vulkan")(*given), given, strict=True):
        np.testing.assert_array_equal(np.asarray(found), np.fmod(x, 13))


@pytest.mark.parametrize("first", [0, 224])
def test_expressions_over_all_types(first):
    """Programs of the fuzzer for kernels, which runs them on CPUs."""
    outcomes = together([typed_kernel(seed) for seed in range(first, first + 8)], "vulkan")
    assert [outcome.text for outcome in outcomes if outcome.kind != "ok"] == []


@T.prim_func
def float_remainders(A: T.Buffer((600,), "float32"), B: T.Buffer((600,), "float32"), C: T.Buffer((600,), "float64"),
                     D: T.Buffer((600,), "float64"), c: T.Buffer((600,), "float32"), d: T.Buffer((600,), "float64")):
    for i in range(600):
        c[i] = T.truncmod(A[i], B[i])
        d[i] = T.truncmod(C[i], D[i])


def test_remainders_of_floats():
    """They are exact, at any distance of the two, and for infinities, zeros and NaN."""
    random = np.random.default_rng(0)
    special = [0.0, -0.0, 1.0, -5.5, np.inf, -np.inf, np.nan, 1e30]
    pairs = np.array([(a, b) for a in special for b in special])
    x, y = (np.concatenate([random.standard_normal(536) * 10.0 ** random.uniform(-30, 30, 536), pairs[:, i]]) for i in (0, 1))
    given = [x.astype(np.float32), y.astype(np.float32), x, y]
    with np.errstate(invalid="ignore"):
        wanted = [np.fmod(given[0], given[1]), np.fmod(x, y)]
    for found, want in zip(legato.compile(float_remainders, target="vulkan")(*given), wanted, strict=True):
        np.testing.assert_array_equal(found, want)
        np.testing.assert_array_equal(np.signbit(found)[want == 0], np.signbit(want)[want == 0])


@T.prim_func
def counts_of_bits(A: T.Buffer((40,), "int8"), B: T.Buffer((40,), "int16"), C: T.Buffer((40,), "int32"), D: T.Buffer((40,), "int64"),
                   a: T.Buffer((40,), "int8"), b: T.Buffer((40,), "int16"), c: T.Buffer((40,), "int32"), d: T.Buffer((40,), "int64"),
                   p: T.Buffer((40,), "int8"), q: T.Buffer((40,), "int16"), r: T.Buffer((40,), "int32"), s: T.Buffer((40,), "int64")):
    for i in range(40):
        a[i] = T.clz(A[i])
        b[i] = T.clz(B[i])
        c[i] = T.clz(C[i])
        d[i] = T.clz(D[i])
        p[i] = T.popcount(A[i])
        q[i] = T.popcount(B[i])
        r[i] = T.popcount(C[i])
        s[i] = T.popcount(D[i])


@pytest.mark.parametrize("target", ["vulkan", "vulkan{int64=false}"])
def test_counts_of_bits(target):
    """Leading zeros, trailing zeros and ones: SPIR-V counts in words of 32 bits."""
    random = np.random.default_rng(0)
    given = [random.integers(np.iinfo(t).min, np.iinfo(t).max, 40, t) >> random.integers(0, 8 * t().itemsize, 40, t)
             for t in (np.int8, np.int16, np.int32, np.int64)]
    for x in given:
        x[:3] = 0, np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
        x[20:] <<= random.integers(0, 8 * x.itemsize, 20, x.dtype)
    texts = [[f"{int(n) & (1 << 8 * x.itemsize) - 1:0{8 * x.itemsize}b}" for n in x] for x in given]
    leading, ones = ([[count(text) for text in row] for row in texts]
                     for count in (lambda text: len(text) - len(text.lstrip("0")), lambda text: text.count("1")))
    for found, want in zip(legato.compile(counts_of_bits, target)(*given), leading + ones, strict=True):
        np.testing.assert_array_equal(found, want)
    trailing = [[len(text) - len(text.rstrip("0")) for text in row] for row in texts]
    kernel = legato.Module.parse(str(counts_of_bits.module()).replace("math.ctlz", "math.cttz"))
    for found, want in zip(legato.compile(kernel, target)(*given), trailing + ones, strict=True):
        np.testing.assert_array_equal(found, want)
