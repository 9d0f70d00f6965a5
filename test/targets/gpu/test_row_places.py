"""argmax and argmin on GPUs: ties, NaNs, infinities and the ends of integers, along any axis, by threads that share a row."""
import re

import numpy as np
import pytest
from row_graphs import NAMES, RowOp, graph
from standin import compiled
from thoroughly import first_of, thorough
from vulkan_driver import needs_vulkan

import legato

RNG = np.random.default_rng(7)
# a shape, an axis, the axis whose size is a symbol
SHAPES = [((5, 1), 1, None), ((4, 3), 1, None), ((6, 33), 1, 1), ((3, 1024), 1, None), ((2, 1500), 1, 0), ((70, 6), 0, None),
          ((3, 40, 5), 1, 1), ((2, 65, 40), 1, None)]


def case(op, shape, dtype, axis, symbol=None, last=False, keep=False):
    """One of these ops."""
    return RowOp(op, shape, dtype, axis, symbol, {"select_last": last, "keepdims": keep}, "i64", reduces=True)


def numbers(shape, dtype, axis):
    """Few numbers that are often equal, with the type's ends, of floats with NaNs in some of the rows."""
    if np.issubdtype(dtype, np.integer):
        return RNG.choice(np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 1, 2], dtype), shape)
    x = np.moveaxis(RNG.choice(np.array([-2, -1, -0.0, 0.0, 1, np.inf, -np.inf], dtype), shape), axis, -1).copy()
    x[..., :1][::2] = np.nan if shape[axis] % 2 else 1
    x[0, ..., -1], x[-1] = np.nan, -np.inf
    return np.moveaxis(x, -1, axis)


def right(op, x, axis, last, keep):
    """numpy's answer."""
    found = getattr(np, op)(np.flip(x, axis) if last else x, axis, keepdims=keep)
    return x.shape[axis] - 1 - found if last else found


def cases_of(dtype):
    """Each shape once, with the options in turn."""
    return [(("argmax", "argmin")[n % 2], shape, dtype, axis, symbol, n // 2 % 2 == 1, n % 3 == 1)
            for n, (shape, axis, symbol) in enumerate([*SHAPES, *SHAPES[1:]])]


@pytest.mark.parametrize("dtype", first_of(NAMES))
@pytest.mark.parametrize("on", [pytest.param("vulkan", marks=needs_vulkan), *thorough(["nvvm"])])
def test_against_numpy(on, dtype):
    cases = cases_of(dtype)
    arrays = [numbers(shape, dtype, axis) for _, shape, _, axis, *_ in cases]
    module = graph(case(*one) for one in cases)
    exe = compiled(module) if on == "nvvm" else legato.compile(module, "vulkan")
    for (op, shape, _, axis, symbol, last, keep), x, found in zip(cases, arrays, exe(*arrays), strict=True):
        np.testing.assert_array_equal(found, right(op, x, axis, last, keep), err_msg=f"{op} {shape} {axis} {symbol} last={last}")


@pytest.mark.parametrize("shape, axis, threads", [((64, 1024), 1, 128), ((8, 50257), 1, 512), ((1, 64, 768), 1, 8 * 16)])
def test_threads_share_rows(shape, axis, threads):
    """One launch, whose threads meet by shuffles along rows."""
    text = str(legato.lower(graph([case("argmax", shape, np.float32, axis)]), "nvvm", last="outlined"))
    (block,) = re.findall(r"known_block_size = array<i32: (\d+), (\d+), (\d+)>", text)
    assert np.prod(list(map(int, block))) == threads and text.count("gpu.launch_func") == 1
    assert (text.count("gpu.shuffle") > 0) == (axis == len(shape) - 1)
