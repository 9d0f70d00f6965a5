"""cumsum and cumprod row by row and slab by slab, against numpy."""
import itertools
import re

import numpy as np
import pytest
from harness import DTYPES, Net
from thoroughly import sampled

import legato

SHAPES = [((5, 7), 1), ((5, 7), 0), ((3, 4, 5), 1), ((3, 4, 5), -1), ((2, 3, 4, 3), 2), ((6,), 0), ((4, 1, 3), 1), ((2, 3, 40), 1),
          ((0, 3), 1), ((3, 0), 1), ((3, 4, 0), 1), (("n", "m"), 1), (("n", 5, 2), 1), ((3, "n", "m"), 1),
          (("n", 5, 2), 0), ((3, "n", "m"), 0), ((2, 4, 3, 5, 2), 1), ((2, 4, "n", 5, "m"), 1)]
SIZES = {"n": 3, "m": 6}


def by_numpy(op, x, axis, exclusive, reverse):
    if reverse:
        return np.flip(by_numpy(op, np.flip(x, axis), axis, exclusive, False), axis)
    if exclusive:
        neutral = np.full_like(np.take(x, [0], axis), 0 if op == "cumsum" else 1) if x.shape[axis] else x
        x = np.concatenate([neutral, x[tuple(slice(-1) if d == axis % x.ndim else slice(None) for d in range(x.ndim))]], axis)
    return getattr(np, op)(x, axis, dtype=x.dtype)


@pytest.mark.parametrize("dtype, op", sampled(itertools.product(["f32", "i64", "f16", "bf16", "f64"], ["cumsum", "cumprod"]), 3, 2))
def test_against_numpy(op, dtype):
    net, arrays, wanted = Net(first=None), [], []
    for (shape, axis), exclusive, reverse in itertools.product(SHAPES, (False, True), (False, True)):
        sizes = [SIZES[size] if isinstance(size, str) else size for size in shape]
        halves = dtype in ("f16", "bf16")    # whose totals are those of f32, each rounded once
        x = np.random.default_rng(0).integers(1, 3 if halves else 4, sizes).astype(np.float32 if halves else DTYPES[dtype])
        arrays.append(x.astype(DTYPES[dtype]))
        with np.errstate(over="ignore"):
            wanted.append(by_numpy(op, x, axis, exclusive, reverse).astype(DTYPES[dtype]))
        net.output(net.op(f"relax.{op}", [net.input(shape, dtype)], axis=axis, exclusive=exclusive, reverse=reverse))
    for found, expected in zip(net.run(*arrays), wanted, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("shape", "axis", "rule"), [
    ((5, 7), 1, "by_row"), ((5, 7), 0, "cumulative"), ((5, 7, 3), 1, "by_row"), ((5, 7, 3), 0, "cumulative"),
    ((5, 7, "n"), 1, "by_row"), (("n", "m"), 1, "by_row"), (("n", "m"), -2, "cumulative")])
def test_which_rule(shape, axis, rule):
    net = Net(first=None)
    net.output(net.op("relax.cumsum", [net.input(shape)], axis=axis))
    record, = [r for r in legato.explain(net.graph, last="legalized").records if r.op == "relax.cumsum"]
    assert record.rule == rule


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_rows_of_halves_are_converted_as_vectors(dtype):
    net = Net()
    net.output(net.op("relax.cumsum", [net.input((9, 64), dtype)], axis=1))
    text = str(net.lowered("bufferized").operation)
    assert re.search(rf"arith.extf .* : vector<\d+x{dtype}>", text) and re.search(rf"arith.truncf .* to vector<\d+x{dtype}>", text)
