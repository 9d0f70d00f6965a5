"""One row times a weight of 4 bits by AVX2's products of bytes, against f64."""
import ctypes
import mmap

import numpy as np
import pytest
from harness import Net
from thoroughly import sampled

from legato.core import cpu
from legato.core.ir_helpers import find
from legato.dialects.relax.ops.quantized import MatmulQuantized
from legato.targets.cpu.fixed_point import LARGEST

TARGET = "llvm{cpu=x86-64-v3}"
RNG = np.random.default_rng(3)
ZEROS = {"none": lambda shape: np.zeros(0, np.float32), "bytes": lambda shape: RNG.integers(-8, 8, shape).astype(np.int8),
         "floats": lambda shape: RNG.uniform(-8, 8, shape).astype(np.float32)}
pytestmark = pytest.mark.skipif(bool(cpu.missing_features("x86-64-v3", "")), reason="this CPU has no AVX2")


class Product:
    """A row of ``blocks`` blocks of ``block`` times a weight of some columns. ``nibble``: all of the weight, or random numbers."""

    def __init__(self, blocks: int, block: int, columns: int, zeros: str = "none", nibble: int | None = None, target: str = TARGET,
                 rows: int = 1, bits: int = 4):
        shape = (-(-columns // 64), blocks, block * bits // 32 if bits < 8 else block, 64)
        weight = RNG.integers(-1 << 31, 1 << 31, shape).astype(np.int32) if bits < 8 else RNG.integers(-128, 128, shape).astype(np.int8)
        if nibble is not None:
            weight[:] = np.uint32(0x11111111 * (nibble % 16)).astype(np.int32)
        scale = RNG.uniform(0.5, 1.5, (shape[0], blocks, 64)).astype(np.float32)
        self.constants = [weight, scale, ZEROS[zeros](scale.shape)]
        self.attributes = {"bits": bits, "columns": columns}
        self.depth, self.net = blocks * block, Net(target)
        value = self.net.input((rows, self.depth))
        self.net.output(self.net.op("relax.matmul_quantized", [value, *map(self.net.weight, self.constants)], **self.attributes))

    def exact(self, x: np.ndarray) -> np.ndarray:
        return MatmulQuantized.compute(x.astype(np.float64), *self.constants, **self.attributes)

    def matrix(self) -> np.ndarray:
        return self.exact(np.eye(self.depth, dtype=np.float32))

    def intrinsics(self) -> int:
        lowered = self.net.lowered("scheduled")
        calls = find(lowered.module.operation, "llvm.call_intrinsic")
        return sum(op.attributes["intrin"].value == "llvm.x86.avx2.pmadd.ub.sw" for op in calls)


@pytest.fixture(autouse=True)
def same_numbers():
    """A test draws the same numbers, whichever ran before it."""
    RNG.bit_generator.state = np.random.default_rng(3).bit_generator.state


@pytest.mark.parametrize("zeros", ZEROS)
@pytest.mark.parametrize("blocks, block", sampled([(1, 8), (5, 16), (7, 24), (3, 32), (2, 64), (2, 128), (1, 256)], 2, 2))
def test_random_rows(blocks, block, zeros):
    """As exact as a product of floats: within a few roundings of the sum of all absolute products."""
    product = Product(blocks, block, 70, zeros)
    assert product.intrinsics() > 0
    absolute = np.abs(product.matrix())
    for x in (RNG.standard_normal((1, product.depth)), RNG.standard_t(3, (1, product.depth)), RNG.uniform(0, 1, (1, product.depth))):
        x = x.astype(np.float32)
        found, = product.net.run(x)
        most = 4e-7 * (np.abs(x) @ absolute) + (0 if zeros == "none" else 3e-6 * np.abs(x).sum())     # zeros are corrected in floats
        assert np.all(np.abs(found - product.exact(x)) <= most)


def test_the_largest_block():
    """Sums of 32 bits do not wrap."""
    product = Product(1, 4096, 64, nibble=-8)
    assert product.intrinsics() > 0
    found, = product.net.run(np.ones((1, 4096), np.float32))
    np.testing.assert_allclose(found, product.exact(np.ones((1, 4096))), rtol=3e-7)
    assert not Product(1, 8192, 64).intrinsics()


@pytest.mark.parametrize("nibble", [-8, -1, 0, 7])
def test_all_bytes_at_their_limits(nibble):
    """Sums of 16 and of 32 bits do not wrap for the greatest numbers of the weight and of the row."""
    product = Product(1, 32, 64, nibble=nibble)
    limits = [-128, 127, 0, -1]
    for low in limits:
        for middle in limits:
            for high in (-127, 126):
                x = np.full((1, 32), low + 256 * middle + 65536 * high, np.float32)
                x[0, 5] = LARGEST
                found, = product.net.run(x)
                np.testing.assert_allclose(found, product.exact(x), rtol=3e-7)


def test_rows_that_are_left_to_floats():
    """Elements beside one that is far greater count where the weight has a 0 for that one; numbers near both ends of the range of f32."""
    product = Product(2, 32, 64)
    product.constants[0][:, :, 0] &= np.int32(~0xF)     # row 0 of each block
    net = Net(TARGET)
    value = net.input((1, 64))
    net.output(net.op("relax.matmul_quantized", [value, *map(net.weight, product.constants)], **product.attributes))
    absolute = np.abs(product.matrix())
    base = RNG.standard_normal((1, 64)).astype(np.float32)
    rows = []
    for large in (1e3, 1e6, 1e30):
        rows.append(base.copy())
        rows[-1][0, 0] = large
    rows += [base * np.float32(1e-33), base * np.float32(1e-40), base * np.float32(1e35), np.zeros_like(base)]
    only = np.zeros_like(base)
    only[0, 3], only[0, 40] = 1e20, 1e-20
    for x in (*rows, only):
        found, = net.run(x)
        assert np.all(np.abs(found - product.exact(x)) <= 1e-5 * (np.abs(x) @ absolute) + 1e-43)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_no_numbers(value):
    product = Product(2, 32, 64)
    x = RNG.standard_normal((1, 64)).astype(np.float32)
    x[0, 40] = value
    found, = product.net.run(x)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.isnan(found), np.isnan(product.exact(x)))
        np.testing.assert_array_equal(found[~np.isnan(found)], product.exact(x)[~np.isnan(found)])


def test_what_takes_floats():
    """More rows, other bits, and CPUs with AVX-512 or without AVX2."""
    assert Product(2, 32, 64).intrinsics()
    for options in ({"rows": 2}, {"bits": 8}, {"bits": 2}, {"target": "llvm{cpu=x86-64-v4}"}, {"target": "llvm{cpu=x86-64-v2}"}):
        assert not Product(2, 32, 64, **options).intrinsics()


def test_no_row_is_read_of_none():
    """An input without rows lies at the end of a page, behind which is no memory."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(base + page), ctypes.c_size_t(page), 0) == 0
    product = Product(2, 32, 64)
    net = Net(TARGET)
    value = net.input(("n", 64))
    net.output(net.op("relax.matmul_quantized", [value, *map(net.weight, product.constants)], **product.attributes))
    row = RNG.standard_normal((1, 64)).astype(np.float32)
    np.testing.assert_allclose(net.run(row)[0], product.exact(row), rtol=1e-4, atol=1e-4)
    none = np.frombuffer(memory, np.float32, 0, page).reshape(0, 64)
    assert net.run(none)[0].shape == (0, 64)
    libc.mprotect(ctypes.c_void_p(base + page), ctypes.c_size_t(page), 3)
