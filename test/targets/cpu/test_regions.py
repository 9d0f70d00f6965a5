"""roi_align and roi_pool of images with channels last: channels around vectors, types, modes, threads, symbols; against the semantics."""
import ml_dtypes
import numpy as np
import pytest
from harness import NAMES, TARGETS, Net
from thoroughly import first_of

from legato.core.cpu import missing_features
from legato.dialects import relax

CPUS = [cpu for cpu in ("x86-64-v3", "x86-64-v4") if not missing_features(cpu, "")]
RNG = np.random.default_rng(23)
TYPES = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-13, np.dtype(np.float16): 2e-3, np.dtype(ml_dtypes.bfloat16): 2e-2}


def regions_in(side: int, count: int) -> np.ndarray:
    """Regions of which the first is inside of the image, so that not all results are 0; some of the others are small, some beyond the
    image, and some have exchanged corners."""
    first = RNG.uniform(-2, side, (count, 2))
    regions = np.concatenate([first, first + RNG.uniform(-1, side, (count, 2))], 1).astype(np.float32)
    regions[0] = 1, 2, side - 3, side - 2
    return regions


def check(target: str, cases: list[tuple[int, np.dtype, dict]], symbols: bool = False, op: str = "roi_align") -> None:
    net, arrays, expected = Net(target, first=None), [], []
    for channels, dtype, attributes in cases:
        attributes = {"size": [3, 2], "channels_last": True, **attributes}
        x, regions, images = RNG.standard_normal((2, 9, 7, channels)).astype(dtype), regions_in(8, 7).astype(dtype), RNG.integers(-2, 2, 7)
        shapes = [(2, 9, 7, channels), (7, 4), (7,)]
        if symbols:
            number = len(expected)
            shapes = [(f"b{number}", f"h{number}", f"w{number}", f"c{number}"), (f"n{number}", 4), (f"n{number}",)]
        operands = [net.input(shape, NAMES[array.dtype]) for shape, array in zip(shapes, (x, regions, images))]
        net.output(net.op(f"relax.{op}", operands, **attributes))
        arrays += [x, regions, images]
        expected.append(relax.OPS[op].semantics(x, regions, images, **attributes))
    for (channels, dtype, attributes), found, wanted in zip(cases, net.run(*arrays), expected, strict=True):
        difference = np.abs(np.float64(found) - np.float64(wanted)).max() / np.abs(np.float64(wanted)).max()
        assert difference <= TYPES[dtype], f"{channels} channels of {dtype}, {attributes}: {difference}"


@pytest.mark.parametrize("target", first_of(TARGETS))
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_channels(target, mode):
    channels = (1, 3, 8, 15, 16, 17, 28, 64, 96)
    check(TARGETS[target], [(count, np.dtype(np.float32), {"mode": mode, "sampling": 2}) for count in channels])


@pytest.mark.parametrize("target", first_of(TARGETS))
def test_types(target):
    check(TARGETS[target], [(channels, dtype, {"mode": mode}) for dtype in TYPES for channels in (5, 32, 39) for mode in ("avg", "max")])


@pytest.mark.parametrize("target", first_of(TARGETS))
def test_symbols(target):
    check(TARGETS[target], [(channels, np.dtype(np.float32), {"sampling": sampling, "aligned": False})
                            for channels in (4, 33) for sampling in (0, 3)], symbols=True)


@pytest.mark.parametrize("cpu", CPUS)
def test_threads(cpu):
    check(f"llvm{{cpu={cpu} threads=2}}", [(channels, np.dtype(np.float32), {"sampling": 2}) for channels in (1, 28, 128)])


@pytest.mark.parametrize("target", first_of(TARGETS))
def test_maxima(target):
    check(TARGETS[target], [(channels, dtype, {"scale": 0.8}) for dtype in TYPES for channels in (5, 32, 39)], op="roi_pool")
    check(TARGETS[target], [(channels, np.dtype(np.float32), {}) for channels in (4, 33)], symbols=True, op="roi_pool")


@pytest.mark.parametrize("cpu", CPUS[-1:])
def test_maxima_by_threads(cpu):
    check(f"llvm{{cpu={cpu} threads=2}}", [(channels, np.dtype(np.float32), {}) for channels in (1, 28, 128)], op="roi_pool")
