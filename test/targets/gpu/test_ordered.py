"""Ops whose elements wait for each other on CPUs, computed by all threads of a GPU: TopK, updates by index, NonZero; against numpy.

test_suppression.py has NonMaxSuppression."""
from dataclasses import dataclass, field

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
RNG = np.random.default_rng(5)


@dataclass
class Cases:
    """Nodes that do not depend on each other, as one model, with what their first outputs have to be."""

    nodes: list = field(default_factory=list)
    inputs: list = field(default_factory=list)
    given: dict = field(default_factory=dict)
    constants: dict = field(default_factory=dict)
    wanted: list = field(default_factory=list)

    def add(self, op, arrays, wanted, outputs=1, symbolic=False, constants=None, **attributes):
        """A node; ``constants``: of its last operands; ``wanted``: all of its outputs."""
        number, names = len(self.nodes), []
        for place, array in enumerate(arrays):
            names.append(f"x{number}_{place}")
            sizes = [f"s{number}_{place}_{axis}" for axis in range(array.ndim)] if symbolic else None
            self.inputs.append(value(names[-1], array, sizes))
            self.given[names[-1]] = array
        for place, array in enumerate(constants or []):
            names.append(f"c{number}_{place}")
            self.constants[names[-1]] = array
        self.nodes.append(helper.make_node(op, names, [f"y{number}_{place}" for place in range(outputs)], **attributes))
        self.wanted += zip(self.nodes[-1].output, wanted)

    def module(self):
        """The model."""
        return legato.from_onnx(model(self.nodes, self.inputs, [name for name, _ in self.wanted], 20, self.constants))

    def check(self, target):
        """Runs the model, and compares all outputs."""
        found = RUNS[target](self.module())(**self.given)
        for (name, wanted), one in zip(self.wanted, found if isinstance(found, tuple) else (found,), strict=True):
            np.testing.assert_array_equal(one, wanted, err_msg=f"{name} of {self.nodes[int(name[1:].split('_')[0])].op_type}")


def numbers(shape, dtype, kind="few"):
    """Numbers that are often equal, or such with NaNs, infinities and zeros of both signs."""
    if np.issubdtype(dtype, np.integer):
        return RNG.integers(0, 50, shape, dtype)
    x = RNG.integers(-20, 20, shape) * 0.5
    if kind == "special":
        x = np.where(RNG.random(shape) < 0.2, RNG.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape), x)
    return x.astype(dtype)


def best(x, k, axis, largest):
    """The values and indices of the k best elements; equal ones by index, and a NaN is greater than every number."""
    order = np.argsort(x, axis, kind="stable")
    if largest:
        order = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    order = np.take(order, np.arange(k), axis)
    return np.take_along_axis(x, order, axis), order


@EACH
def test_topk(target):
    cases = Cases()
    shapes = [((3, 1), 1, 1), ((2, 255), 255, 1), ((2, 256), 3, -1), ((2, 257), 257, 1), ((3, 513), 300, 1), ((1100, 2), 7, 0),
              ((2, 600, 2), 600, 1), ((1500,), 1500, 0), ((2, 50), 0, 1)]
    for number, (shape, k, axis) in enumerate(shapes):
        for dtype in (np.float32, np.int32) if number % 2 else (np.float16, np.int64):
            x, largest = numbers(shape, dtype, "special" if number % 3 else "few"), number % 2 == 0
            cases.add("TopK", [x], best(x, k, axis, largest), 2, constants=[np.int64([k])], axis=axis, largest=int(largest))
    cases.check(target)


@EACH
def test_topk_of_sizes_that_only_the_call_knows(target):
    cases = Cases()
    for shape, k in (((2, 700), 5), ((3, 20), 20), ((1, 1), 1)):
        x = numbers(shape, np.float32, "special")
        cases.add("TopK", [x], best(x, k, 1, True), 2, symbolic=True, constants=[np.int64([k])], axis=1)
    x = numbers((1, 600), np.float32)
    cases.add("TopK", [x, np.int64([599])], best(x, 599, 1, False), 2, symbolic=False, axis=1, largest=0)
    cases.check(target)


@EACH
def test_topk_of_chunks_that_blocks_order(target):
    cases = Cases()
    for shape, k, axis, dtype in (((2, 257), 2, 1, np.float32), ((2048,), 2048, 0, np.float16), ((2, 2049), 2049, 1, np.int32),
                                  ((1025, 2), 1025, 0, np.int64), ((5000,), 4999, 0, np.uint8)):
        x = numbers(shape, dtype, "special")
        cases.add("TopK", [x], best(x, k, axis, True), 2, constants=[np.int64([k])], axis=axis)
    cases.check(target)


@BOTH
@pytest.mark.parametrize("rows", first_of([3, 0]))
def test_topk_of_long_rows_in_an_unknown_number(target, rows):
    x, y = numbers((rows, 2, 700), np.float32, "special"), numbers((rows, 300), np.int64)
    nodes = [helper.make_node("TopK", ["x", "k"], ["v", "i"]), helper.make_node("TopK", ["y", "l"], ["w", "j"])]
    inputs = [value("x", x, ["r", "c", 700]), value("y", y, ["r", 300]), value("l", np.int64([3]))]
    exe = RUNS[target](legato.from_onnx(model(nodes, inputs, ["v", "i", "w", "j"], 20, {"k": np.int64([650])})))
    for found, wanted in zip(exe(x=x, y=y, l=np.int64([3])), (*best(x, 650, 2, True), *best(y, 3, 1, True)), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_launches_of_an_order():
    """Rows of up to 2048 elements are ordered by a launch, and each doubling is one more; none sets initial values."""
    for size, wanted in ((256, 2), (257, 2), (2048, 2), (2049, 2), (5000, 3), (10000, 4)):
        x = numbers((size,), np.float32)
        cases = Cases()
        cases.add("TopK", [x], [None, None], 2, constants=[np.int64([size])])
        lowered = legato.lower(cases.module(), "nvvm", last="outlined")
        launches = [str(launch.attributes["kernel"]) for launch in find(lowered.operation, "gpu.launch_func")]
        assert sum("topk" in name for name in launches) == wanted, (size, launches)


REDUCTIONS = {"none": None, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def updated(x, places, updates, reduction):
    """numpy's answer, of updates one after the other."""
    y = x.copy()
    if REDUCTIONS[reduction] is None:
        y[places] = updates
    else:
        REDUCTIONS[reduction].at(y, places, updates)
    return y


def elements(cases, shape, sizes, axis, reduction, dtype, symbolic=False):
    """A ScatterElements."""
    x, updates = numbers(shape, dtype), numbers(sizes, dtype)
    indices = RNG.integers(-shape[axis], shape[axis], sizes)
    if reduction == "none":    # equal targets have equal updates
        full = numbers(tuple(shape[i] if i == axis else n for i, n in enumerate(sizes)), dtype)
        updates = np.take_along_axis(full, indices % shape[axis], axis)
    places = tuple(indices % shape[axis] if i == axis else grid for i, grid in enumerate(np.indices(sizes)))
    cases.add("ScatterElements", [x, indices, updates], [updated(x, places, updates, reduction)], symbolic=symbolic, axis=axis,
              reduction=reduction)


def tuples(cases, shape, sizes, depth, reduction, dtype, symbolic=False):
    """A ScatterND."""
    x, indices = numbers(shape, dtype), np.stack([RNG.integers(-shape[t], shape[t], sizes) for t in range(depth)], -1)
    places = tuple(indices[..., t] % shape[t] for t in range(depth))
    updates = numbers((*sizes, *shape[depth:]), dtype)
    if reduction == "none":
        updates = numbers(shape, dtype)[places]
    arrays = [x, indices, updates]
    cases.add("ScatterND", arrays, [updated(x, places, updates, reduction)], symbolic=symbolic, reduction=reduction)


@EACH
@pytest.mark.parametrize("reduction", first_of(["add", "none", "mul", "min", "max"]))
def test_updates_by_index(target, reduction):
    cases = Cases()
    dtypes = (np.float32, np.int32) if reduction != "mul" else (np.int32, np.int64)    # which products wrap alike in any order
    along = [((3, 5), (2, 5), 0), ((4, 300), (3, 700), 1), ((300, 3), (17, 2), 0), ((40,), (1000,), 0), ((2, 30, 3), (2, 50, 3), 1),
             ((5, 4), (5, 0), 1)]
    for number, (shape, sizes, axis) in enumerate(along):
        elements(cases, shape, sizes, axis, reduction, dtypes[number % 2])
    named = [((30, 7), (9,), 1), ((30, 7), (90,), 1), ((20, 30, 2), (5, 70), 2), ((50,), (600,), 1), ((6, 5), (0,), 1)]
    for number, (shape, sizes, depth) in enumerate(named):
        tuples(cases, shape, sizes, depth, reduction, dtypes[number % 2])
    cases.check(target)


@EACH
def test_updates_of_sizes_that_only_the_call_knows(target):
    cases = Cases()
    elements(cases, (4, 30), (3, 70), 1, "add", np.float32, symbolic=True)
    elements(cases, (3, 4), (2, 1), 1, "none", np.float32, symbolic=True)
    cases.check(target)


def test_sums_are_added_in_the_order_of_the_updates():
    """As on CPUs, to the last bit, whatever their number."""
    x, updates = np.zeros(3, np.float32), RNG.standard_normal(2000).astype(np.float32)
    indices, wanted = RNG.integers(0, 3, 2000), np.zeros(3, np.float32)
    for place, update in zip(indices, updates):
        wanted[place] += update
    cases = Cases()
    cases.add("ScatterElements", [x, indices, updates], [wanted], reduction="add")
    cases.check("nvvm")


@EACH
def test_nonzero(target):
    cases = Cases()
    for number, shape in enumerate([(1,), (40,), (5000,), (3, 700), (2, 3, 5), (0, 4)]):
        x = np.where(RNG.random(shape) < (0.02 if number % 2 else 0.9), numbers(shape, np.float32, "special"), 0)
        cases.add("NonZero", [x.astype(np.float32)], [np.array(np.nonzero(x))], symbolic=number % 3 == 1)
    cases.add("NonZero", [np.zeros((2, 300), bool)], [np.zeros((2, 0), np.int64)])
    cases.add("NonZero", [np.ones(600, np.uint8)], [np.arange(600)[None]])
    cases.check(target)


def test_no_thread_goes_through_a_large_input_alone():
    cases = Cases()
    elements(cases, (300, 200), (300, 200), 1, "add", np.float32)
    tuples(cases, (5000, 20), (3000,), 1, "none", np.float32)
    cases.add("TopK", [numbers((8, 5000), np.float32)], [None, None], 2, constants=[np.int64([3000])])
    cases.add("NonZero", [numbers((300, 200), np.float32)], [None])
    cases.add("Compress", [numbers((40000,), np.float32), np.ones(40000, bool)], [None])
    cases.add("Unique", [numbers((20000,), np.float32)], [None] * 4, 4)
    cases.add("NonMaxSuppression", [numbers((2, 3000, 4), np.float32), numbers((2, 3, 3000), np.float32)], [None],
              constants=[np.int64([3000])])
    lowered = legato.lower(cases.module(), "nvvm", last="outlined")
    alone = {str(launch.attributes["kernel"]).split("@")[-1] for launch in find(lowered.operation, "gpu.launch_func") if is_single(launch)}
    bodies = {kernel.attributes["sym_name"].value: kernel for kernel in find(lowered.operation, "gpu.func")}
    assert len(bodies) > 20 and not any(find(bodies[name], "scf.for", "scf.while") for name in alone)


def is_single(launch):
    """Whether a launch is of one thread."""
    sizes = [value.owner for value in list(launch.operands)[:6]]
    return all(op.name == "arith.constant" and op.attributes["value"].value == 1 for op in sizes)
