"""cumsum and cumprod on GPUs: sizes around chunks, any axis, both directions, types, NaNs and infinities; against numpy."""
import re

import numpy as np
import pytest
from lowering import Lowering
from row_graphs import RowOp, graph
from standin import compiled
from thoroughly import first_of, thorough
from vulkan_driver import needs_vulkan

import legato
from legato.core.ir_helpers import find

TYPES = [np.float32, np.float16, np.int32, np.int64]
# a shape, an axis, the axis whose size is a symbol
SHAPES = [((3, 1), 1, None), ((2, 32), 1, None), ((2, 33), -1, None), ((3, 257), 1, 0), ((2, 4100), 1, None), ((300, 5), 0, None),
          ((2, 50, 3), 1, 1), ((2, 700), 1, 1), ((4099,), 0, 0), ((2, 1), 1, 1)]
RNG = np.random.default_rng(3)


def case(op, shape, dtype, axis, symbol=None, exclusive=False, reverse=False):
    """One of these ops."""
    return RowOp(op, shape, dtype, axis, symbol, {"exclusive": exclusive, "reverse": reverse})


def right(op, x, axis, exclusive, reverse):
    """numpy's answer, of floats in double precision."""
    wide = np.flip(x, axis) if reverse else x
    total = getattr(np, op)(wide, axis=axis, dtype=np.float64 if x.dtype.kind == "f" else x.dtype)
    if exclusive:
        total = np.roll(total, 1, axis)
        np.moveaxis(total, axis, 0)[0] = op == "cumprod"
    return np.flip(total, axis) if reverse else total


def numbers(shape, dtype, op, axis):
    """Numbers whose totals stay small, of floats a few rows with an infinity or a NaN; of integers any, whose totals wrap."""
    if np.issubdtype(dtype, np.integer):
        return RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype)
    x = (RNG.standard_normal(shape) if op == "cumsum" else RNG.choice([-1, 1, 1.0625, 0.9414], shape)).astype(dtype)
    rows = np.moveaxis(x, axis, 0)
    if rows.ndim > 1 and len(rows) > 20:
        rows[len(rows) // 2, 0], rows[17, -1] = np.nan, np.inf
    return x


@pytest.mark.parametrize("dtype", first_of(TYPES))
@pytest.mark.parametrize("on", [pytest.param("vulkan", marks=needs_vulkan), *thorough(["nvvm"])])
def test_against_numpy(on, dtype):
    cases = [("cumprod" if n % 5 == 3 else "cumsum", shape, dtype, axis, symbol, n % 2 == 1, n // 2 % 2 == 1)
             for n, (shape, axis, symbol) in enumerate([*SHAPES, *SHAPES[1:]])]
    arrays = [numbers(shape, dtype, op, axis) for op, shape, _, axis, *_ in cases]
    module = graph(case(*one) for one in cases)
    exe = compiled(module) if on == "nvvm" else legato.compile(module, "vulkan")
    for (op, shape, _, axis, _, *way), x, found in zip(cases, arrays, exe(*arrays), strict=True):
        wanted = right(op, x, axis, *way)
        if x.dtype.kind == "i":
            np.testing.assert_array_equal(found, wanted, err_msg=f"{op} {shape} {axis} {way}")
        else:
            small = 1e-3 if dtype is np.float16 else 1e-5
            np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=small, atol=30 * small, err_msg=f"{op} {shape} {axis} {way}")


def test_a_row_is_a_block_of_threads():
    """One launch, whatever the number of chunks; what is between its steps is in shared memory, and no thread takes a whole row."""
    lowering = Lowering(graph([case("cumsum", (64, 1024), np.float32, 1)]), "nvvm")
    text = str(lowering.at("outlined"))
    assert re.findall(r"known_block_size = array<i32: (.*?)>", text) == ["256, 1, 1"] and "known_grid_size = array<i32: 64, 1, 1>" in text
    assert [kernel.schedule for kernel in lowering.explained.kernels] == ["shared_rows"]
    assert re.findall(r"workgroup\((.*?)\)", text) and "scf.parallel" not in text


@pytest.mark.parametrize("length", first_of([200, 4100]))
def test_no_races_and_each_barrier_is_needed(length):
    pytest.importorskip("z3")
    from launch_races import check_launch, launches

    module = legato.lower(graph([case("cumsum", (3, length), np.float32, 1)]), "vulkan", last="scheduled")
    found = [check_launch(launch) for launch in launches(module.module)]
    assert len(found) == 1 and not any(one.races or one.undecided for one in found)
    for number in range(len(find(module.operation, "gpu.barrier"))):
        seeded = module.clone()
        find(seeded.operation, "gpu.barrier")[number].erase()
        assert any(check_launch(launch).races for launch in launches(seeded.module)), f"without the barrier {number}"


def test_long_rows_take_several_launches_of_many_blocks():
    """Of 2**20 elements: no thread takes more than a chunk of 16, on any level."""
    text = str(legato.lower(graph([case("cumsum", (1, 1 << 20), np.float32, 1)]), "nvvm", last="outlined"))
    loops = re.findall(r"scf\.for %\w+ = %c0\w* to (\S+)", text)
    assert text.count("gpu.launch_func") == len(loops) == 8 and set(loops) == {"%c16", "%c4"}
