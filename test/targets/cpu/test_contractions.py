"""Contractions and convolutions, scheduled and run on AVX-512 and AVX2 code, against numpy. All cases of a test are one model."""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from harness import DTYPES, TARGETS, Net
from thoroughly import first_of, sampled

from legato.core import cpu
from legato.dialects import relax
from legato.targets.cpu import row_blocks
from legato.targets.cpu.machine import LEVELS

CPUS = [level for level in LEVELS[1:] if not cpu.missing_features(level, "")]
RNG = np.random.default_rng(7)


def numbers(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@dataclass
class Case:
    name: str
    arrays: list[np.ndarray]
    build: Callable
    expected: np.ndarray
    shapes: list


class Cases:
    """A model with many inputs and outputs: ``build(net, *values)`` makes the output of one case of its inputs' values."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def case(self, name: str, arrays: list, build: Callable, expected: np.ndarray, shapes: list | None = None) -> None:
        """``shapes``: those of ``arrays`` with names for their dynamic sizes."""
        self.cases.append(Case(name, arrays, build, expected, shapes or [a.shape for a in arrays]))

    def check(self, target: str, tolerance: float = 1e-5) -> None:
        net = Net(target, first=None)
        for case in self.cases:
            inputs = [net.input(shape) for shape in case.shapes]
            with net.building():
                net.output(case.build(net, *inputs))
        arrays = [array for case in self.cases for array in case.arrays]
        for case, value in zip(self.cases, net.run(*arrays), strict=True):
            assert value.shape == case.expected.shape, case.name
            error = np.abs(value - case.expected).max() / max(np.abs(case.expected).max(), 1e-6)
            assert error < tolerance, f"{case.name}: {error:.1e}"


def matmul_case(cases: Cases, rows: int, columns: int, depth: int, *, epilogue: str = "bias relu", constant: bool = True,
                name_of_rows: str = "") -> None:
    x, w, b, r = numbers(rows, depth), numbers(depth, columns), numbers(columns), numbers(rows, columns)
    expected = x.astype(np.float64) @ w

    def build(net, x_value, *others):
        others = list(others)
        y = relax.matmul(x_value, net.weight(w) if constant else others.pop(0))
        y = relax.add(y, net.weight(b)) if "bias" in epilogue else y
        y = relax.add(y, others.pop(0)) if "residual" in epilogue else y
        return relax.relu(y) if "relu" in epilogue else y

    expected = expected + b if "bias" in epilogue else expected
    expected = expected + r if "residual" in epilogue else expected
    expected = np.maximum(expected, 0) if "relu" in epilogue else expected
    size = name_of_rows or rows
    arrays, shapes = [x], [(size, depth)]
    if not constant:
        arrays, shapes = [*arrays, w], [*shapes, w.shape]
    if "residual" in epilogue:
        arrays, shapes = [*arrays, r], [*shapes, (size, columns)]
    cases.case(f"matmul {rows}x{columns}x{depth} {epilogue}", arrays, build, expected, shapes)


def convolution(x: np.ndarray, w: np.ndarray, strides, padding, dilations, groups: int = 1) -> np.ndarray:
    """NHWC by HWIO."""
    top, left, bottom, right = padding
    x = np.pad(x.astype(np.float64), ((0, 0), (top, bottom), (left, right), (0, 0)))
    height, width, _, filters = w.shape
    rows = (x.shape[1] - (height - 1) * dilations[0] - 1) // strides[0] + 1
    columns = (x.shape[2] - (width - 1) * dilations[1] - 1) // strides[1] + 1
    y = np.zeros((x.shape[0], rows, columns, filters))
    inputs, outputs = w.shape[2], filters // groups
    for g in range(groups):
        for i in range(height):
            for j in range(width):
                down, right_ = i * dilations[0], j * dilations[1]
                window = x[:, down:down + (rows - 1) * strides[0] + 1:strides[0], right_:right_ + (columns - 1) * strides[1] + 1:strides[1],
                           g * inputs:(g + 1) * inputs]
                y[..., g * outputs:(g + 1) * outputs] += window @ w[i, j, :, g * outputs:(g + 1) * outputs]
    return y


def conv_case(cases: Cases, image: tuple[int, int, int, int], filters: int, kernel: tuple[int, int], *, strides=(1, 1),
              padding=(0, 0, 0, 0), dilations=(1, 1), groups: int = 1, residual: bool = False, sizes: tuple | None = None) -> None:
    """``sizes``: the image's, with names where they are dynamic."""
    x, w, b = numbers(*image), numbers(*kernel, image[-1] // groups, filters), numbers(filters)
    expected = convolution(x, w, strides, padding, dilations, groups) + b
    r = numbers(*expected.shape)

    def build(net, x_value, *others):
        y = relax.conv2d(x_value, net.weight(w), strides=list(strides), padding=list(padding), dilations=list(dilations), groups=groups,
                         data_layout="NHWC", kernel_layout="HWIO")
        y = relax.add(y, net.weight(b.reshape(1, 1, 1, -1) if groups > 1 else b))
        return relax.relu(relax.add(y, others[0]) if residual else y)

    expected = np.maximum(expected + r if residual else expected, 0)
    name = f"conv {image}->{filters} {kernel} {strides} {padding} {dilations} {groups}"
    cases.case(name, [x, r] if residual else [x], build, expected, [sizes] if sizes else None)


@pytest.mark.parametrize("cpu", CPUS)
def test_matmuls(cpu):
    cases = Cases()
    for shape in ((24, 64, 33), (128, 96, 64), (33, 1000, 16), (5, 10, 64), (1, 1000, 64), (7, 96, 32), (100, 40, 16), (17, 255, 8),
                  (13, 13, 13), (1, 1, 40), (64, 1, 9), (1, 7, 3), (31, 31, 1), (149, 16, 8)):
        matmul_case(cases, *shape)
    for epilogue in ("", "relu", "residual", "bias residual relu"):
        matmul_case(cases, 24, 64, 32, epilogue=epilogue)
        matmul_case(cases, 13, 70, 5, epilogue=epilogue)
    matmul_case(cases, 24, 70, 32, constant=False)
    cases.check(f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("rows", sampled([1, 7, 31, 64], 2))
def test_dynamic_rows(cpu, rows):
    cases = Cases()
    matmul_case(cases, rows, 64, 32, name_of_rows="n")
    matmul_case(cases, rows, 70, 9, name_of_rows="n", epilogue="")
    matmul_case(cases, rows, 10, 20, name_of_rows="n", epilogue="bias residual relu")
    cases.check(f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", CPUS)
def test_what_is_added_to_dynamic_rows_may_come_first(cpu):
    """``z + (x @ w + b)``, as recurrent layers have it: the sum's first operand is not the product."""
    cases, (x, z, w, b) = Cases(), (numbers(11, 8), numbers(3, 11, 48), numbers(8, 48), numbers(48))

    def build(net, x, z, b):
        z = relax.squeeze(relax.strided_slice(z, begin=[1], end=[2], axes=[0]), axis=[0])
        return relax.add(z, relax.add(relax.matmul(x, net.weight(w)), b))

    cases.case("", [x, z, b], build, z[1] + (x @ w + b), [("n", 8), (3, "n", 48), (48,)])
    cases.check(f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("size", sampled([1, 5, 16, 37], 3))
def test_attention_of_dynamic_length(cpu, size):
    cases = Cases()
    q, k, v = (numbers(2, size, 3, 16) for _ in range(3))
    heads = [np.swapaxes(a, 1, 2).astype(np.float64) for a in (q, k, v)]
    scores = heads[0] @ np.swapaxes(heads[1], 2, 3)
    shape = (2, "s", 3, 16)

    def compare(net, q, k):
        y = relax.matmul(relax.permute_dims(q, [0, 2, 1, 3]), relax.permute_dims(k, [0, 2, 3, 1]))
        return relax.multiply(y, relax.constant(np.float32(0.5)))

    def collect(net, p, v):
        return relax.matmul(p, relax.permute_dims(v, [0, 2, 1, 3]))

    cases.case("scores", [q, k], compare, scores * 0.5, [shape, shape])
    cases.case("values", [scores.astype(np.float32), v], collect, scores @ heads[2], [(2, 3, "s", "s"), shape])
    cases.check(f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", CPUS)
def test_batches(cpu):
    cases = Cases()
    for left, right in (((3, 8, 16), (3, 16, 40)), ((2, 3, 17, 8), (2, 3, 8, 33)), ((1, 3, 5, 8), (4, 3, 8, 16)), ((4, 1, 16), (16, 64)),
                        ((5, 9, 16), (16, 24))):
        a, b = numbers(*left), numbers(*right)
        cases.case(f"{left} {right}", [a, b], lambda net, x, y: relax.matmul(x, y), a.astype(np.float64) @ b)
    vector, matrix = numbers(40), numbers(40, 50)
    cases.case("vector matrix", [vector, matrix], lambda net, x, y: relax.matmul(x, y), vector.astype(np.float64) @ matrix)
    turned = matrix.T.copy()
    cases.case("matrix vector", [turned, vector], lambda net, x, y: relax.matmul(x, y), turned.astype(np.float64) @ vector)
    cases.check(f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", first_of(CPUS[::-1]))
def test_convolutions(cpu):
    cases = Cases()
    conv_case(cases, (1, 14, 14, 16), 32, (3, 3), padding=(1, 1, 1, 1))
    conv_case(cases, (1, 14, 14, 16), 64, (1, 1))
    conv_case(cases, (1, 15, 15, 16), 40, (1, 1), strides=(2, 2))
    conv_case(cases, (1, 19, 19, 3), 32, (7, 7), strides=(2, 2), padding=(3, 3, 3, 3))
    conv_case(cases, (1, 27, 27, 3), 24, (11, 11), strides=(4, 4))
    conv_case(cases, (2, 13, 9, 8), 16, (5, 5), padding=(2, 2, 2, 2))
    conv_case(cases, (1, 17, 17, 8), 10, (3, 3), dilations=(2, 2), padding=(2, 2, 2, 2))
    conv_case(cases, (1, 12, 17, 4), 48, (1, 7), padding=(0, 3, 0, 3))
    conv_case(cases, (1, 12, 17, 4), 48, (7, 1), strides=(2, 1), padding=(3, 0, 3, 0))
    conv_case(cases, (1, 8, 8, 5), 17, (3, 3), padding=(0, 1, 1, 0), strides=(2, 2))
    conv_case(cases, (3, 7, 7, 32), 32, (3, 3), padding=(1, 1, 1, 1), residual=True)
    conv_case(cases, (1, 7, 55, 8), 125, (1, 1))
    conv_case(cases, (1, 3, 3, 8), 16, (3, 3))
    cases.check(f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", first_of(CPUS[::-1]))
def test_grouped_convolutions(cpu):
    cases = Cases()
    conv_case(cases, (1, 14, 14, 32), 64, (3, 3), padding=(1, 1, 1, 1), groups=2)
    conv_case(cases, (1, 14, 14, 24), 60, (1, 1), groups=3)
    conv_case(cases, (1, 9, 9, 68), 68, (1, 1), groups=4)
    conv_case(cases, (1, 9, 9, 32), 32, (3, 3), padding=(1, 1, 1, 1), strides=(2, 2), groups=8)
    conv_case(cases, (1, 26, 26, 16), 128, (5, 5), padding=(2, 2, 2, 2), groups=2, residual=True)
    cases.check(f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", first_of(CPUS[::-1]))
def test_convolutions_of_dynamic_size(cpu):
    cases = Cases()
    conv_case(cases, (3, 14, 14, 16), 32, (3, 3), padding=(1, 1, 1, 1), sizes=("n", 14, 14, 16))
    conv_case(cases, (1, 14, 17, 16), 32, (1, 1), sizes=(1, "h", "w", 16))
    conv_case(cases, (1, 14, 17, 16), 40, (3, 3), padding=(1, 1, 1, 1), sizes=(1, "i", "j", 16))
    conv_case(cases, (1, 15, 17, 3), 32, (3, 3), padding=(1, 1, 1, 1), strides=(2, 2), sizes=(1, "k", "l", 3))
    cases.check(f"llvm{{cpu={cpu}}}")


def test_threads():
    cases = Cases()
    matmul_case(cases, 128, 256, 256)
    matmul_case(cases, 128, 1000, 64)
    matmul_case(cases, 77, 512, 128, name_of_rows="n")
    matmul_case(cases, 131, 33, 640, epilogue="bias residual relu")     # the last row is in no part
    conv_case(cases, (1, 29, 29, 32), 96, (3, 3), padding=(1, 1, 1, 1))
    conv_case(cases, (1, 56, 56, 32), 32, (3, 3), padding=(1, 1, 1, 1))
    cases.check("llvm{threads=2}")


@pytest.mark.parametrize("threads", first_of([2, 1]))
def test_blocks_of_rows(threads, monkeypatch):
    """Rows that do not fit a cache are computed in blocks; here one of 16 KB, so that small products have some, and some have a rest."""
    found, choose = [], row_blocks.row_block

    def chosen(*arguments):
        found.append(choose(*arguments))
        return found[-1]

    monkeypatch.setattr("legato.targets.cpu.contraction.row_block", chosen)
    monkeypatch.setattr(row_blocks, "SHARE", 32)
    monkeypatch.setattr("legato.targets.cpu.threads.WORTH_IT", 1)
    monkeypatch.setattr("legato.targets.cpu.threads.GRAIN", 1)
    cases = Cases()
    matmul_case(cases, 96, 64, 8)
    matmul_case(cases, 202, 64, 8)
    matmul_case(cases, 101, 97, 8, epilogue="bias residual relu")
    matmul_case(cases, 161, 64, 16, epilogue="")
    matmul_case(cases, 189, 40, 8, constant=False)
    matmul_case(cases, 64, 130, 8, name_of_rows="n")
    matmul_case(cases, 333, 64, 16, name_of_rows="m", epilogue="bias residual relu")
    matmul_case(cases, 7, 97, 8, name_of_rows="few")
    conv_case(cases, (1, 14, 14, 3), 64, (3, 3), padding=(1, 1, 1, 1))
    conv_case(cases, (2, 13, 9, 4), 40, (1, 1), residual=True)
    conv_case(cases, (1, 15, 6, 8), 48, (5, 5), padding=(2, 2, 2, 2), groups=2)
    conv_case(cases, (1, 31, 3, 8), 64, (3, 3), dilations=(2, 1), padding=(1, 1, 1, 1))
    cases.check(f"llvm{{cpu={CPUS[-1]},threads={threads}}}")
    blocks = [block for block in found if block is not None]
    assert len(blocks) > 2 and any(rest for *_, rest in blocks) and any(rest is None for *_, rest in blocks)


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
@pytest.mark.parametrize("dtype", sampled(["f64", "f16", "bf16", "i8", "ui8", "i64"], 2))
def test_packed_weights(dtype, target):
    """Weights of every kind of element: with and without a remainder of columns, shared by kernels that read them otherwise, transposed."""
    net, arrays, right = Net(target), [], []

    def random(*shape):
        values = RNG.standard_normal(shape) * (1 if "f" in dtype else 5)
        return (np.abs(values) if dtype.startswith("u") else values).astype(DTYPES[dtype])

    def product(rows, weight, array):
        arrays.append(random(rows, array.shape[0]))
        net.output(net.op("relax.matmul", [net.input(("n" if rows == 9 else rows, array.shape[0]), dtype), weight]))
        right.append(arrays[-1].astype(np.float64) @ array.astype(np.float64))

    wide, shared, turned = random(33, 70), random(32, 48), random(48, 32)
    product(5, net.weight(wide), wide)
    weight = net.weight(shared)
    for rows in (1, 40, 9):
        product(rows, weight, shared)
    product(7, net.op("relax.permute_dims", [net.weight(turned)], axes=[1, 0]), turned.T)
    assert str(net.lowered("fused")).count("linalg.unpack") >= 3
    tolerance = {"f64": 1e-12, "f16": 4e-3, "bf16": 3e-2}.get(dtype)
    for found, expected in zip(net.run(*arrays), right, strict=True):
        if tolerance is None:
            assert np.array_equal(found, expected.astype(np.int64).astype(found.dtype))
        else:
            np.testing.assert_allclose(found.astype(np.float64), expected, rtol=tolerance, atol=4 * tolerance)
