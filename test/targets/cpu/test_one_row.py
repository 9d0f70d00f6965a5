"""Products of one row by constant weights whose factors are rounded to bf16, in pairs (AVX512-BF16), against numpy in f64 on the rounded
numbers."""
import ml_dtypes
import numpy as np
import pytest
from harness import Net
from thoroughly import first_of, sampled

from legato.core import cpu
from legato.dialects import relax

RNG = np.random.default_rng(17)
HAS_PAIRS = not cpu.missing_features("cooperlake", "")
LANES = 16
needs_pairs = pytest.mark.skipif(not HAS_PAIRS, reason="needs AVX512-BF16")


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def rounded(array):
    return array.astype(ml_dtypes.bfloat16).astype(np.float64)


def in_pairs(depth, columns):
    """Whether a product of one row is one of pairs: of columns that fill a vector, and of an odd depth where a longer row is worth it."""
    return columns >= LANES and (depth % 2 == 0 or depth * columns >= 1 << 12)


@needs_pairs
@pytest.mark.parametrize("depth", sampled([1, 2, 3, 255, 256, 257], 2))
@pytest.mark.parametrize("threads", first_of([2, 1]))
def test_sizes(threads, depth):
    net, arrays, expected = Net(f"llvm{{cpu=cooperlake matmul-precision=bf16 threads={threads}}}", first=None), [], []
    for columns in (1, 7, 16, 17, 1000, 2050):
        x, w, b = numbers(1, depth), numbers(depth, columns), numbers(columns)
        with net.building():
            net.output(relax.tanh(relax.add(relax.matmul(net.input(x.shape), net.weight(w)), net.weight(b))))
        arrays.append(x)
        factors = (rounded(x), rounded(w)) if in_pairs(depth, columns) else (x.astype(np.float64), w)
        expected.append(np.tanh(factors[0] @ factors[1] + b))
    for found, wanted in zip(net.run(*arrays), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-5)


@needs_pairs
@pytest.mark.parametrize("depth", [64, 65])
def test_special_values(depth):
    """NaN and infinities of the row reach all sums, those of the weight their column; what is rounded to infinity is infinite."""
    w = np.ones((depth, 80), np.float32)
    w[depth - 1, 6], w[0, 79], w[1, 20] = -np.inf, np.nan, 3.4e38
    net = Net("llvm{cpu=cooperlake matmul-precision=bf16}", first=None)
    net.output(net.op("relax.matmul", [net.input((1, depth)), net.weight(w)]))
    for place, value in ((0, 1.0), (depth - 1, np.nan), (depth - 1, np.inf), (2, -np.inf), (3, 3.4e38)):
        x = np.ones((1, depth), np.float32)
        x[0, place] = value
        with np.errstate(invalid="ignore", over="ignore"):
            wanted = rounded(x) @ rounded(w)
        np.testing.assert_array_equal(net.run(x)[0], wanted.astype(np.float32))


def test_pairs_are_multiplied_by_instructions():
    """One instruction for each vector of columns and nothing widened; not on CPUs without it."""
    def lowered(name):
        net = Net(f"llvm{{cpu={name} matmul-precision=bf16}}", first=None)
        net.output(net.op("relax.matmul", [net.input((1, 64)), net.weight(numbers(64, 64))]))
        return str(net.lowered())

    text = lowered("znver4")
    assert text.count("llvm.x86.avx512bf16.dpbf16ps.512") == 4 and "llvm.zext" not in text
    assert all("dpbf16ps" not in lowered(name) for name in ("sapphirerapids", "x86-64-v4", "x86-64-v3"))


@pytest.mark.parametrize("target, shares", [
    ("cpu=znver4 matmul-precision=bf16", True), ("cpu=znver4", True), ("cpu=sapphirerapids matmul-precision=bf16", False),
])
def test_threads_share_what_takes_long_to_read(target, shares):
    """A weight of 256 x 1024, in f32 or in pairs, and no smaller one."""
    def is_shared(columns):
        net = Net(f"llvm{{threads=2 {target}}}", first=None)
        net.output(net.op("relax.matmul", [net.input((1, 256)), net.weight(numbers(256, columns))]))
        return "scf.forall" in str(net.lowered("scheduled").operation)

    assert (is_shared(1024), is_shared(768)) == (shares, False)
