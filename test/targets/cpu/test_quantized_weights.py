"""Products by weights of few bits, compiled for each level of instructions that this CPU has and for two threads, against numpy."""
import ml_dtypes
import numpy as np
import pytest
from harness import TARGETS, Net
from thoroughly import first_of, sampled

from legato.core import cpu
from legato.core.ir_helpers import find
from legato.dialects.relax.ops.quantized import MatmulQuantized, rows_per_word
from legato.targets.cpu.machine import LEVELS

CPUS = {**TARGETS, **{level: f"llvm{{cpu={level}}}" for level in LEVELS if not cpu.missing_features(level, "")},
        "two threads": "llvm{threads=2}"}
RNG = np.random.default_rng(2)
ZEROS = {"none": lambda shape: np.zeros(0, np.float32), "floats": lambda shape: RNG.standard_normal(shape).astype(np.float32),
         "bytes": lambda shape: RNG.integers(-8, 8, shape).astype(np.int8)}


class Products:
    """A model with several products."""

    def __init__(self, target: str):
        self.net, self.arrays, self.expected = Net(target), [], []

    def add(self, rows: int, blocks: int, block: int, columns: int, bits: int, zeros: str, dynamic: bool = False, scales: type = np.float32,
            width: int = 64, rounded: bool = False, widened: bool = False) -> None:
        per, panels = rows_per_word(bits), -(-columns // width)
        shape = (panels, blocks, block // per, width)
        weight = RNG.integers(-128, 128, shape).astype(np.int8) if bits == 8 else RNG.integers(-1 << 31, 1 << 31, shape).astype(np.int32)
        scale = (RNG.random((panels, blocks, width)) + 0.5).astype(scales)
        zero = ZEROS[zeros](scale.shape)
        x = RNG.standard_normal((rows, blocks * block)).astype(np.float32)
        x = x.astype(ml_dtypes.bfloat16) if widened else x
        value = self.net.input((f"n{rows}" if dynamic else rows, x.shape[1]), "bf16" if widened else "f32")
        value = self.net.op("relax.astype", [value], dtype="f32") if widened else value
        constants = [self.net.weight(array) for array in (weight, scale, zero)]
        self.net.output(self.net.op("relax.matmul_quantized", [value, *constants], bits=bits, columns=columns))
        self.arrays.append(x)
        self.again = lambda x: MatmulQuantized.compute(x, weight, scale, zero, bits, columns)
        self.expected.append(self.again(x.astype(ml_dtypes.bfloat16 if rounded else x.dtype).astype(np.float32)))

    def check(self) -> None:
        for expected, found in zip(self.expected, self.net.run(*self.arrays), strict=True):
            np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max(initial=0))


@pytest.mark.parametrize("level", first_of(CPUS))
def test_few_and_many_rows(level):
    products = Products(CPUS[level])
    for rows in (1, 2, 3, 4, 5, 37):
        for bits, zeros in ((4, "none"), (4, "bytes"), (8, "floats"), (2, "none")):
            products.add(rows, 3, 32, 70, bits, zeros)
    products.add(1, 64, 128, 64 * 17, 4, "none")
    products.add(1, 2, 16, 20, 4, "bytes", scales=np.float16, width=32)
    products.add(9, 2, 16, 9, 8, "none", width=16)
    products.add(6, 3, 32, 70, 8, "floats")
    products.check()


@pytest.mark.parametrize("rows", sampled([0, 1, 2, 31], 3))
def test_symbolic_rows(rows):
    for target in ("llvm", "llvm{threads=2}"):
        products = Products(target)
        products.add(rows, 3, 32, 70, 4, "bytes", dynamic=True)
        products.check()


@pytest.mark.parametrize("level", first_of(CPUS))
def test_panels_larger_than_the_cache(level):
    """The weight is dequantized in several parts, whose sums are added in the output."""
    products = Products(CPUS[level])
    products.add(13, 64, 128, 70, 4, "bytes")
    products.add(13, 1, 8192, 64, 8, "none")
    products.check()


@pytest.mark.skipif(bool(cpu.missing_features(cpu.host_name(), "+avx512bf16")), reason="the CPU multiplies no pairs of bf16")
@pytest.mark.parametrize("threads", first_of([2, 1]))
def test_rows_rounded_to_bf16(threads):
    """Products of pairs are exact, as are the differences of integers and zeros: only the rows are rounded."""
    products = Products(f"llvm{{threads={threads} matmul-precision=bf16}}")
    for rows in (3, 8, 12, 13, 37, 200):
        for bits, zeros, block in ((8, "none", 32), (8, "bytes", 30), (4, "bytes", 32), (2, "none", 16)):
            products.add(rows, 3, block, 70, bits, zeros, dynamic=rows in (13, 200), rounded=True)
    products.add(7, 2, 32, 20, 8, "bytes", width=32, scales=np.float16, rounded=True)
    products.add(1, 2, 32, 20, 8, "bytes", width=32, dynamic=True)
    products.add(5, 1, 33, 9, 8, "none", width=16)      # an odd depth has no pairs
    products.add(5, 2, 32, 9, 8, "floats", width=16)    # nor are differences from these bf16
    products.check()
    lowered = str(products.net.lowered("legalized").module)
    assert "dot2_bf16bf16" in lowered
    assert ("vector.contract" in lowered) == (not cpu.missing_features(cpu.host_name(), "+amx-bf16"))


@pytest.mark.skipif(bool(cpu.missing_features(cpu.host_name(), "+avx512bf16")), reason="the CPU multiplies no pairs of bf16")
def test_rows_of_bf16():
    """Nothing is rounded where rows come from bf16, so their pairs are multiplied without ``matmul-precision``."""
    products = Products("llvm")
    for rows in (4, 16, 33):
        products.add(rows, 3, 32, 70, 4, "bytes", widened=True)
    products.check()
    assert "dot2_bf16bf16" in str(products.net.lowered("legalized").module)


def test_no_row_of_the_weight_is_kept_as_floats():
    """The kernel's memory is a few rows or a panel of floats, not the weight's 128 MiB."""
    for rows, most in ((1, 1 << 16), (40, 1 << 20)):
        products = Products("llvm{cpu=x86-64-v3}")
        products.add(rows, 64, 128, 4096, 4, "none")
        lowered = products.net.lowered("scheduled")
        made = find(lowered.module.operation, "memref.alloc")
        assert sum(4 * int(np.prod(op.results[0].type.shape)) for op in made) <= most


def test_panels_of_odd_widths_are_refused_to_the_generic_rule():
    products = Products("llvm")
    products.add(2, 2, 32, 30, 8, "none", width=24)
    products.check()


@pytest.mark.parametrize("level", first_of(CPUS))
@pytest.mark.parametrize("zeros", ["none", "bytes"])
def test_infinite_inputs(level, zeros):
    """Infinities and NaNs reach the sums as in a plain product: zeros are subtracted from the integers, not from their sums."""
    products = Products(CPUS[level])
    products.add(1, 2, 32, 64, 4, zeros)
    x = products.arrays[0]
    for value in (np.inf, -np.inf, np.nan):
        x[0, 5] = value
        found, = products.net.run(x)
        with np.errstate(invalid="ignore"):
            expected = products.again(x)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        np.testing.assert_array_equal(found[np.isinf(expected)], expected[np.isinf(expected)])


@pytest.mark.parametrize("bits", [4, 8])
def test_one_row_fetches_a_weight_that_leaves_the_caches(bits):
    """Integers fetch a vector of each of four words, and one of scales. Floats fetch two lines of words and of scales for each of two
    groups of vectors, and a line of bytes."""
    for columns, fetched in ((64, False), (64 * 33, True)):
        products = Products("llvm{cpu=x86-64-v3}")
        products.add(1, 16, 128, columns, bits, "none")
        lowered = products.net.lowered("scheduled")
        fetches = [op.operands[0].type.shape[2:] for op in find(lowered.module.operation, "memref.prefetch")]
        words = 128 // rows_per_word(bits)
        assert (sum(shape == [words, 64] for shape in fetches), sum(shape == [64] for shape in fetches)) == (
            {4: (4 + 4, 1 + 4), 8: (4, 4)}[bits] if fetched else (0, 0))


def test_work_is_that_of_the_product():
    """Profiles count what a product of floats does, and the bytes of the packed weight."""
    products = Products("llvm")
    products.add(40, 3, 32, 64, 4, "none")
    lowered = products.net.lowered("fused")
    call, = find(lowered.module.operation, "func.call")
    flops, size = (attribute.value for attribute in call.attributes["relax.work"])
    assert int(flops) == 2 * 40 * 96 * 64
    assert int(size) == 4 * (40 * 96 + 40 * 64) + 96 * 64 // 2 + 4 * 3 * 64
