"""Products of rows in an unknown number: forms for one row and for many, among which the host chooses; all give numpy's results."""
import ctypes

import numpy as np
import pytest
import tvm_ffi
from device_tensors import allocated, capsule_of, on_device
from standin import driver, prepared
from vulkan_driver import FOUND

import legato
from legato.codegen.jit import jit
from legato.core.ir_helpers import find

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("nothing_is_left")

DEPTH, COLUMNS = 16, 43 * 128
MANY = 3 * 128 + 1      # rows from which on tiles of 128 rows are three quarters full, at least; there are blocks enough
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


@pytest.mark.parametrize(("rows", "grid"), [(1, r"\d+ x 1 x 1"), (2, "1 x 86 x 1"), (MANY - 1, "6 x 86 x 1"), (MANY, "4 x 43 x 1")])
def test_the_host_chooses(lowered, rows, grid):
    """By the grid in the error of a launch that fails: nothing is computed."""
    exe = jit(lowered.module, lowered.weights)
    x, b = (tvm_ffi.from_dlpack(capsule_of(ctypes.addressof(allocated((rows, one), np.float32)), b"dltensor", None))
            for one in (DEPTH, COLUMNS))
    driver().standin_fail(b"cuLaunchKernel", 1, FAILURE)
    with pytest.raises(RuntimeError, match=rf"launching the kernel \w+ for relax.matmul, relax.add, relax.relu \(grid {grid},"):
        exe(x, on_device(np.zeros((DEPTH, COLUMNS), np.float32)), b)
    driver().standin_reset()


@pytest.mark.parametrize("rows", [0, 1, 2, 65, MANY])
def test_results(lowered, rows):
    check(jit(lowered.module, lowered.weights), rows, np.float32, 1e-5)


@pytest.mark.parametrize(("target", "schedules"), [("nvvm", {"skinny", "matrix_product"}),
                                                   ("nvvm{chip=sm_90a}", {"skinny", "warpgroup_product"})])
def test_tensor_cores(target, schedules, monkeypatch):
    """The columns of one row are read in another order than matrix instructions take them."""
    monkeypatch.setenv("STANDIN_CHIP", "90" if "sm_90a" in target else "80")
    sizes = {"depth": 136, "columns": 256}
    module = graph("f16", **sizes)
    assert {kernel.schedule for kernel in legato.explain(module, target).kernels} == schedules
    lowered = prepared(module, target)
    for rows in (1, 130):
        check(jit(lowered.module, lowered.weights), rows, np.float16, 2e-2, **sizes)


@pytest.mark.skipif(FOUND is not None, reason=str(FOUND))
def test_vulkan():
    exe = legato.compile(graph("f32"), "vulkan")
    for rows in (0, 1, 2, 65, MANY):
        check(exe, rows, np.float32, 1e-5)


def test_what_has_one_form():
    """Two unknown sizes, one column, and a number of rows that is known."""
    for x, w, y in (("?x16", "16x?", "?x?"), ("?x16", "16x1", "?x1"), ("300x16", "16x256", "300x256")):
        dims = [str(one.split("x")).replace("'?'", f"'{name}'").replace("'", '"') for one, name in ((x, "n"), (w, "m"))]
        module = legato.Module.parse(f"""func.func @main(%x: tensor<{x}xf32> {{relax.dims = {dims[0]}}},
            %w: tensor<{w}xf32> {{relax.dims = {dims[1]}}}) -> tensor<{y}xf32> {{
          %0 = "relax.matmul"(%x, %w) : (tensor<{x}xf32>, tensor<{w}xf32>) -> tensor<{y}xf32>
          return %0 : tensor<{y}xf32> }}""".replace('"16"', "16").replace('"1"', "1").replace('"300"', "300").replace('"256"', "256"))
        assert len(find(legato.lower(module, "nvvm", last="outlined").operation, "gpu.launch_func")) == 1
