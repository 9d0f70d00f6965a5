"""Reductions of few, long columns: two launches, results against numpy."""
import numpy as np
import pytest
from standin import compiled
from test_long_rows import module_of
from vulkan_driver import needs_vulkan

import legato
from legato.core.ir_helpers import find
from legato.targets.gpu import long_columns

RUNS = {"vulkan": lambda module: legato.compile(module, "vulkan"), "nvvm": compiled}
CASES = [("mean", (1024, 70), 0), ("max", (2, 640, 33), 1), ("sum", (512, 64), 0)]


@pytest.mark.parametrize("target", [pytest.param("vulkan", marks=needs_vulkan), "nvvm"])
def test_blocks_share_columns(target, monkeypatch):
    monkeypatch.setattr(long_columns, "MUCH", 1)
    lowered = legato.lower(module_of(CASES), target, last="outlined")
    assert len(find(lowered.operation, "gpu.launch_func")) == 2 * len(CASES)
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(shape).astype(np.float32) for _, shape, _ in CASES]
    for (op, _, axis), x, found in zip(CASES, arrays, RUNS[target](module_of(CASES))(*arrays), strict=True):
        np.testing.assert_allclose(found, getattr(np, op)(x.astype(np.float64), axis=axis), rtol=1e-4, atol=1e-4, err_msg=op)


@pytest.mark.parametrize("shape, axis, launches", [((32768, 1024), 0, 2), ((100, 1024), 0, 1), ((2048, 65536), 0, 1), ((1024, 4096), 1, 1)])
def test_where_they_keep_a_device_busy(shape, axis, launches):
    lowered = legato.lower(module_of([("sum", shape, axis)]), "nvvm", last="outlined")
    assert len(find(lowered.operation, "gpu.launch_func")) == launches
