"""Products of rows in an unknown number: forms for numbers of rows, among which the host chooses; all give numpy's results."""
import ctypes
from dataclasses import replace
from math import prod

import numpy as np
import onnxruntime
import pytest
import tvm_ffi
from device_tensors import allocated, capsule_of, on_device
from lowering import Lowering
from onnx import TensorProto, helper, numpy_helper
from standin import TARGET, compiled, driver, prepared
from thoroughly import first_of, thorough
from vulkan_driver import FOUND, needs_vulkan

import legato
from legato.codegen.jit import jit
from legato.core.ir_helpers import find
from legato.targets.gpu import unknown_sizes
from legato.targets.gpu.product_tiles import FAST

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("nothing_is_left")

DEPTH, COLUMNS = 16, 43 * 128
SOME, MANY = 32, 512    # rows from which on tiles of 32 x 32, and of 128 x 64, take less time
FULL = 3 * 128 + 1      # rows from which on tiles of 128 rows are three quarters full, at least; there are blocks enough
FAILURE = 200


def graph(dtype, columns=COLUMNS, depth=DEPTH):
    """relu(x w + b), of which x and b have the rows."""
    x, w, y = (f"tensor<{sizes}x{dtype}>" for sizes in (f"?x{depth}", f"{depth}x{columns}", f"?x{columns}"))
    return legato.Module.parse(f"""func.func @main(%x: {x} {{relax.dims = ["n", {depth}]}}, %w: {w},
        %b: {y} {{relax.dims = ["n", {columns}]}}) -> {y} {{
      %0 = "relax.matmul"(%x, %w) : ({x}, {w}) -> {y}
      %1 = "relax.add"(%0, %b) : ({y}, {y}) -> {y}
      %2 = "relax.relu"(%1) : ({y}) -> {y}
      return %2 : {y} }}""")


def operands(rows, dtype, columns=COLUMNS, depth=DEPTH):
    rng = np.random.default_rng(rows)
    return [rng.standard_normal(shape).astype(dtype) for shape in ((rows, depth), (depth, columns), (rows, columns))]


def check(exe, rows, dtype, tolerance, **sizes):
    x, w, b = operands(rows, dtype, **sizes)
    expected = np.maximum(x.astype(np.float32) @ w.astype(np.float32) + b, 0)
    np.testing.assert_allclose(np.asarray(exe(x, w, b)), expected, rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def lowered():
    return prepared(graph("f32"))


@pytest.mark.parametrize(("rows", "grid"), [(1, r"\d+ x 1 x 1"), (2, "1 x 172 x 1"), (SOME - 1, "4 x 172 x 1"),
                                            (SOME, "1 x 172 x 1"), (MANY - 1, "16 x 172 x 1"), (MANY, "4 x 86 x 1")])
def test_the_host_chooses(lowered, rows, grid):
    """By the grid in the error of a launch that fails: nothing is computed."""
    exe = jit(lowered.module, lowered.weights)
    x, b = (tvm_ffi.from_dlpack(capsule_of(ctypes.addressof(allocated((rows, one), np.float32)), b"dltensor", None))
            for one in (DEPTH, COLUMNS))
    driver().standin_fail(b"cuLaunchKernel", 1, FAILURE)
    with pytest.raises(RuntimeError, match=rf"launching the kernel \w+ for relax.matmul, relax.add, relax.relu \(grid {grid},"):
        exe(x, on_device(np.zeros((DEPTH, COLUMNS), np.float32)), b)
    driver().standin_reset()


@pytest.mark.parametrize("rows", [0, 1, 2, SOME - 1, SOME, 65, MANY + 1])
def test_results(lowered, rows):
    check(jit(lowered.module, lowered.weights), rows, np.float32, 1e-5)


@pytest.mark.parametrize(("target", "schedules"), first_of([
    ("nvvm{chip=sm_90a}", {"skinny", "warpgroup_product"}), ("nvvm", {"skinny", "matrix_product"})], 2))
def test_tensor_cores(target, schedules, monkeypatch):
    """The columns of one row are read in another order than matrix instructions take them."""
    monkeypatch.setenv("STANDIN_CHIP", "90" if "sm_90a" in target else "80")
    sizes = {"depth": 136, "columns": 256}
    module = graph("f16", **sizes)
    lowering = Lowering(module, target)
    lowered = prepared(lowering.at("outlined"), target)
    assert {kernel.schedule for kernel in lowering.explained.kernels} == schedules
    for rows in (1, 130):
        check(jit(lowered.module, lowered.weights), rows, np.float16, 2e-2, **sizes)


@pytest.mark.skipif(FOUND is not None, reason=str(FOUND))
def test_vulkan():
    exe = legato.compile(graph("f32"), "vulkan")
    for rows in (0, 1, 2, 65, FULL):
        check(exe, rows, np.float32, 1e-5)


def product_of(x, w, y):
    """A matmul of f32 with rows n and columns m where they are not known."""
    dims = [str([int(size) if size != "?" else name for size in one.split("x")]).replace("'", '"') for one, name in ((x, "n"), (w, "m"))]
    return legato.Module.parse(f"""func.func @main(%x: tensor<{x}xf32> {{relax.dims = {dims[0]}}},
        %w: tensor<{w}xf32> {{relax.dims = {dims[1]}}}) -> tensor<{y}xf32> {{
      %0 = "relax.matmul"(%x, %w) : (tensor<{x}xf32>, tensor<{w}xf32>) -> tensor<{y}xf32>
      return %0 : tensor<{y}xf32> }}""")


def test_what_has_one_form():
    """One column, and a number of rows that is known."""
    for sizes in (("?x16", "16x1", "?x1"), ("300x16", "16x256", "300x256")):
        assert len(find(legato.lower(product_of(*sizes), "nvvm", last="outlined").operation, "gpu.launch_func")) == 1


def test_unknown_rows_and_columns():
    """Forms by the number of results; none for one row."""
    module = product_of("?x16", "16x?", "?x?")
    outlined = legato.lower(module, TARGET, last="outlined")
    assert len(find(outlined.operation, "gpu.launch_func")) == 2
    exe = compiled(outlined)
    for rows, columns in ((0, 5), (1, 1), (9, 33), (64, 65), (300, 900)):
        x, w = (np.random.default_rng(n).standard_normal(shape).astype(np.float32) for n, shape in enumerate(((rows, 16), (16, columns))))
        np.testing.assert_allclose(np.asarray(exe(x, w)), x @ w, rtol=1e-4, atol=1e-4)


EDGES = [replace(one, slices=slices) for one in FAST for slices in (1, 4) if slices == 1 or slices * prod(one.threads) <= 256]


@pytest.mark.parametrize("tiles", first_of(EDGES[::-1]), ids=lambda one: f"{one.rows}x{one.columns}x{one.slices}")
def test_the_ends_of_tiles(tiles, monkeypatch):
    """Of rows in an unknown number in each of the tiles that there are: none, one, one less and more than a tile has, and more tiles."""
    monkeypatch.setattr(unknown_sizes, "in_one_launch", lambda *_: [tiles])
    depth = 128 * tiles.slices + 5 if tiles.slices > 1 else 37
    exe = compiled(graph("f32", columns=tiles.columns + 7, depth=depth))
    for rows in (0, 1, 2, tiles.rows - 1, tiles.rows, tiles.rows + 1, 2 * tiles.rows + 3):
        check(exe, rows, np.float32, 1e-4, columns=tiles.columns + 7, depth=depth)


def convolution(dtype, shape, weight, dims, **attributes):
    """relu(conv(x)) of an image whose sizes are the call's, as onnxruntime has it: x is laid out by channels."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT16 if dtype == np.float16 else TensorProto.FLOAT,
                                      [dims.get(axis, size) for axis, size in enumerate(shape)])
    w = np.random.default_rng(0).standard_normal(weight) / np.sqrt(np.prod(weight[1:]))
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], **attributes), helper.make_node("Relu", ["c"], ["y"])]
    y = helper.make_tensor_value_info("y", x.type.tensor_type.elem_type, None)
    graph_ = helper.make_graph(nodes, "images", [x], [y], [numpy_helper.from_array(w.astype(dtype), "w")])
    return helper.make_model(graph_, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


IMAGES = {    # shape, filters, sizes of the call, and calls
    "many columns": ((1, 8, 5, 5), (5504, 8, 1, 1), {0: "n"}, [(n, 8, 5, 5) for n in (0, 1, 2, 15, 16)]),
    "long depth": ((1, 256, 9, 8), (96, 256, 3, 3), {0: "n"}, [(n, 256, 9, 8) for n in (1, 2)]),
    "any size": ((1, 8, 9, 9), (5504, 8, 1, 1), {2: "h", 3: "w"}, [(1, 8, h, w) for h, w in ((1, 1), (3, 1), (5, 7), (20, 20))]),
    "a line of one": ((1, 8, 9), (5504, 8, 1), {2: "n"}, [(1, 8, n) for n in (1, 3, 390)]),
    "batches": ((1, 256, 3, 3), (64, 256, 3, 3), {0: "n"}, [(n, 256, 3, 3) for n in (0, 2, 7, 8)]),
    "groups": ((1, 16, 6, 6), (256, 8, 3, 3), {0: "n"}, [(n, 16, 6, 6) for n in (0, 1, 3)]),
}


@pytest.mark.parametrize("target, name", [
    *thorough(((target, name) for target in ("nvvm", "nvvm f16") for name in IMAGES), 2),
    *(pytest.param("vulkan", name, marks=[needs_vulkan, *([pytest.mark.thorough] * (number != 1))])
      for number, name in enumerate(IMAGES))])
def test_images(target, name):
    """Of one image, and of other numbers."""
    shape, weight, dims, calls = IMAGES[name]
    dtype = np.float16 if "f16" in target else np.float32
    attributes = {"group": 2} if name == "groups" else {}
    if weight[2:] == (3, 3):
        attributes["pads"] = [1] * 4
    module = legato.from_onnx(convolution(dtype, shape, weight, dims, **attributes))
    exe = legato.compile(module, "vulkan") if target == "vulkan" else compiled(module)
    reference = onnxruntime.InferenceSession(convolution(np.float32, shape, weight, dims, **attributes).SerializeToString())
    for shape in calls:
        x = np.random.default_rng(1).standard_normal(shape).astype(dtype)
        [expected] = reference.run(None, {"x": x.astype(np.float32)})
        tolerance = 2e-2 if dtype == np.float16 else 1e-5
        np.testing.assert_allclose(np.asarray(exe(x)), np.asarray(expected), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("images", "grid"), first_of([(1, "2 x 172 x 1"), (15, "6 x 86 x 1")], 2))
def test_the_host_chooses_by_images(images, grid):
    """Images of 25 places. The first launch lays them out by places."""
    shape, weight, dims, _ = IMAGES["many columns"]
    exe = compiled(legato.from_onnx(convolution(np.float32, shape, weight, dims)))
    x = np.zeros((images, *shape[1:]), np.float32)
    driver().standin_fail(b"cuLaunchKernel", 2, FAILURE)
    with pytest.raises(RuntimeError, match=rf"\(grid {grid},"):
        exe(x)
    driver().standin_reset()
