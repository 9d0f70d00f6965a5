"""Default schedules of kernels of unknown sizes: one launch, and numpy's results on Vulkan and on the stand-in for CUDA's driver."""
import logging

import numpy as np
import onnxruntime
import pytest
from lowering import Lowering
from onnx import TensorProto, helper
from standin import TARGET, compiled
from thoroughly import thorough
from vulkan_driver import FOUND

import legato
from legato.core.ir_helpers import find

pytestmark = pytest.mark.usefixtures("nothing_is_left")
HEADS = 'tensor<?x3x?x?xf32, #relax.dims<["b", 3, "s", "m"]>>'


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


# name: the type of %x, the op, the type of the result, numpy's form in double precision, shapes of x
GRAPHS = {
    "rows along several axes": (HEADS, '"relax.softmax"(%x) {axis = 3}', HEADS, lambda x: softmax(x, 3),
                                ((2, 3, 5, 70), (1, 3, 1, 1), (2, 3, 2, 300), (2, 3, 0, 4))),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_one_launch_and_the_results(name, caplog):
    given, op, result, expected, shapes = GRAPHS[name]
    module = legato.Module.parse(f'func.func @main(%x: {given} {{relax.name = "x"}}) -> {result} {{\n'
                                 f"%0 = {op} : ({given}) -> {result}\nreturn %0 : {result} }}")
    with caplog.at_level(logging.WARNING, "legato"):
        lowering = Lowering(module, TARGET)
        outlined = lowering.at("outlined")
    assert not caplog.records and [kernel.schedule for kernel in lowering.explained.kernels] == ["rows"]
    assert len(find(outlined.operation, "gpu.launch_func")) == 1
    for exe in [compiled(outlined), *([legato.compile(module, "vulkan")] if FOUND is None else [])]:
        for shape in shapes:
            x = np.random.default_rng(0).standard_normal(shape, np.float32)
            np.testing.assert_allclose(exe(x), expected(x.astype(np.float64)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 16, 13, 13), ("b", 16, "h", "w")], ids=["known", "unknown"])
def test_a_mean_pool_with_padding_is_one_launch(shape):
    """The divisors of a window's places are a constant of the kernel where sizes are known, else computed."""
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    values = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes)] for name, sizes in (("x", shape), ("y", None))]
    graph = helper.make_model(helper.make_graph([node], "pool", *values), opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    module = legato.from_onnx(graph)
    lowering = Lowering(module, TARGET)
    outlined = lowering.at("outlined")
    assert all(kernel.schedule for kernel in lowering.explained.kernels)
    assert len(find(outlined.operation, "gpu.launch_func")) == 1
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    for exe in [compiled(outlined), *([legato.compile(module, "vulkan")] if FOUND is None else [])]:
        for sizes in ((1, 16, 13, 13), *(((2, 16, 7, 9), (1, 16, 3, 1)) if shape[0] == "b" else ())):
            x = np.random.default_rng(0).standard_normal(sizes, np.float32)
            np.testing.assert_allclose(exe(x), np.asarray(session.run(None, {"x": x})[0]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("type_, target, tiled", [
    *thorough([("f32", "nvvm", "product")], 3), ("f16", "nvvm", "matrix_product"), ("f16", "nvvm{chip=sm_90a}", "warpgroup_product"),
    ("f32", "vulkan", "product")])
def test_products_of_unknown_rows_are_tiled(type_, target, tiled):
    """As a model with a batch and a sequence of any length has them: none falls back to a thread a point."""
    x = f'tensor<?x?x768x{type_}, #relax.dims<["b", "s", 768]>>'
    y = f'tensor<?x?x512x{type_}, #relax.dims<["b", "s", 512]>>'
    module = legato.Module.parse(f"""func.func @main(%x: {x}, %w: tensor<768x512x{type_}>) -> {y} {{
      %0 = "relax.matmul"(%x, %w) : ({x}, tensor<768x512x{type_}>) -> {y}
      %1 = "relax.relu"(%0) : ({y}) -> {y}
      return %1 : {y} }}""")
    found = {kernel.kernel: kernel.schedule for kernel in legato.explain(module, target).kernels}
    assert found.pop("fused_matmul_relu_1_row") == "skinny" and set(found.values()) == {tiled}
