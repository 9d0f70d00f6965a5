"""gather_weighted: widths around vectors, types, threads, symbolic sizes, indices from the end; against the semantics."""
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from harness import NAMES, TARGETS, Net
from thoroughly import first_of, sampled

from legato.core.cpu import missing_features
from legato.dialects import relax

CPUS = [cpu for cpu in ("x86-64-v3", "x86-64-v4") if not missing_features(cpu, "")]
RNG = np.random.default_rng(29)
F32 = np.dtype(np.float32)
TYPES = {F32: 1e-6, np.dtype(np.float64): 1e-13, np.dtype(np.float16): 2e-3, np.dtype(ml_dtypes.bfloat16): 2e-2}


def check(target: str, cases: list[tuple[int, int, int, np.dtype]], symbols: bool = False, batch: int | None = None) -> None:
    """Cases of so many places, taps and columns. ``batch``: of x, where all batches have the same taps."""
    net, arrays, expected = Net(target, first=None), [], []
    for number, (places, taps, width, dtype) in enumerate(cases):
        x, own = RNG.standard_normal((batch or 2, 11, width)).astype(dtype), 1 if batch else 2
        indices, weights = RNG.integers(-11, 11, (own, taps, places)), RNG.standard_normal((own, taps, places)).astype(np.float32)
        shapes = [x.shape, indices.shape, weights.shape]
        if symbols:
            shapes = [(f"b{number}", f"r{number}", f"c{number}"), *[(1 if batch else f"b{number}", f"t{number}", f"p{number}")] * 2]
        operands = [net.input(shape, NAMES[array.dtype]) for shape, array in zip(shapes, (x, indices, weights))]
        net.output(net.op("relax.gather_weighted", operands))
        arrays += [x, indices, weights]
        expected.append(relax.OPS["gather_weighted"].semantics(x, indices, weights))
    for case, found, wanted in zip(cases, net.run(*arrays), expected, strict=True):
        difference = np.abs(np.float64(found) - np.float64(wanted)).max() / np.abs(np.float64(wanted)).max()
        assert difference <= TYPES[case[-1]], f"{case}: {difference}"


@pytest.mark.parametrize("target", first_of(TARGETS))
def test_widths(target):
    widths = (1, 3, 8, 15, 16, 17, 48, 100, 128)
    check(TARGETS[target], [(places, taps, width, F32) for width in widths for places, taps in ((19, 4), (1, 16))])


@pytest.mark.parametrize("target", first_of(TARGETS))
def test_types(target):
    check(TARGETS[target], [(13, 4, width, dtype) for dtype in TYPES for width in (5, 32, 39)])


@pytest.mark.parametrize("target", first_of(TARGETS))
def test_symbols(target):
    check(TARGETS[target], [(9, taps, width, F32) for taps in (1, 4) for width in (4, 33)], symbols=True)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("symbols", [False, True])
def test_threads(cpu, symbols):
    check(f"llvm{{cpu={cpu} threads=2}}", [(places, 4, width, F32) for places in (1, 4000, 4001) for width in (1, 28, 128)], symbols)


@pytest.mark.parametrize("cpu, threads, symbols", sampled(product(CPUS, [1, 2], [False, True]), 7, 3))
def test_taps_of_all_batches(cpu, threads, symbols):
    cases = [(places, taps, width, F32) for places in (1, 60) for taps in (2, 4, 9) for width in (3, 28, 80, 112, 640)]
    for batch in (1, 5):
        check(f"llvm{{cpu={cpu} threads={threads}}}", cases, symbols, batch)
