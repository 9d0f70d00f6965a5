"""Kernels for devices without integers of 64 bits: of models with floats only, and with such integers, in words of 32 bits."""
import numpy as np
import onnx
import pytest
from vulkan_driver import needs_vulkan

import legato
from legato.runtime.vulkan.device import the_device

pytestmark = needs_vulkan

STEPS = """func.func @main(%x: tensor<?xTYPE, #relax.dims<["n"]>>, %first: tensor<TYPE>, %step: tensor<TYPE>)
    -> tensor<?xTYPE, #relax.dims<["n"]>> {
  %0 = "relax.arange"(%first, %step) {shape = #relax.dims<["n"]>} : (tensor<TYPE>, tensor<TYPE>) -> tensor<?xTYPE, #relax.dims<["n"]>>
  %1 = "relax.add"(%0, %x) : (tensor<?xTYPE, #relax.dims<["n"]>>, tensor<?xTYPE, #relax.dims<["n"]>>) -> tensor<?xTYPE, #relax.dims<["n"]>>
  return %1 : tensor<?xTYPE, #relax.dims<["n"]>>
}"""
MEAN = """func.func @main(%x: tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<5xf32> {
  %0 = "relax.mean"(%x) {axis = array<i64: 0>, keepdims = false} : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}"""


TAKE = """func.func @main(%x: tensor<4x5xf32>, %j: tensor<3xi64>) -> tensor<2x5xf32> {
  %i = "relax.constant"() {value = dense<[1, -1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %0 = "relax.take"(%x, INDICES) {axis = 0 : i64} : (tensor<4x5xf32>, tensor<LENGTHxi64>) -> tensor<LENGTHx5xf32> loc("rows")
  %1 = "relax.strided_slice"(%0) {axes = array<i64: 0>, begin = #relax.dims<[0]>, end = #relax.dims<[2]>, strides = array<i64: 1>}
    : (tensor<LENGTHx5xf32>) -> tensor<2x5xf32>
  return %1 : tensor<2x5xf32>
}"""


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """The device without integers of 64 bits."""
    monkeypatch.setattr(the_device(), "able", the_device().able - {"Int64"})


@pytest.mark.parametrize("name,dtype", [("f32", np.float32), ("f16", np.float16)])
def test_numbers_in_equal_steps(name, dtype):
    exe = legato.compile(legato.Module.parse(STEPS.replace("TYPE", name)), "vulkan")
    for n in (1, 77, 1000):
        x = np.random.default_rng(0).standard_normal(n).astype(dtype)
        want = ((np.arange(n) * 0.5 - 3).astype(dtype) + x).astype(dtype)
        np.testing.assert_array_equal(exe(x, dtype(-3), dtype(0.5)), want)


def test_a_mean_of_rows_in_an_unknown_number():
    exe = legato.compile(legato.Module.parse(MEAN), "vulkan")
    for n in (1, 3, 400):
        x = np.random.default_rng(n).standard_normal((n, 5)).astype(np.float32)
        np.testing.assert_allclose(exe(x), x.mean(0), rtol=1e-5, atol=1e-6)


def test_an_average_pool_of_an_unknown_image():
    """The number of elements of a window that are no padding is computed from the window's place."""
    import onnxruntime as ort

    node = onnx.helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    value = [onnx.helper.make_tensor_value_info(*one) for one in (("x", 1, [1, 2, "h", "w"]), ("y", 1, [1, 2, "i", "j"]))]
    proto = onnx.helper.make_model(onnx.helper.make_graph([node], "pool", value[:1], value[1:]),
                                   opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    exe, session = legato.compile(legato.from_onnx(proto), "vulkan"), ort.InferenceSession(proto.SerializeToString())
    for h, w in ((1, 1), (8, 5), (9, 33)):
        x = np.random.default_rng(h).standard_normal((1, 2, h, w)).astype(np.float32)
        np.testing.assert_allclose(exe(x), np.asarray(session.run(None, {"x": x})[0]), rtol=1e-5, atol=1e-6)


def test_rows_at_constant_indices():
    """Indices of i64, as exporters write them, are stored in 32 bits."""
    exe = legato.compile(legato.Module.parse(TAKE.replace("INDICES", "%i").replace("LENGTH", "2")), "vulkan")
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    np.testing.assert_array_equal(exe(x, np.zeros(3, np.int64)), x[[1, -1]])


def test_indices_of_64_bits_are_given():
    exe = legato.compile(legato.Module.parse(TAKE.replace("INDICES", "%j").replace("LENGTH", "3")), "vulkan")
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    np.testing.assert_array_equal(exe(x, np.array([3, -3, 0])), x[[3, -3]])


def numbers(dtype, count):
    """Integers of all lengths, and those beside which arithmetic in words of 32 bits, or rounding, may go wrong."""
    random = np.random.default_rng(0)
    found = (random.integers(0, 1 << 63, count, np.uint64) >> random.integers(0, 64, count).astype(np.uint64)).astype(np.int64)
    found = np.where(random.random(count) < 0.5, -found, found)
    found[:14] = [0, 1, -1, 1 << 31, 1 << 32, -(1 << 31), (1 << 63) - 1, -(1 << 63), (1 << 24) + 1, (1 << 40) + (1 << 16),
                  (1 << 40) + (3 << 16), (1 << 40) + (1 << 16) + 1, (1 << 56) + 1, 65519]
    return random.permutation(found).astype(dtype)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_arithmetic_in_words(dtype):
    """Against onnxruntime, and, for casts, numpy. An odd number of elements, and vectors of two."""
    import onnxruntime as ort

    kind, float_, half = (onnx.helper.np_dtype_to_tensor_dtype(np.dtype(one)) for one in (dtype, np.float32, np.float16))
    graph, computed = onnx.helper, ["Add", "Sub", "Mul", "Div", "Mod", "Max", "Less"]
    nodes = [graph.make_node(op, ["x", "y"], [op]) for op in computed]
    nodes += [graph.make_node("Cast", [given], [name], to=to)
              for given, name, to in (("x", "f32", float_), ("x", "f16", half), ("f", "long", kind))]
    outputs = {**dict.fromkeys(computed, kind), "Less": onnx.TensorProto.BOOL, "f32": float_, "f16": half, "long": kind}
    value = onnx.helper.make_tensor_value_info
    proto = graph.make_model(graph.make_graph(nodes, "words", [value("x", kind, [257]), value("y", kind, [257]), value("f", float_, [257])],
                                              [value(name, one, [257]) for name, one in outputs.items()]),
                             opset_imports=[graph.make_opsetid("", 17)], ir_version=8)
    x, y = numbers(dtype, 257), numbers(dtype, 257)[::-1].copy()
    y[(y == 0) | (y == dtype(np.int64(-1).astype(dtype)))] = 3       # undefined
    f = x.astype(np.float32) * np.float32(0.37)
    found = dict(zip(outputs, legato.compile(legato.from_onnx(proto), "vulkan")(x, y, f), strict=True))
    expected = ort.InferenceSession(proto.SerializeToString()).run(computed, {"x": x, "y": y, "f": f})
    for name, wanted in zip(computed, expected, strict=True):
        np.testing.assert_array_equal(found[name], wanted, name)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found["f32"], x.astype(np.float32))
        np.testing.assert_array_equal(found["f16"], x.astype(np.float16))
    np.testing.assert_array_equal(found["long"], f.astype(dtype))


def test_a_model_for_integers_of_64_bits_is_refused():
    exe = legato.compile(legato.Module.parse(TAKE.replace("INDICES", "%j").replace("LENGTH", "3")), "vulkan{int64=true}")
    with pytest.raises(Exception, match=r"relax.take rows.*: the kernel \S+ needs Int64, which the device .* lacks; compile for the target "
                                        r"'vulkan\{int64=false\}'"):
        exe(np.zeros((4, 5), np.float32), np.zeros(3, np.int64))
    with pytest.raises(legato.LegatoError, match="option 'int64' wants host, true or false, found 'maybe'"):
        legato.lower(legato.Module.parse(MEAN), "vulkan{int64=maybe}")
