"""Kernels whose indices have 32 bits: they give what others give, up to the last element of the largest buffer, and larger ones keep 64."""
import re

import numpy as np
import onnxruntime
import pytest
from lowered_kernels import LoweredKernel, code_of, sparse
from onnx import helper
from onnx_check import model, value

import legato
from legato.core.ir_helpers import find

pytest.importorskip("llvmlite")

LARGEST_SHORT = (1 << 31) - (1 << 16) - 16


def width(text):
    """The bits of the indices of a kernel's accesses to global memory."""
    (bits,) = set(re.findall(r"getelementptr (?:inbounds )?(?:nuw )?\w+, ptr %\d+, i(\d+) %", text))
    return int(bits)


@pytest.mark.parametrize(("count", "bits"), [(LARGEST_SHORT, 32), ((1 << 31) + 4096, 64), ((1 << 32) + 4096, 64)])
@pytest.mark.parametrize("dtype", ["f32", "i8"])
def test_the_last_elements(count, bits, dtype):
    type_ = f"tensor<{count}x{dtype}>"
    module = legato.Module.parse(f"""func.func @main(%x: {type_}) -> {type_} {{
      %0 = "relax.negative"(%x) : ({type_}) -> {type_}
      return %0 : {type_} }}""")
    ((name, text),) = code_of(legato.lower(module, "nvvm", last="nvvm")).items()
    assert width(text) == bits
    kernel = LoweredKernel(name, text)
    x, y = (sparse(count, np.float32 if dtype == "f32" else np.int8) for _ in range(2))
    places = [0, 5, count - 3, count - 1]
    x[places] = [3, 5, 7, 11]
    per_block = kernel.block[0] * 16 // x.itemsize
    for block in (0, (count - 3) // per_block, (count - 1) // per_block):
        kernel((block, 0, 0), [x, y])
    assert list(y[places]) == [-3, -5, -7, -11]


def node(kind, *inputs, **attributes):
    """One that gives y."""
    return [helper.make_node(kind, list(inputs or ("x",)), ["y"], **attributes)]


CASES = {
    "a padded pool": node("MaxPool", kernel_shape=[3, 3], pads=[1, 2, 1, 0], strides=[2, 1]),
    "a pool of distant places": node("MaxPool", kernel_shape=[4, 3], dilations=[4, 5], pads=[3, 1, 2, 2]),
    "steps back": node("Slice", "x", "starts", "ends", "axes", "steps"),
    "a column": node("Mul", "x", "column"),
}
CONSTANTS = {"steps back": {"starts": np.array([-1, 1]), "ends": np.array([-(1 << 62), 6]), "axes": np.array([3, 2]),
                            "steps": np.array([-2, 2])},
             "a column": {"column": np.arange(90, dtype=np.float32)[:, None]}}


@pytest.mark.parametrize("name", CASES)
def test_places_that_are_computed(name):
    x = np.random.default_rng(0).standard_normal((2, 3, 90, 110), np.float32)
    proto = model(CASES[name], [value("x", x)], ["y"], 17, CONSTANTS.get(name, {}))
    (expected,) = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": x})
    outlined = legato.lower(legato.from_onnx(proto), "nvvm", last="outlined")
    (launch,) = find(outlined.operation, "gpu.func")
    grid = list(launch.attributes["known_grid_size"])
    codes = code_of(legato.lower(outlined, "nvvm", from_stage="outlined", last="nvvm"))
    ((kernel, text),) = codes.items()
    assert width(text) == 32
    lowered, y = LoweredKernel(kernel, text), np.full(expected.shape, np.nan, np.float32)
    given = [x, *(array for array in CONSTANTS.get(name, {}).values() if array.dtype == np.float32), y]
    for block in np.ndindex(*grid):
        lowered(block, given)
    np.testing.assert_allclose(y, np.asarray(expected), rtol=1e-6)


def test_what_keeps_its_width():
    """Rows of an unknown number, and places that are data: only their intervals would say that they fit."""
    unknown = legato.Module.parse("""func.func @main(%x: tensor<?x8xf32> {relax.dims = ["n", 8]}) -> tensor<?x8xf32> {
      %0 = "relax.negative"(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
      return %0 : tensor<?x8xf32> }""")
    taken = legato.Module.parse("""func.func @main(%x: tensor<9x8xf32>, %i: tensor<5xi64>) -> tensor<5x8xf32> {
      %0 = "relax.take"(%x, %i) {axis = 0 : i64} : (tensor<9x8xf32>, tensor<5xi64>) -> tensor<5x8xf32>
      return %0 : tensor<5x8xf32> }""")
    for module in (unknown, taken):
        (text,) = code_of(legato.lower(module, "nvvm", last="nvvm")).values()
        assert width(text) == 64
