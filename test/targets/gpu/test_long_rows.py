"""Reductions of few, long rows and columns: two launches each, results against numpy, no races."""
import numpy as np
import pytest
from standin import compiled
from thoroughly import sampled, thorough
from vulkan_driver import needs_vulkan

import legato
from legato.core.ir_helpers import find
from legato.driver import ptx
from legato.targets.catalog import Catalog
from legato.targets.gpu import long_rows

RUNS = {"vulkan": lambda module: legato.compile(module, "vulkan"), "nvvm": compiled}
EACH = pytest.mark.parametrize("target", [pytest.param("vulkan", marks=needs_vulkan), *thorough(["nvvm"])])
BOTH = pytest.mark.parametrize("target", [pytest.param("vulkan", marks=needs_vulkan), "nvvm"])
RNG = np.random.default_rng(2)
# an op, a shape, the axis that is reduced
CASES = [("sum", (100_000,), 0), ("mean", (3, 40_000), 1), ("max", (40_000, 4), 0), ("min", (2, 82_000, 5), 1), ("sum", (1, 65_536), 1),
         ("prod", (33_000,), 0), ("sum", (2, 32_771), 1), ("max", (35_003, 3), 0)]
COLUMNS = [("mean", (1024, 70), 0), ("max", (2, 640, 33), 1), ("sum", (512, 64), 0), ("sum", (16, 96, 2, 100), (0, 1))]
PLANES = [("sum", (48, 3, 2000), (0, 2)), ("mean", (16, 5, 9, 800), (0, 2, 3)), ("max", (40, 2, 3000, 2), (0, 2))]
# several reductions of a row, the last axis of some shape: graph ops of %x, the result's shape, numpy's form, launches
CHAINS = {
    "argmax": ('"relax.argmax"(%x) {axis = 1 : i64}', (3, 40_000), (3,), lambda x: x.argmax(1), 4),
    "argmin": ('"relax.argmin"(%x) {axis = 0 : i64}', (50_001,), (), lambda x: x.argmin(0), 4),
    "a softmax": ('"relax.softmax"(%x) {axis = -1}', (2, 40_000), (2, 40_000), lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True), 5),
    "a norm": ('"relax.instance_norm"(%x, %b, %b) {epsilon = 1.0e-05}', (1, 3, 33_000), (1, 3, 33_000),
               lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * 2 + 2, 5),
    "a norm of groups": ('"relax.group_norm"(%x, %b, %b) {num_groups = 1 : i64, epsilon = 1.0e-05}', (1, 3, 110, 104), (1, 3, 110, 104),
                         lambda x: (x - x.mean()) / np.sqrt(x.var() + 1e-5) * 2 + 2, 5),
}


def module_of(cases):
    """The module of reductions."""
    given, lines, results = [], [], []
    for n, (op, shape, axis) in enumerate(cases):
        axes = (axis,) if isinstance(axis, int) else axis
        left = [size for at, size in enumerate(shape) if at not in axes]
        x, y = (f"tensor<{'x'.join([*map(str, sizes), 'f32'])}>" for sizes in (shape, left))
        given.append(f'%x{n}: {x} {{relax.name = "x{n}"}}')
        lines.append(f'%r{n} = "relax.{op}"(%x{n}) {{axis = array<i64: {", ".join(map(str, axes))}>}} : ({x}) -> {y}')
        results.append(y)
    text = "\n".join([f"func.func @main({', '.join(given)}) -> ({', '.join(results)}) {{", *lines,
                      f"return {', '.join(f'%r{n}' for n in range(len(lines)))} : {', '.join(results)} }}"])
    return legato.Module.parse(text)


@EACH
def test_against_numpy(target):
    arrays = [RNG.uniform(0.999, 1.001, shape).astype(np.float32) for _, shape, _ in CASES]
    arrays[2][777, 2], arrays[3][1, 81_999, 4] = np.nan, -np.inf
    for (op, _, axis), x, found in zip(CASES, arrays, RUNS[target](module_of(CASES))(*arrays), strict=True):
        np.testing.assert_allclose(found, getattr(np, op)(x.astype(np.float64), axis=axis), rtol=1e-4, err_msg=op)


def test_blocks_share_rows():
    lowered = legato.lower(module_of(CASES[:4]), "nvvm", last="outlined")
    kernels = [find(f, "gpu.launch_func") for f in find(lowered.operation, "func.func")]
    kernels = [launches for launches in kernels if launches]
    blocks = [[one.operands[0].owner.attributes["value"].value for one in launches] for launches in kernels]
    assert len(blocks) == 4 and all(len(one) == 2 and one[0] >= 100 for one in blocks)


@EACH
def test_blocks_share_columns(target, monkeypatch):
    monkeypatch.setattr(long_rows, "MUCH", 1)
    check(COLUMNS, target)


@pytest.mark.parametrize("op, shape, axis", [("mean", (512, 256), 0), ("max", (2, 640, 36), 1)])
def test_threads_have_columns_of_halves(op, shape, axis, monkeypatch):
    """Four each, of which an access has 8 bytes."""
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(long_rows, "MUCH", 1)
    monkeypatch.setattr(long_rows, "LEAST_THREADS", 1)
    module = legato.Module.parse(str(module_of([(op, shape, axis)])).replace("f32", "f16"))
    text = ptx(legato.lower(legato.Module.parse(str(module)), "nvvm"), Catalog().resolve("nvvm"))
    assert text.count(".entry") == 2 and text.count("ld.global.v4.b16") >= 4
    x = RNG.standard_normal(shape).astype(np.float16)
    np.testing.assert_allclose(compiled(module)(x), getattr(np, op)(x.astype(np.float64), axis=axis), rtol=2e-3, atol=2e-3)


@EACH
def test_blocks_share_rows_of_several_axes(target):
    check(PLANES, target)


@EACH
def test_blocks_share_pools_of_large_images(target):
    check([("mean", (1, 3136, 64), 1), ("max", (1, 4900, 40), 1)], target)


def check(cases, target):
    """Two launches for each of the reductions, results against numpy."""
    lowered = legato.lower(module_of(cases), target, last="outlined")
    assert len(find(lowered.operation, "gpu.launch_func")) == 2 * len(cases)
    arrays = [RNG.standard_normal(shape).astype(np.float32) for _, shape, _ in cases]
    for (op, _, axis), x, found in zip(cases, arrays, RUNS[target](module_of(cases))(*arrays), strict=True):
        np.testing.assert_allclose(found, getattr(np, op)(x.astype(np.float64), axis=axis), rtol=1e-4, atol=1e-3, err_msg=op)


@BOTH
@pytest.mark.parametrize("name", sampled(CHAINS, 3))
def test_several_reductions_of_long_rows(name, target, monkeypatch):
    monkeypatch.setattr(long_rows, "LONG_SERIES", 1 << 15)
    op, shape, result, reference, launches = CHAINS[name]
    kind = "i64" if name.startswith("arg") else "f32"
    x, out = (f"tensor<{'x'.join([*map(str, sizes), element])}>" for sizes, element in ((shape, "f32"), (result, kind)))
    types = f"({x}, tensor<3xf32>, tensor<3xf32>)" if "%b" in op else f"({x})"
    module = legato.Module.parse(f'func.func @main(%x: {x} {{relax.name = "x"}}, %b: tensor<3xf32> {{relax.name = "b"}}) -> {out} {{\n'
                                 f"%0 = {op} : {types} -> {out}\nreturn %0 : {out} }}")
    lowered = legato.lower(legato.Module.parse(str(module)), target, last="outlined")
    assert len(find(lowered.operation, "gpu.launch_func")) == launches
    array = RNG.standard_normal(shape).astype(np.float32)
    found = RUNS[target](module)(array, np.full(3, 2, np.float32))
    np.testing.assert_allclose(found, reference(array.astype(np.float64)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape, axis, launches",
                         [((32768, 1024), 0, 2), ((100, 1024), 0, 1), ((2048, 1 << 18), 0, 1), ((1024, 4096), 1, 1),
                          ((1, 12544, 32), 1, 2), ((1, 3136, 64), 1, 2), ((1, 784, 240), 1, 1), ((1, 49, 1280), 1, 1),
                          ((8, 12544, 32), 1, 2)])
def test_where_columns_keep_a_device_busy(shape, axis, launches):
    """Pools of whole images among them: a few channels of large ones are the columns of one block of threads, or two."""
    lowered = legato.lower(module_of([("sum", shape, axis)]), "nvvm", last="outlined")
    assert len(find(lowered.operation, "gpu.launch_func")) == launches


def test_several_reductions_of_unknown_length_are_one_launch():
    """Which may be short."""
    module = legato.Module.parse("""
func.func @main(%x: tensor<2x?xf32, #relax.dims<[2, "n"]>> {relax.name = "x"}) -> tensor<2x?xf32, #relax.dims<[2, "n"]>> {
  %0 = "relax.softmax"(%x) {axis = -1} : (tensor<2x?xf32, #relax.dims<[2, "n"]>>) -> tensor<2x?xf32, #relax.dims<[2, "n"]>>
  return %0 : tensor<2x?xf32, #relax.dims<[2, "n"]>>
}""")
    assert len(find(legato.lower(module, "nvvm", last="outlined").operation, "gpu.launch_func")) == 1


def test_short_and_many_rows_are_one_launch():
    lowered = legato.lower(module_of([("sum", (30_000,), 0), ("sum", (20, 40_000), 1), ("sum", (2, 32_767), 1)]), "nvvm", last="outlined")
    assert len(find(lowered.operation, "gpu.launch_func")) == 3


@EACH
def test_unknown_lengths(target):
    """One executable for one element, fewer than there are blocks, and many."""
    module = legato.Module.parse("""
func.func @main(%x: tensor<2x?xf32, #relax.dims<[2, "n"]>> {relax.name = "x"}) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = "relax.sum"(%x) {axis = array<i64: 1>} : (tensor<2x?xf32, #relax.dims<[2, "n"]>>) -> tensor<2xf32>
  %1 = "relax.max"(%x) {axis = array<i64: 1>} : (tensor<2x?xf32, #relax.dims<[2, "n"]>>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}""")
    lowered = legato.lower(legato.Module.parse(str(module)), "nvvm", last="outlined")
    assert len(find(lowered.operation, "gpu.launch_func")) == 4
    exe = RUNS[target](module)
    for n in (1, 7, 131_072, 131_073, 200_001):
        x = RNG.standard_normal((2, n)).astype(np.float32)
        x[1] -= 9
        total, most = exe(x)
        np.testing.assert_allclose(total, x.astype(np.float64).sum(1), rtol=1e-4, atol=1e-3)
        np.testing.assert_array_equal(most, x.max(1))


def test_no_races():
    pytest.importorskip("z3")
    from launch_races import check_launch, launches

    module = legato.lower(module_of([("sum", (40_000,), 0), ("max", (40_000, 4), 0), ("sum", (40_009,), 0)]), "vulkan", last="scheduled")
    found = [check_launch(launch) for launch in launches(module.module)]
    assert len(found) == 6 and not any(one.races or one.undecided for one in found)
