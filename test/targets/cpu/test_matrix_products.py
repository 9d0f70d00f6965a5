"""Products by AMX's instructions on matrices against numpy: of bf16 added up in f32 and rounded once, of bytes exact.

Where this machine lacks AMX, the results are checked all the same, and the instructions in the code for a CPU that has it.
"""
import ml_dtypes
import numpy as np
import pytest
from harness import NAMES, Net
from thoroughly import first_of, sampled

import legato
from legato.core import cpu
from legato.core.ir_helpers import find
from legato.dialects import relax
from legato.targets.cpu.machine import Machine

AMX = "llvm{cpu=sapphirerapids}"
HERE = {"one thread": "llvm", "two threads": "llvm{threads=2}"}
HAS_AMX = Machine.host().has("amx-bf16")
RNG = np.random.default_rng(5)
BF16, SPACING = ml_dtypes.bfloat16, 2.0**-8
EDGES = (1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65)


class Products:
    """A model with many products of a dtype by constant weights."""

    def __init__(self, target):
        self.net, self.arrays, self.expected = Net(target, first=None), [], []

    def add(self, x, w, rows=""):
        value = self.net.input((rows or x.shape[0], *x.shape[1:]), NAMES[x.dtype])
        op = "relax.matmul" if x.dtype == BF16 else "relax.matmul_integer"
        self.net.output(self.net.op(op, [value, self.net.weight(w)]))
        self.arrays.append(x)
        exact = np.float64 if x.dtype == BF16 else np.int64
        self.expected.append(x.astype(exact) @ w.astype(exact))

    def check(self):
        for x, expected, found in zip(self.arrays, self.expected, self.net.run(*self.arrays), strict=True):
            assert found.shape == expected.shape
            if x.dtype == BF16:
                bound = SPACING * np.abs(expected) * 1.01 + 1e-5 * np.abs(expected).max(initial=0) + 1e-30
                np.testing.assert_array_less(np.abs(found.astype(np.float64) - expected), bound)
            else:
                np.testing.assert_array_equal(found, expected.astype(np.int32))


def numbers(kind, *shape):
    if kind == "bf16":
        return RNG.standard_normal(shape).astype(BF16)
    info = np.iinfo(kind)
    return RNG.integers(info.min, info.max + 1, shape).astype(kind)


PAIRS = (("bf16", "bf16"), (np.uint8, np.int8), (np.int8, np.int8), (np.uint8, np.uint8), (np.int8, np.uint8))


def intrinsics(module):
    """The names of the intrinsics that the code calls."""
    return {op.attributes["intrin"].value for op in find(module.operation, "llvm.call_intrinsic")}


@pytest.mark.parametrize("target", first_of(HERE.values()), ids=HERE)
@pytest.mark.parametrize("left, right", PAIRS)
def test_shapes_around_tiles(left, right, target):
    """Rows, columns and depths around the sizes of registers and of accumulators; depths that are no whole groups, too."""
    products, few = Products(target), (left, right) not in PAIRS[:2]
    for rows, columns in [(17, 33), (48, 48)] if few else zip(EDGES, reversed(EDGES)):
        products.add(numbers(left, rows, 64), numbers(right, 64, columns))
    for depth in (100, 128) if few else (2, 8, 31, 62, 80, 96, 100, 160, 294):
        products.add(numbers(left, 18, depth), numbers(right, depth, 40))
    products.add(numbers(left, 128, 256), numbers(right, 256, 192))
    products.check()


@pytest.mark.parametrize("rows", [33, 65, "n"])
def test_a_row_that_is_left_is_computed_by_matrices(rows):
    products = Products(AMX)
    products.add(numbers("bf16", 1 if rows == "n" else rows, 64), numbers("bf16", 64, 96), rows="n" if rows == "n" else "")
    lowered = products.net.lowered()
    assert not find(lowered.operation, "llvm.intr.fma", "llvm.fmul"), "sums of products without AMX"


@pytest.mark.parametrize("target", first_of([*HERE.values()][::-1]), ids=[*HERE][::-1])
@pytest.mark.parametrize("rows", sampled([0, 1, 5, 16, 31, 32, 33, 77, 128], 3))
def test_rows_known_at_run_time(rows, target):
    products = Products(target)
    for number, (left, right) in enumerate(PAIRS[:2]):
        products.add(numbers(left, rows, 128), numbers(right, 128, 80), rows=f"n{number}")
    products.check()


def layers(target):
    """Two layers of bf16: residual, bias, GELU, ReLU after the products."""
    net = Net(target, first=None)
    x = net.input((40, 64), "bf16")
    w, v, b = (np.multiply(numbers("bf16", *shape), BF16(0.125)) for shape in ((64, 96), (96, 64), (96,)))
    with net.building():
        h = relax.gelu(relax.add(relax.matmul(x, net.weight(w)), net.weight(b)))
        net.output(relax.relu(relax.add(relax.matmul(h, net.weight(v)), x)))
    return net, (w, v, b)


def test_what_follows_a_product():
    net, (w, v, b) = layers("llvm")
    plain, _ = Net("llvm{cpu=x86-64-v3}", first=None), None
    a = plain.input((40, 64), "bf16")
    with plain.building():
        h = relax.gelu(relax.add(relax.matmul(a, plain.weight(w)), plain.weight(b)))
        plain.output(relax.relu(relax.add(relax.matmul(h, plain.weight(v)), a)))
    x = numbers("bf16", 40, 64)
    found, expected = (one.run(x)[0].astype(np.float64) for one in (net, plain))
    np.testing.assert_allclose(found, expected, rtol=4 * SPACING, atol=4 * SPACING)


def test_special_values():
    """Infinities, NaN and the largest numbers, each in a row of its own. AMX takes denormal numbers for zeros, as documented."""
    x = np.ones((18, 64), BF16)
    for row, value in enumerate((np.inf, -np.inf, np.nan, ml_dtypes.finfo(BF16).max, -0.0)):
        x[row, 3] = value
    w = np.ones((64, 32), BF16)
    w[3, 5], w[3, 6] = 0, -1
    net = Net("llvm", first=None)
    net.output(net.op("relax.matmul", [net.input(x.shape, "bf16"), net.weight(w)]))
    with np.errstate(invalid="ignore", over="ignore"):
        expected = (x.astype(np.float32) @ w.astype(np.float32)).astype(BF16)
    np.testing.assert_array_equal(net.run(x)[0].astype(np.float32), expected.astype(np.float32))


def test_extreme_bytes():
    products = Products("llvm")
    for left, right in PAIRS[1:]:
        for x in (np.iinfo(left).min, np.iinfo(left).max):
            for w in (np.iinfo(right).min, np.iinfo(right).max):
                products.add(np.full((20, 4096), x, left), np.full((4096, 32), w, right))
    products.check()


def test_saved_models(tmp_path):
    net, _ = layers("llvm")
    x = numbers("bf16", 40, 64)
    net.executable.save(tmp_path / "model.legato")
    np.testing.assert_array_equal(np.asarray(legato.load(tmp_path / "model.legato")(x)), net.run(x)[0])
    if HAS_AMX:
        assert "amx-tile" in net.executable.signature.features


def test_instructions():
    """Of matrices where there are enough rows; code without them does not ask for AMX."""
    for (left, right), name in zip(PAIRS, ("tdpbf16ps", "tdpbusd", "tdpbssd", "tdpbuud", "tdpbsud")):
        products = Products(AMX)
        products.add(numbers(left, 2 if left == "bf16" else 4, 128), numbers(right, 128, 64))
        module = products.net.lowered()
        assert f"llvm.x86.{name}" in intrinsics(module)
        assert "+amx-tile" in str(module.operation)
        assert not find(module.operation, "vector.contract")
    products = Products(AMX)
    products.add(numbers("bf16", 1, 128), numbers("bf16", 128, 64))
    module = products.net.lowered()
    assert not any(name.startswith("llvm.x86.t") for name in intrinsics(module))
    assert "amx-" not in str(module.operation)


def test_what_vectors_do():
    """Products of few rows, columns or groups, of depths that no register divides, and by weights known at run time, are as they are on
    other CPUs: nothing reads groups that only instructions on matrices take."""
    few = {"bf16": 1, np.uint8: 3}
    shapes = (64, 62, 64, True), (0, 64, 64, True), (64, 64, 8, True), (64, 4, 64, True), (64, 64, 64, False)
    for rows, depth, columns, constant in shapes:
        for (left, right), bytes_ in zip(PAIRS[:2], (2, 1)):
            net, elements = Net(AMX, first=None), depth * 2 // bytes_
            x, w = numbers(left, rows or few[left], elements), numbers(right, elements, columns)
            op = "relax.matmul" if left == "bf16" else "relax.matmul_integer"
            net.output(net.op(op, [net.input(x.shape, NAMES[x.dtype]), net.weight(w) if constant else net.input(w.shape, NAMES[w.dtype])]))
            scheduled, lowered = net.lowered("scheduled"), net.lowered()
            contracts = find(scheduled.operation, "vector.contract")
            assert all(np.prod(v.type.shape) <= 32 * 16 for op in contracts for v in list(op.operands)[:2])
            assert not any(name.startswith("llvm.x86.t") for name in intrinsics(lowered))


def test_without_amx(monkeypatch, tmp_path):
    """A model that needs it says so, compiled here or loaded."""
    products = Products(AMX)
    x = numbers("bf16", 64, 128)
    products.add(x, numbers("bf16", 128, 64))
    products.net.executable.save(tmp_path / "model.legato")
    has = cpu.host_features() | cpu.features_of("sapphirerapids")
    monkeypatch.setattr(cpu, "host_features", lambda: has - set(cpu.MATRIX_FLAGS))
    with pytest.raises(legato.LegatoError, match="does not have amx-bf16, amx-int8, amx-tile"):
        legato.load(tmp_path / "model.legato")
    with pytest.raises(legato.LegatoError, match="does not have amx-bf16, amx-int8, amx-tile"):
        legato.compile(products.net.graph, AMX, first=None)(x)
    assert not Machine.host().has("amx-tile")


def test_packed_weights_begin_at_cache_lines():
    """A row of a register, or a vector, is then in one line."""
    products = Products(AMX)
    for columns in (48, 64, 160):
        products.add(numbers("bf16", 40, 256), numbers("bf16", 256, columns))
    module = products.net.lowered("fused")
    packed = [module.weights[key] for key in module.weights if key.endswith(".packed")]
    assert len(packed) == 3 and all(array.ctypes.data % 64 == 0 for array in packed)
