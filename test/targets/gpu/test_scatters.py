"""Writing by index on both targets of GPUs: results as numpy's, of sizes known and not, by an order that equal indices share."""
import numpy as np
import pytest
from onnx import helper
from onnx_check import model, value
from standin import compiled
from thoroughly import first_of, thorough
from vulkan_driver import needs_vulkan

import legato
from legato.core.ir_helpers import find

RUNS = {"vulkan": lambda module: legato.compile(module, "vulkan"), "nvvm": compiled}
EACH = pytest.mark.parametrize("target", [pytest.param("vulkan", marks=needs_vulkan), *thorough(["nvvm"])])
BOTH = pytest.mark.parametrize("target", [pytest.param("vulkan", marks=needs_vulkan), "nvvm"])
RNG = np.random.default_rng(20261128)
COMBINE = {"none": lambda old, new: new, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def written(x, places, updates, reduction):
    """Updates of slices, one after the other."""
    found = x.copy()
    for place, update in zip(places.reshape(-1, places.shape[-1]), updates.reshape(-1, *x.shape[places.shape[-1]:])):
        found[tuple(place)] = COMBINE[reduction](found[tuple(place)], update)
    return found


def sample(rows, targets, columns, dtype=np.float32):
    """A tensor, row numbers, some negative, and updates of rows."""
    x, updates = (RNG.integers(-4, 5, (n, columns)).astype(dtype) for n in (targets, rows))
    return x, RNG.integers(-targets, targets, (rows, 1)), updates


def layers(symbolic=False):
    """Two layers that add rows by the same indices, of different widths, and one that replaces by others."""
    x, places, updates = sample(300, 40, 8)
    y, others, more = sample(300, 40, 3)
    given = {"x": x, "places": places, "updates": updates, "y": y, "others": others, "more": more}
    shapes = {"x": ["n", 8], "places": ["m", 1], "updates": ["m", 8], "y": ["n", 3], "others": ["m", 1], "more": ["m", 3]}
    nodes = [helper.make_node("ScatterND", ["x", "places", "updates"], ["a"], reduction="add"),
             helper.make_node("ScatterND", ["y", "places", "more"], ["b"], reduction="add"),
             helper.make_node("ScatterND", ["y", "others", "more"], ["c"])]
    proto = model(nodes, [value(name, array, shapes[name] if symbolic else None) for name, array in given.items()], ["a", "b", "c"], 18)
    expected = [written(x, places, updates, "add"), written(y, places, more, "add"), written(y, others, more, "none")]
    return legato.from_onnx(proto), given, expected


@EACH
@pytest.mark.parametrize("symbolic", first_of([True, False]))
def test_equal_indices_are_ordered_once(target, symbolic):
    module, given, expected = layers(symbolic)
    outlined = legato.lower(module, target, last="outlined")
    functions = {f.attributes["sym_name"].value: f for f in find(outlined.operation, "func.func")}
    called = [call.attributes["callee"].value for call in find(functions["main"], "func.call")]
    counts = sorted(len(find(functions[name], "gpu.launch_func")) for name in called if name in functions)
    of_order = [12] if symbolic else [1, 1]     # launches, of chunks, and of all
    assert counts == [1, 1, 1, *sorted(of_order * 2)]     # two orders, three kernels that write
    assert len(set(called)) == len(called) - len(of_order)     # the orders are the same kernels
    for found, one in zip(RUNS[target](module)(**given), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(found), one)


@BOTH
@pytest.mark.parametrize(("dtype", "reduction"), [(np.float32, "none"), (np.int64, "max"), (np.uint8, "add"), (np.float16, "mul")])
def test_elements_of_types(target, dtype, reduction):
    x, updates = (RNG.integers(0, 3, shape).astype(dtype) for shape in ((5, 70, 3), (4, 33, 2)))
    places = RNG.integers(-70, 70, updates.shape)
    expected = x.copy()
    for at in np.ndindex(*updates.shape):
        there = (at[0], places[at], at[2])
        expected[there] = COMBINE[reduction](expected[there], updates[at])
    nodes = [helper.make_node("ScatterElements", ["x", "places", "updates"], ["y"], axis=1, reduction=reduction)]
    given = {"x": x, "places": places, "updates": updates}
    module = legato.from_onnx(model(nodes, [value(name, array) for name, array in given.items()], ["y"], 18))
    np.testing.assert_array_equal(np.asarray(RUNS[target](module)(**given)), expected)


@EACH
def test_few_updates_and_none(target):
    """Of each number a model that knows it, and one for all of them."""
    def executable(x, places, updates, rows=None):
        nodes = [helper.make_node("ScatterND", ["x", "places", "updates"], ["y"], reduction="add")]
        inputs = [value("x", x), value("places", places, rows and [rows, 1]), value("updates", updates, rows and [rows, 4])]
        return RUNS[target](legato.from_onnx(model(nodes, inputs, ["y"], 18)))

    any_rows = executable(*sample(1, 6, 4), "m")
    for rows in (0, 1, 16, 17):
        x, places, updates = sample(rows, 6, 4)
        for exe in (executable(x, places, updates), any_rows):
            np.testing.assert_array_equal(np.asarray(exe(x=x, places=places, updates=updates)), written(x, places, updates, "add"))
