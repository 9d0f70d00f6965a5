"""LRN, whose channels of a window are operands of one loop nest, against its formula in numpy."""
import re

import numpy as np
import pytest
from harness import DTYPES, TARGETS, Net
from thoroughly import first_of, thorough

import legato

SHAPES = [((2, 7, 5, 6), 1), ((1, 20, 4, 9), 1), ((1, 3, 7, 7), 1), ((2, 1, 40), 1), ((3, 9, 17), -2), ((6, 33), 0), ((2, 5, 7), -1),
          ((1, 0, 3), 1), ((2, 5, 0), 1), (("n", 6, "h", "w"), 1), ((1, 9, "h", "w"), 1), (("n", "c", 5), 1), ((2, 3, 6, "w"), 2)]
SIZES = {"n": 2, "c": 5, "h": 3, "w": 11}


def by_numpy(x, axis, size, alpha, beta, bias):
    x, before = np.moveaxis(x.astype(np.float64), axis, 0), (size - 1) // 2
    sums = np.zeros_like(x)
    for channel in range(len(x)):
        sums[channel] = (x[max(0, channel - before):channel + size - before] ** 2).sum(0)
    return np.moveaxis(x / (bias + alpha / size * sums) ** beta, 0, axis)


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
@pytest.mark.parametrize("dtype", ["f32", *thorough(["f16", "bf16"])])
def test_against_numpy(dtype, target):
    net, arrays, wanted = Net(target, first=None), [], []
    for (shape, axis), (size, beta) in [(s, p) for s in SHAPES for p in ((1, 0.75), (2, 0.5), (5, 0.75), (9, 0.6), (40, 0.75))]:
        sizes = [SIZES[extent] if isinstance(extent, str) else extent for extent in shape]
        x = (2 * np.random.default_rng(len(arrays)).standard_normal(sizes)).astype(DTYPES[dtype])
        attributes = {"axis": axis, "size": size, "alpha": 0.5, "beta": beta, "bias": 1.5}
        arrays.append(x)
        wanted.append(by_numpy(x, **attributes))
        net.output(net.op("relax.lrn", [net.input(shape, dtype)], **attributes))
    error = {"f32": 1e-5, "f16": 1e-3, "bf16": 8e-3}[dtype]
    for found, expected, x in zip(net.run(*arrays), wanted, arrays, strict=True):
        np.testing.assert_allclose(found.astype(np.float64), expected, rtol=error, atol=error, err_msg=str(x.shape))


@pytest.mark.parametrize(("shape", "size", "rule"), [
    ((1, 64, 28, 28), 5, "by_channel"), (("n", 64, "h", "w"), 5, "by_channel"), ((1, 64, 28, 28), 16, "by_channel"),
    ((1, 64, 28, 28), 17, "lrn"), (("n", "c", 28, 28), 5, "lrn"), ((9, 64), 5, "lrn")])
def test_which_rule(shape, size, rule):
    net = Net(first=None)
    net.output(net.op("relax.lrn", [net.input(shape)], size=size))
    record, = [r for r in legato.explain(net.graph, last="legalized").records if r.op == "relax.lrn"]
    assert record.rule == rule


def test_one_pass():
    """Neither a padded copy nor sums are in memory, and vectors reach across rows of the image."""
    net = Net("llvm{cpu=x86-64-v4}", first=None)
    net.output(net.op("relax.lrn", [net.input((1, 64, 4, 4))], size=5))
    text = str(net.lowered("bufferized").operation)
    assert "memref<0xi8> {tir.arena}" in text and not any(name in text for name in ("memref.copy", "memref.alloc", "linalg.fill"))
    assert set(re.findall(r"transfer_read .* vector<(\d+)xf32>", text)) == {"16"}
