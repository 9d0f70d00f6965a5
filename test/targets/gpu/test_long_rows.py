"""Reductions of few, long rows: two launches, results against numpy, no races."""
import numpy as np
import pytest
from standin import compiled
from vulkan_driver import needs_vulkan

import legato
from legato.core.ir_helpers import find

RUNS = {"vulkan": lambda module: legato.compile(module, "vulkan"), "nvvm": compiled}
EACH = pytest.mark.parametrize("target", [pytest.param("vulkan", marks=needs_vulkan), "nvvm"])
RNG = np.random.default_rng(2)
# an op, a shape, the axis that is reduced
CASES = [("sum", (100_000,), 0), ("mean", (3, 40_000), 1), ("max", (40_000, 4), 0), ("min", (2, 35_000, 5), 1), ("sum", (1, 65_536), 1),
         ("prod", (33_000,), 0), ("sum", (2, 32_771), 1), ("max", (35_003, 3), 0)]


def module_of(cases):
    """The module of reductions."""
    given, lines, results = [], [], []
    for n, (op, shape, axis) in enumerate(cases):
        x, y = (f"tensor<{'x'.join([*map(str, sizes), 'f32'])}>" for sizes in (shape, shape[:axis] + shape[axis + 1:]))
        given.append(f'%x{n}: {x} {{relax.name = "x{n}"}}')
        lines.append(f'%r{n} = "relax.{op}"(%x{n}) {{axis = array<i64: {axis}>}} : ({x}) -> {y}')
        results.append(y)
    text = "\n".join([f"func.func @main({', '.join(given)}) -> ({', '.join(results)}) {{", *lines,
                      f"return {', '.join(f'%r{n}' for n in range(len(lines)))} : {', '.join(results)} }}"])
    return legato.Module.parse(text)


@EACH
def test_against_numpy(target):
    arrays = [RNG.uniform(0.999, 1.001, shape).astype(np.float32) for _, shape, _ in CASES]
    arrays[2][777, 2], arrays[3][1, 34_999, 4] = np.nan, -np.inf
    for (op, _, axis), x, found in zip(CASES, arrays, RUNS[target](module_of(CASES))(*arrays), strict=True):
        np.testing.assert_allclose(found, getattr(np, op)(x.astype(np.float64), axis=axis), rtol=1e-4, err_msg=op)


def test_blocks_share_rows():
    lowered = legato.lower(module_of(CASES[:4]), "nvvm", last="outlined")
    kernels = [find(f, "gpu.launch_func") for f in find(lowered.operation, "func.func")]
    kernels = [launches for launches in kernels if launches]
    blocks = [[one.operands[0].owner.attributes["value"].value for one in launches] for launches in kernels]
    assert len(blocks) == 4 and all(len(one) == 2 and one[0] >= 100 for one in blocks)


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
