"""Convolutions of few results for Hopper, whose blocks may have all of a multiprocessor's shared memory: tiles, stages, results."""
import re
from dataclasses import replace

import numpy as np
import onnx
import pytest
import standin
from product_models import HALF, conv, expected, feeds, matmul, model
from thoroughly import sampled

import legato
from legato.core.ir_helpers import find

TARGET = "nvvm{approx=true chip=sm_90a matmul-precision=tf32}"
# an image's size, channels, filters and taps, and what they give: rows, columns, depth and slices of tiles, and the stages in memory
# (None: there is no loop)
CASES = {
    "large tiles": ((56, 24, 128, 3), HALF, (64, 64, 32, 1), 4), "larger tiles": ((112, 8, 64, 3), HALF, (128, 64, 64, 1), 3),
    "filters in one tile": ((56, 24, 64, 3), HALF, (32, 64, 64, 1), 3), "a long depth": ((14, 120, 250, 3), HALF, (16, 32, 32, 4), 4),
    "few rows": ((7, 136, 510, 3), HALF, (16, 16, 64, 4), 4), "few results": ((7, 128, 40, 3), HALF, (32, 32, 64, 1), 4),
    "one step": ((40, 64, 200, 1), HALF, (32, 32, 64, 1), None), "tf32": ((7, 136, 510, 3), "float32", (16, 16, 32, 8), 4),
    "tf32, wide": ((28, 64, 128, 3), "float32", (32, 32, 32, 4), 4), "tf32, tall": ((56, 64, 64, 3), "float32", (64, 32, 64, 1), 3),
    "tf32, short": ((28, 48, 128, 3), "float32", (32, 32, 64, 1), 2)}


@pytest.fixture(autouse=True)
def hopper(monkeypatch):
    monkeypatch.setenv("STANDIN_CHIP", "90")


def convolution(name):
    (size, channels, filters, taps), dtype, *_ = CASES[name]
    return replace(conv(1, channels, (size, size), filters, taps, pad=taps // 2), dtype=dtype)


@pytest.mark.parametrize("name", sampled(CASES, 4))
def test_few_blocks_take_a_multiprocessors_memory(name):
    """Long steps, or slices of the depth, with three or four stages of memory, in tiles that leave blocks enough."""
    *_, tiles, stages = CASES[name]
    module = legato.from_onnx(model([convolution(name)]))
    text = str(legato.lower(module, TARGET, last="schedules"))
    tiled = re.search(r'sch_tile_product"\(%[\d#]+\) \{(?:slices = (\d+) : i64, )?tiles = array<i64: (\d+), (\d+), (\d+)>', text)
    assert tiled is not None
    slices, *sizes = tiled.groups()
    assert (*map(int, sizes), int(slices or 1)) == tiles
    lowered = legato.lower(module, TARGET, last="outlined")
    kernel = max(find(lowered.operation, "gpu.func"), key=lambda one: len(find(one, "nvgpu.mma.sync")))
    shared = [list(a.type.shape) for a in kernel.regions[0].blocks[0].arguments if "workgroup" in str(a.type)]
    assert stages is None or {one[0] for one in shared[:2]} == {stages}


@pytest.mark.parametrize("name", sampled(CASES, 4))
def test_results(name):
    node = convolution(name)
    given = feeds([node])
    found, (want,) = standin.compiled(legato.from_onnx(model([node])), TARGET)(*given.values()), expected([node], given)
    assert np.abs(found.astype(np.float64) - want).max() < 3e-3 * np.abs(want).max()


@pytest.mark.thorough
def test_warps_share_the_depth_of_few_rows():
    """Products of few rows and many columns: four warps of a block have all of its columns, and a quarter of the steps each."""
    node = matmul(13, 4090, 1030, HALF, then="Relu")
    module, given = legato.from_onnx(model([node])), feeds([node])
    assert "slices = 4 : i64, tiles = array<i64: 16, 64, 64>" in str(legato.lower(module, TARGET, last="schedules"))
    found, (want,) = standin.compiled(module, TARGET)(*given.values()), expected([node], given)
    assert np.abs(found.astype(np.float64) - want).max() < 3e-3 * np.abs(want).max()
    few = legato.from_onnx(model([matmul(13, 2048, 1030, HALF)]))
    assert "array<i64: 16, 64, 64>" not in str(legato.lower(few, TARGET, last="schedules"))


def test_images_of_three_channels_are_copied_asynchronously():
    """A first convolution of f16, whose filters are constant: its image gets a fourth channel, and places of 8 bytes."""
    node = replace(conv(1, 3, (30, 26), 40, 7, stride=2, pad=3), dtype=HALF)
    graph, given = model([node]), feeds([node])
    for name in ("x0_1", "x0_2"):
        graph.graph.initializer.append(onnx.numpy_helper.from_array(given[name], name))
        graph.graph.input.remove(next(one for one in graph.graph.input if one.name == name))
    module = legato.from_onnx(graph)
    lowered = legato.lower(module, TARGET, last="outlined")
    copies = [op for op in find(lowered.operation, "nvgpu.device_async_copy") if op.attributes["dstElements"].value == 4]
    assert copies and "1x30x26x4xf16" in str(lowered)
    found, (want,) = standin.compiled(lowered, TARGET)(given["x0_0"]), expected([node], given)
    assert np.abs(found.astype(np.float64) - want).max() < 3e-3 * np.abs(want).max()
