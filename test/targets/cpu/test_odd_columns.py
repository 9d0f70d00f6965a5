"""Products whose columns are no multiple of a vector, with what is computed of them, against numpy: the last columns are one register
tile under masks, in vectors of a power of two."""
import re
from itertools import product

import numpy as np
import pytest
from harness import DTYPES, NAMES, Net
from thoroughly import first_of, sampled

from legato.core import cpu
from legato.dialects import relax
from legato.targets.cpu.machine import LEVELS, Machine

CPUS = [level for level in LEVELS if not cpu.missing_features(level, "")]
RNG = np.random.default_rng(23)
TOLERANCE = {"f32": 1e-5, "f64": 1e-12, "f16": 2e-3, "bf16": 2e-2}
ROWS, DEPTH = 19, 21
VECTOR = re.compile(r"vector<((?:\d+x)+)")
AFTER = {   # what is computed of a product
    "bias": (lambda y, b: relax.add(y, b), lambda y, b: y + b),
    "sigmoid": (lambda y, b: relax.sigmoid(y), lambda y, b: 1 / (1 + np.exp(-y))),
    "tanh of bias": (lambda y, b: relax.tanh(relax.add(y, b)), lambda y, b: np.tanh(y + b)),
    "remainder": (lambda y, b: relax.mod(y, relax.constant(np.float32(0.75))), lambda y, b: np.mod(y, 0.75)),
    "transposition": (lambda y, b: relax.permute_dims(relax.relu(y), [1, 0]), lambda y, b: np.maximum(y, 0).T),
    "comparison": (lambda y, b: relax.greater(y, b), lambda y, b: y > b),
    "cast": (lambda y, b: relax.astype(y, dtype="i32"), lambda y, b: np.trunc(y).astype(np.int32)),
    "halves": (lambda y, b: relax.astype(y, dtype="f16"), lambda y, b: y),
    "choice": (lambda y, b: relax.where(relax.greater(y, b), y, relax.multiply(y, y)), lambda y, b: np.where(y > b, y, y * y)),
}


def numbers(*shape, dtype="f32"):
    return RNG.standard_normal(shape).astype(DTYPES[dtype])


def sizes_of_vectors(net: Net) -> set[int]:
    """The innermost sizes of the vectors of a lowered model's products."""
    functions = str(net.lowered("llvm").operation).split("llvm.func")
    return {int(found.split("x")[-2]) for text in functions if "matmul" in text.partition("(")[0] for found in VECTOR.findall(text)}


def check(net, arrays, expected, tolerance):
    for found, wanted in zip(net.run(*arrays), expected, strict=True):
        assert found.shape == wanted.shape
        error = np.abs(found.astype(np.float64) - wanted.astype(np.float64)).max() / max(np.abs(wanted).max(), 1)
        assert error < tolerance, error


@pytest.mark.parametrize("half", first_of([0, 1]))
@pytest.mark.parametrize("cpu_name, dtype", sampled(product(CPUS, TOLERANCE), 6, 2))
def test_columns(cpu_name, dtype, half):
    """Of constants and of tensors, of a vector and its neighbours, some in batches and with rows that only the call knows. A half has
    two of these for each number of columns, in turn, and the next type the other two."""
    net, arrays, expected = Net(f"llvm{{cpu={cpu_name}}}", first=None), [], []
    turn = half + list(TOLERANCE).index(dtype)
    for number, columns in enumerate((1, 3, 7, 13, 17, 24, 29, 40, 47, 77)):
        x, w, v = (numbers(*shape, dtype=dtype) for shape in ((ROWS, DEPTH), (DEPTH, columns), (2, DEPTH, columns)))
        a, b, c, d = (net.input(shape, dtype) for shape in (x.shape, w.shape, ("n", DEPTH), v.shape))
        with net.building():
            products = ((a, net.weight(w)), (a, b), (c, b), (relax.expand_dims(a, axis=[0]), d))
            net.output(*(relax.matmul(*factors) for factors in products[(number + turn) % 2::2]))
        wide = x.astype(np.float64) @ w.astype(np.float64)
        arrays += [x, w, x, v]
        expected += [wide, wide, wide, x.astype(np.float64) @ v.astype(np.float64)][(number + turn) % 2::2]
    check(net, arrays, expected, TOLERANCE[dtype])


@pytest.mark.parametrize("columns", first_of([13, 29]))
@pytest.mark.parametrize("cpu_name", CPUS[1:])
def test_what_is_computed_of_them(cpu_name, columns):
    net, arrays, expected = Net(f"llvm{{cpu={cpu_name}}}", first=None), [], []
    for graph, reference in AFTER.values():
        x, w, b = numbers(ROWS, DEPTH), numbers(DEPTH, columns), numbers(columns)
        values = [net.input(one.shape, NAMES[one.dtype]) for one in (x, w, b)]
        with net.building():
            net.output(graph(relax.matmul(*values[:2]), values[2]))
        arrays += [x, w, b]
        expected.append(reference(x.astype(np.float64) @ w, b))
    check(net, arrays, expected, 2e-3)
    assert columns not in (sizes := sizes_of_vectors(net)) and 16 in sizes


@pytest.mark.parametrize("cpu_name", CPUS)
def test_nothing_beside_them_is_touched(cpu_name):
    """Results behind each other in one buffer, of rows with infinities: what is computed in lanes behind the columns stays there."""
    net, x, w = Net(f"llvm{{cpu={cpu_name}}}", first=None), numbers(4, ROWS, DEPTH), numbers(4, DEPTH, 13)
    x[:, -1, 0] = np.inf
    values = [net.input(one.shape) for one in (x, w)]
    with net.building():
        net.output(relax.matmul(*values))
    found, = net.run(x, w)
    expected = x.astype(np.float64) @ w
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    np.testing.assert_allclose(found[np.isfinite(expected)], expected[np.isfinite(expected)], atol=1e-4)


@pytest.mark.parametrize("cpu_name, threads, dtype", sampled(product(CPUS, [2, 3], ["f32", "f16", "bf16"]), 9, 3))
def test_threads_share_whole_tiles(cpu_name, threads, dtype):
    """Rows and columns that no number of threads divides: the last columns are behind those that threads share."""
    net, arrays, expected = Net(f"llvm{{cpu={cpu_name} threads={threads}}}", first=None), [], []
    sizes = [(79, 700, 331, True), (1, 1100, 1001, True), (37, 640, 75, True), (41, 513, 330, False), ("n", 300, 259, True)]
    for rows, depth, columns, constant in sizes:
        x, w = numbers(43 if rows == "n" else rows, depth, dtype=dtype), numbers(depth, columns, dtype=dtype)
        b = numbers(columns, dtype=dtype)
        w = (w.astype(np.float32) / np.sqrt(depth)).astype(w.dtype)
        weight = net.weight(w) if constant else net.input(w.shape, dtype)
        product = net.op("relax.matmul", [net.input((rows, depth), dtype), weight])
        net.output(net.op("relax.relu", [net.op("relax.add", [product, net.weight(b)])]))
        arrays += [x] if constant else [w, x]
        expected.append(np.maximum(x.astype(np.float64) @ w.astype(np.float64) + b.astype(np.float64), 0))
    check(net, arrays, expected, TOLERANCE[dtype])
    text = str(net.lowered("scheduled").operation)
    assert text.count("scf.forall") >= 4


@pytest.mark.parametrize("rows", first_of([37, 5, 1]))
def test_threads_share_whole_tiles_of_groups(rows):
    """Likewise of bytes in groups of four, and of bf16 in pairs where the CPU multiplies these; matrices take no part of a tile."""
    without = "cpu=cooperlake " if Machine.host().has("amx-tile") else ""
    net, arrays, expected = Net(f"llvm{{{without}threads=2 matmul-precision=bf16}}", first=None), [], []
    for depth, columns in ((1056, 1001), (300, 7003)):
        x, w = RNG.integers(0, 256, (rows, depth)).astype(np.uint8), RNG.integers(-128, 128, (depth, columns)).astype(np.int8)
        net.output(net.op("relax.matmul_integer", [net.input(x.shape, "ui8"), net.weight(w)]))
        a, v = numbers(rows, depth), numbers(depth, columns) / np.float32(np.sqrt(depth))
        net.output(net.op("relax.matmul", [net.input(a.shape), net.weight(v)]))
        arrays += [x, a]
        expected += [x.astype(np.float64) @ w, a.astype(np.float64) @ v]
    check(net, arrays, expected, TOLERANCE["bf16"])
    assert str(net.lowered("scheduled").operation).count("scf.forall (") == 4
