"""NonMaxSuppression by blocks of threads, for both targets of GPUs: the boxes that onnxruntime keeps, in its order."""
import numpy as np
import onnxruntime
import pytest
from onnx import helper
from onnx_check import model, value
from standin import compiled
from test_assembled import check
from thoroughly import first_of, thorough
from vulkan_driver import needs_vulkan

import legato
from legato.core.ir_helpers import find

RUNS = {"vulkan": lambda module: legato.compile(module, "vulkan"), "nvvm": compiled}
EACH = pytest.mark.parametrize("target", [pytest.param("vulkan", marks=needs_vulkan), *thorough(["nvvm"])])
RNG = np.random.default_rng(11)
# around a group of candidates, a block's threads, and none at all
SHAPES = [(1, 1, 1), (2, 3, 31), (1, 2, 32), (3, 1, 33), (1, 1, 64), (1, 2, 257), (2, 1, 700), (2, 2, 0), (0, 1, 4), (1, 0, 4)]


def corners(batches, count, kind):
    """Boxes: random ones; on a grid, so that many overlap as much as a threshold says; or apart from each other, so that all are kept."""
    if kind == "apart":
        first = np.stack(np.divmod(np.arange(count), 32), axis=-1) * np.ones((batches, 1, 1))
        return np.concatenate([first, first + 1], axis=-1).astype(np.float32)
    boxes = RNG.integers(0, 8, (batches, count, 4)) / 8 if kind == "grid" else RNG.random((batches, count, 4))
    return boxes.astype(np.float32)


def scores(shape, kind):
    """Random scores; for boxes on a grid few different ones, with NaNs and infinities."""
    if kind != "grid":
        return RNG.random(shape).astype(np.float32)
    found = RNG.integers(0, 4, shape) / 4
    return np.where(RNG.random(shape) < 0.2, RNG.choice([np.nan, np.inf, -np.inf, -0.0], shape), found).astype(np.float32)


def suppression(given, known=(), symbolic=True, **attributes):
    """The model of one node; ``known``: the inputs that are constants."""
    shapes = {"boxes": ["b", "n", 4], "scores": ["b", "c", "n"]} if symbolic else {}
    inputs = [value(name, array, shapes.get(name)) for name, array in given.items() if name not in known]
    nodes = [helper.make_node("NonMaxSuppression", list(given), ["y"], **attributes)]
    return model(nodes, inputs, ["y"], 17, {name: given[name] for name in known})


@EACH
@pytest.mark.parametrize("center", first_of([0, 1]))
def test_sizes_and_bounds_of_the_call(target, center):
    loaded = None
    for shape in SHAPES:
        for kind in ("random", "grid", "apart"):
            batches, _, count = shape
            bounds = RNG.choice([0, 1, 5, 40, 1000]), RNG.choice([0, 0.25, 0.5, 1]), RNG.choice([0, 0.25, 0.5])
            given = {"boxes": corners(batches, count, kind), "scores": scores(shape, kind), "most": np.array(bounds[:1]),
                     "iou": np.float32(bounds[1:2]), "least": np.float32(bounds[2:])}
            if loaded is None:
                proto = suppression(given, center_point_box=center)
                loaded = RUNS[target](legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString())
            exe, session = loaded
            np.testing.assert_array_equal(exe(*given.values()), session.run(None, given)[0], err_msg=f"{shape}, {kind}")


@EACH
@pytest.mark.parametrize("most", first_of([2**63 - 1, 600, 3, 0]))
def test_known_sizes(target, most):
    """Without a threshold of the scores; also of more than three boxes for each thread of a block."""
    for kind, shape in (("apart", (1, 2, 800)), ("random", (2, 2, 300))):
        given = {"boxes": corners(shape[0], shape[2], kind), "scores": scores(shape, kind), "most": np.array([most]),
                 "iou": np.float32([0.6])}
        proto = suppression(given, ("most", "iou"), symbolic=False)
        feeds = {name: given[name] for name in ("boxes", "scores")}
        wanted = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, feeds)[0]
        found = RUNS[target](legato.from_onnx(proto))(*feeds.values())
        np.testing.assert_array_equal(found, wanted)
        assert len(wanted) > 1000 or kind != "apart" or most < 600


def test_a_block_for_each_class():
    """Its threads wait for each other a few times for a group of candidates, not for each box."""
    given = {"boxes": corners(2, 900, "random"), "scores": scores((2, 7, 900), "random"), "most": np.array([50])}
    module = legato.from_onnx(suppression(given, ("most",), symbolic=False))
    lowered = legato.lower(module, "nvvm", last="outlined")
    (loop,) = [one for one in find(lowered.operation, "scf.for") if find(one, "gpu.barrier")]
    kernel = str(loop.parent)
    assert "known_block_size = array<i32: 256, 1, 1>" in kernel and "known_grid_size = array<i32: 7, 2, 1>" in kernel
    assert len(find(loop, "gpu.barrier")) <= 6
    check(module, "sm_80")
