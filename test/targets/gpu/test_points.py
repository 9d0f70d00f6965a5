"""Kernels of a thread a point, whose rows are shorter than a block: results against onnxruntime, and how many threads are idle."""
import logging
import re

import numpy as np
import pytest
from onnx import helper
from onnx_check import model, reference, value
from standin import compiled
from thoroughly import thorough
from vulkan_driver import needs_vulkan

import legato
from legato.core.ir_helpers import find

RUNS = {"vulkan": lambda module: legato.compile(module, "vulkan"), "nvvm": compiled}
EACH = pytest.mark.parametrize("target", [pytest.param("vulkan", marks=needs_vulkan), *thorough(["nvvm"])])
NODES = [("MaxPool", (1, 24, 14, 14), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
         ("AveragePool", (2, 8, 9, 11), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}), ("LRN", (2, 20, 5, 6), {"size": 5}),
         ("Softmax", (9000, 3, 5), {"axis": 1}), ("LogSoftmax", (2, 3, 150, 130), {"axis": 1})]
POINTS = (24 * 7 * 7, 2 * 8 * 9 * 11, 2 * 20 * 5 * 6, 9000 * 5, 2 * 150 * 130)


def given():
    """The model of all, and its inputs."""
    random = np.random.default_rng(1)
    arrays = {f"x{n}": random.standard_normal(shape).astype(np.float32) for n, (_, shape, _) in enumerate(NODES)}
    nodes = [helper.make_node(op, [f"x{n}"], [f"y{n}"], **attributes) for n, (op, _, attributes) in enumerate(NODES)]
    return model(nodes, [value(name, x) for name, x in arrays.items()], [f"y{n}" for n in range(len(nodes))], 17), arrays


@EACH
def test_against_onnxruntime(target):
    proto, arrays = given()
    for found, wanted in zip(RUNS[target](legato.from_onnx(proto))(**arrays), reference(proto, arrays), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_a_block_takes_points_of_several_rows():
    lowered = legato.lower(legato.from_onnx(given()[0]), "nvvm", last="outlined")
    launches = find(lowered.operation, "gpu.launch_func")
    sizes = [[one.owner.attributes["value"].value for one in list(launch.operands)[:6]] for launch in launches]
    assert sizes == [[-(-points // 128), 1, 1, 128, 1, 1] for points in POINTS]


def test_sums_stay_in_registers():
    pytest.importorskip("llvmlite")
    from legato.driver import ptx
    from legato.targets.catalog import Catalog

    text = ptx(legato.lower(legato.from_onnx(given()[0]), "nvvm{approx=true}"), Catalog().resolve("nvvm{approx=true}"))
    assert ".local" not in text and len(re.findall(r"st\.global", text)) <= 9


@EACH
def test_batches_of_unknown_number_and_single_rows(target):
    """A pool, whose loops are as many as its input has images, and a softmax of one row of one element keep their schedule."""
    nodes = [helper.make_node("MaxPool", ["x0"], ["y0"], kernel_shape=[2, 3], strides=[1, 2]), helper.make_node("Softmax", ["x1"], ["y1"])]
    arrays = {"x0": np.random.default_rng(2).standard_normal((3, 5, 6, 7)).astype(np.float32), "x1": np.ones((1, 1, 1), np.float32)}
    proto = model(nodes, [helper.make_tensor_value_info("x0", 1, ["n", 5, 6, 7]), value("x1", arrays["x1"])], ["y0", "y1"], 17)
    module = legato.from_onnx(proto)
    schedules = str(legato.explain(module, target)).split("  kernel ")[-1]
    assert schedules.count(" points ") == 2 and "refused" not in schedules, schedules
    for found, wanted in zip(RUNS[target](module)(**arrays), reference(proto, arrays), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@EACH
@pytest.mark.parametrize("shape, attributes", [
    ((1, 2, 9, 9), {}), ((1, 1, 5, 5), {}), ((2, 3, 8, 7), {"pads": [1, 1, 1, 1], "strides": [2, 2]})])
def test_places_of_maxima_have_a_schedule(target, shape, attributes, caplog):
    """A reduction with two results."""
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    proto = model([helper.make_node("MaxPool", ["x"], ["y", "places"], kernel_shape=[2, 2], **attributes)], [value("x", x)],
                  ["y", "places"], 17)
    assert {kernel.schedule for kernel in legato.explain(legato.from_onnx(proto), target).kernels} == {"points"}
    with caplog.at_level(logging.WARNING, "legato"):
        exe = RUNS[target](legato.from_onnx(proto))
    assert not caplog.records
    for found, wanted in zip(exe(x), reference(proto, {"x": x}), strict=True):
        np.testing.assert_array_equal(found, wanted)
