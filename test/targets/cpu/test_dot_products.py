"""Products of bytes, compiled for every level of instructions that this CPU has and for two threads, against numpy: exact."""
import numpy as np
import pytest
from harness import NAMES, TARGETS, Net
from thoroughly import first_of

from legato.core import cpu
from legato.dialects import relax
from legato.targets.cpu.machine import LEVELS

CPUS = {**TARGETS, **{level: f"llvm{{cpu={level}}}" for level in LEVELS if not cpu.missing_features(level, "")},
        "two threads": "llvm{threads=2}"}
RNG = np.random.default_rng(11)
EXTREMES = {np.uint8: (0, 255), np.int8: (-128, 127), np.int16: (-(1 << 15), (1 << 15) - 1)}


def numbers(dtype: type, shape: tuple[int, ...], extreme: bool = False) -> np.ndarray:
    low, high = EXTREMES[dtype]
    return (RNG.choice([low, high], shape) if extreme else RNG.integers(low, high + 1, shape)).astype(dtype)


def exact(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return (x.astype(np.int64) @ w.astype(np.int64)).astype(np.int32)


class Products:
    """A model with many products."""

    def __init__(self, target: str):
        self.net, self.arrays, self.expected = Net(target, first=None), [], []

    def add(self, x: np.ndarray, w: np.ndarray, constant: bool = True, rows: str = "") -> None:
        value = self.net.input((rows or x.shape[0], *x.shape[1:]), NAMES[x.dtype])
        weight = self.net.weight(w) if constant else self.net.input(w.shape, NAMES[w.dtype])
        self.net.output(self.net.op("relax.matmul_integer", [value, weight]))
        self.arrays += [x] if constant else [x, w]
        self.expected.append(exact(x, w))

    def check(self) -> None:
        for expected, found in zip(self.expected, self.net.run(*self.arrays), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("level", first_of(CPUS))
def test_shapes_around_vectors(level):
    products = Products(CPUS[level])
    for rows, depth, columns in ((1, 4, 16), (1, 64, 100), (3, 8, 1), (2, 12, 3), (5, 20, 7), (14, 16, 32), (15, 28, 33), (40, 36, 80),
                                 (120, 64, 256), (5, 0, 7), (3, 8, 0), (7, 5, 16), (6, 1, 20), (9, 30, 17)):
        products.add(numbers(np.uint8, (rows, depth)), numbers(np.int8, (depth, columns)))
        products.add(numbers(np.int16, (rows, depth)), numbers(np.int16, (depth, columns)))
    products.check()


@pytest.mark.parametrize("rows", [1, 4, 7, 8])
def test_few_rows_are_multiplied_by_instructions(rows):
    """Each register of a tile, and of its rest of columns, takes one instruction for a step, also for few rows."""
    products = Products("llvm{cpu=icelake-server}")
    products.add(numbers(np.uint8, (rows, 64)), numbers(np.int8, (64, 72)))
    text = str(products.net.lowered())
    assert text.count("llvm.x86.avx512.vpdpbusd.512") >= rows and "llvm.sext" not in text and "llvm.zext" not in text
    assert text.count("llvm.load") <= 40 + 2 * rows  # groups of columns are read as whole registers


@pytest.mark.parametrize("cpu_name", ["icelake-server", "sapphirerapids"])
def test_words_are_multiplied_in_pairs(cpu_name):
    """Integers of 16 bits have an instruction for pairs, also beside AMX, whose matrices are of bytes and bf16."""
    products = Products(f"llvm{{cpu={cpu_name}}}")
    products.add(numbers(np.int16, (15, 28)), numbers(np.int16, (28, 33)))
    text = str(products.net.lowered())
    assert text.count("llvm.x86.avx512.pmaddw.d.512") >= 15


@pytest.mark.parametrize("level", first_of(CPUS))
def test_signs_and_extremes(level):
    """Sums of products of the extremes: two of them do not fit 16 bits, and 70,000 not 32, where they wrap."""
    products = Products(CPUS[level])
    for a in (np.uint8, np.int8):
        for b in (np.uint8, np.int8):
            products.add(numbers(a, (5, 24), True), numbers(b, (24, 40), True))
    products.add(np.full((2, 70000), 255, np.uint8), np.full((70000, 16), -128, np.int8))
    products.add(numbers(np.int16, (9, 24), True), numbers(np.int16, (24, 40), True))
    products.add(numbers(np.int16, (5, 24), True), numbers(np.int8, (24, 40), True))
    products.add(numbers(np.uint8, (5, 24), True), numbers(np.int16, (24, 40), True))
    products.add(np.full((2, 8), -(1 << 15), np.int16), np.full((8, 16), -(1 << 15), np.int16))
    products.check()


@pytest.mark.parametrize("level", first_of(CPUS))
def test_sizes_and_weights_known_at_run_time(level):
    products = Products(CPUS[level])
    products.add(numbers(np.uint8, (29, 24)), numbers(np.int8, (24, 48)), rows="n")
    products.add(numbers(np.uint8, (0, 24)), numbers(np.int8, (24, 48)), rows="z")
    products.add(numbers(np.uint8, (3, 12)), numbers(np.int8, (12, 24)), rows="m")
    products.add(numbers(np.int8, (2, 5, 8)), numbers(np.uint8, (8, 20)), rows="k")
    products.add(numbers(np.uint8, (6, 16)), numbers(np.int8, (16, 32)), constant=False)
    products.add(numbers(np.int16, (6, 18)), numbers(np.int16, (18, 32)), constant=False)
    products.add(numbers(np.int16, (7, 26)), numbers(np.int16, (26, 32)), rows="j")
    products.add(numbers(np.uint8, (6, 9)), numbers(np.int8, (9, 10)), constant=False)
    products.check()


@pytest.mark.parametrize("level", first_of(CPUS))
def test_convolutions_by_kernels_known_at_run_time(level):
    net, arrays, expected = Net(CPUS[level], first=None), [], []
    for shape, kernel, attributes in (((1, 8, 7, 9), (16, 8, 3, 3), {}), ((1, 8, 7, 9), (20, 8, 3, 3), {"strides": [2, 2]}),
                                      ((1, 3, 7, 9), (5, 3, 3, 3), {})):
        x, w = numbers(np.uint8, shape), numbers(np.int8, kernel)
        net.output(net.op("relax.conv2d_integer", [net.input(shape, "ui8"), net.input(kernel, "i8")], **attributes))
        arrays += [x, w]
        expected.append(relax.OPS["conv2d_integer"].semantics(x, w, **attributes))
    for wanted, found in zip(expected, net.run(*arrays), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("level", first_of(CPUS))
def test_convolutions(level):
    net, arrays, expected = Net(CPUS[level], first=None), [], []
    for shape, kernel, attributes in (
            ((1, 8, 7, 9), (16, 8, 3, 3), {}), ((2, 16, 9, 19), (41, 16, 3, 2), {}),
            ((1, 12, 12, 11), (7, 12, 3, 3), {"dilations": [2, 1]}),
            ((1, 8, 20, 45), (64, 8, 1, 3), {}), ((1, 4, 9, 9), (8, 4, 3, 3), {}), ((1, 16, 5, 6), (16, 16, 3, 3), {}),
            ((2, 3, 9, 8), (10, 3, 3, 2), {"strides": [2, 1], "dilations": [1, 2]}),
            ((2, 3, 29, 33), (40, 3, 7, 7), {"strides": [2, 2]}), ((1, 3, 20, 31), (33, 3, 3, 3), {"strides": [2, 2]}),
            ((1, 1, 11, 40), (16, 1, 5, 4), {"strides": [3, 3]}), ((1, 5, 9, 17), (16, 5, 2, 3), {"strides": [1, 2]}),
            ((1, 16, 6, 6), (33, 16, 1, 1), {}), ((1, 16, 6, 6), (32, 16, 1, 1), {"strides": [2, 2]})):
        for of_x, of_w in ((np.uint8, np.int8), (np.int16, np.int16)):
            x, w = numbers(of_x, shape), numbers(of_w, kernel)
            net.output(net.op("relax.conv2d_integer", [net.input(shape, NAMES[x.dtype]), net.weight(w)], **attributes))
            arrays.append(x)
            expected.append(relax.OPS["conv2d_integer"].semantics(x, w, **attributes))
    for wanted, found in zip(expected, net.run(*arrays), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("level", first_of(CPUS))
def test_direct_convolutions(level):
    """Zeros around images, strides, dilations, filters larger than the second cache, channels and features in no whole lanes or vectors,
    and images in a number that the call knows."""
    net, arrays, expected = Net(CPUS[level], first=None), [], []
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    for shape, kernel, padding, attributes in (
            ((1, 9, 14, 8), (3, 3, 8, 32), [1, 1, 1, 1], {}), ((2, 15, 30, 16), (3, 3, 16, 41), [1, 2, 0, 1], {"strides": [2, 2]}),
            ((1, 12, 40, 8), (5, 3, 8, 17), [4, 2, 4, 2], {"dilations": [2, 2]}), ((1, 3, 8, 8), (7, 5, 8, 16), [3, 2, 3, 2], {}),
            ((1, 7, 7, 64), (3, 3, 64, 1000), [1, 1, 1, 1], {}), ((1, 40, 35, 3), (7, 7, 3, 64), [0] * 4, {"strides": [2, 2]}),
            ((2, 9, 17, 5), (3, 3, 5, 7), [0] * 4, {}), ((1, 20, 31, 1), (3, 5, 1, 33), [0] * 4, {"strides": [1, 3]}),
            ((1, 8, 25, 9), (2, 1, 9, 16), [1, 0, 1, 0], {"dilations": [2, 1]}), ((1, 9, 20, 140), (3, 3, 140, 3), [1, 1, 1, 1], {}),
            ((2, 6, 15, 36), (3, 3, 36, 1), [0] * 4, {"strides": [1, 2]}),
            ((1, 1, 40, 72), (1, 5, 72, 33), [0, 2, 0, 2], {"strides": [1, 2]}),
            ((1, 1, 40, 5), (1, 4, 5, 20), [0, 2, 0, 2], {"strides": [1, 3]})):
        for of_x, of_w in ((np.uint8, np.int8), (np.int16, np.int16)):
            x, w = numbers(of_x, shape, extreme=len(arrays) % 2 == 0), numbers(of_w, kernel)
            image = net.input((f"n{len(arrays)}", *shape[1:]) if len(arrays) % 3 else shape, NAMES[x.dtype])
            padded = net.op("relax.pad", [image], pads=[0, *padding[:2], 0, 0, *padding[2:], 0]) if any(padding) else image
            net.output(net.op("relax.conv2d_integer", [padded, net.weight(w)], **layouts, **attributes))
            arrays.append(x)
            expected.append(relax.OPS["conv2d_integer"].semantics(x, w, padding=padding, **layouts, **attributes))
    for wanted, found in zip(expected, net.run(*arrays), strict=True):
        np.testing.assert_array_equal(found, wanted)
