"""Buffers whose sizes are differences of symbols: padded ops after ops that shrink an axis, and tensors without elements."""
import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_check import model, reference, value
from thoroughly import sampled

import legato
from legato.analysis.indices.sizes import never_negative
from legato.dialects.relax.dims import parse, substitute

RNG = np.random.default_rng(0)
WEIGHTS = {"w5": RNG.standard_normal((4, 4, 5, 5), np.float32), "w3": RNG.standard_normal((4, 4, 3, 3), np.float32)}
CONSTANTS = {
    **WEIGHTS, "four": np.array([4, 3]), "far": np.array([2**40, -1]), "axes": np.array([2, 3]),
    "crop": np.array([0, 0, -2, 0, 0, 0, 0, -3]), "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]),
}
SHRINK = {
    "valid convolution": ("Conv", ["x", "w5"], {}),
    "strided convolution": ("Conv", ["x", "w5"], {"strides": [2, 1]}),
    "slice": ("Slice", ["x", "four", "far", "axes"], {}),
    "negative pad": ("Pad", ["x", "crop"], {}),
    "valid pooling": ("MaxPool", ["x"], {"kernel_shape": [4, 2]}),
}
PADDED = {
    "convolution": ("Conv", ["t", "w3"], {"pads": [1, 1, 1, 1]}),
    "cropped transposed convolution": ("ConvTranspose", ["t", "w3"], {"pads": [1, 0, 2, 1], "strides": [2, 2]}),
    "pooling": ("AveragePool", ["t"], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
    "reflection": ("Pad", ["t", "pads"], {"mode": "reflect"}),
}


def run(nodes, inputs, shapes, constants=None, outputs=("y",)):
    """Compiles a model with symbols for sizes; its results on each row of inputs must be onnxruntime's."""
    proto = model(nodes, [value(name, array, dims) for (name, array), dims in zip(inputs[0].items(), shapes)], outputs, constants=constants)
    executable = legato.compile(legato.from_onnx(proto))
    for given in inputs:
        found = executable(*given.values())
        for ours, theirs in zip([found] if len(outputs) == 1 else found, reference(proto, given), strict=True):
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shrink, padded", sampled([
    *((name, "convolution") for name in SHRINK), *(("slice", name) for name in PADDED),
    ("valid convolution", "cropped transposed convolution")], 2, 2))
def test_a_padded_op_behind_one_that_shrinks_its_axes(shrink, padded):
    chain = [helper.make_node(op, inputs, [result], **attributes)
             for (op, inputs, attributes), result in ((SHRINK[shrink], "t"), (PADDED[padded], "y"))]
    used = {name for node in chain for name in node.input}
    inputs = [{"x": RNG.standard_normal((1, 4, h, w), np.float32)} for h, w in ((9, 7), (21, 38))]
    run(chain, inputs, [[1, 4, "h", "w"]], {name: array for name, array in CONSTANTS.items() if name in used})


def test_several_shrinking_and_padded_ops_in_a_row():
    chain = [
        helper.make_node("MatMul", ["x", "m"], ["a"]), helper.make_node("Conv", ["a", "w5"], ["b"]),
        helper.make_node("Pad", ["b", "pads"], ["c"], mode="reflect"),
        helper.make_node("AveragePool", ["c"], ["d"], kernel_shape=[3, 3], strides=[2, 2]),
        helper.make_node("Conv", ["d", "w3"], ["y"], pads=[2, 2, 1, 1]),
    ]
    constants = {**WEIGHTS, "pads": CONSTANTS["pads"], "m": RNG.standard_normal((12, 20), np.float32)}
    run(chain, [{"x": RNG.standard_normal((2, 4, h, 12), np.float32)} for h in (7, 13)], [["n", 4, "h", 12]], constants)


@pytest.mark.parametrize("op, attributes, constants, shape", [
    ("Tile", {}, {"r": np.array([0, 2, 1])}, ["n", 3, 4]),
    ("Tile", {}, {"r": np.array([2, 0, 3])}, ["n", "m", 4]),
    ("Flatten", {"axis": 1}, {}, ["n", 0, 4]),
    ("Reshape", {}, {"s": np.array([-1])}, ["n", 0, 4]),
    ("Reshape", {"allowzero": 1}, {"s": np.array([4, 0, 7])}, ["n", 0, 4]),
    ("Transpose", {"perm": [2, 0, 1]}, {}, ["n", 0, 4]),
    ("ReduceSum", {"keepdims": 0}, {"a": np.array([0, 1])}, ["n", 0, 4]),
    ("ReduceSum", {"keepdims": 0}, {"a": np.array([2])}, ["n", 0, 4]),
    ("Expand", {}, {"s": np.array([5, 1, 1, 1])}, ["n", 0, 4]),
    ("Pad", {}, {"p": np.array([0, 1, 2, 0, 1, 0])}, ["n", 0, 4]),
    ("Softmax", {"axis": 1}, {}, ["n", 0, 4]),
])
def test_tensors_without_elements(op, attributes, constants, shape):
    x = np.ones([size if isinstance(size, int) else 3 for size in shape], np.float32)
    run([helper.make_node(op, ["x", *constants], ["y"], **attributes)], [{"x": x}], [shape], constants)


@pytest.mark.parametrize("text, expected", [
    ("n - min(4, n)", True), ("n - n // 2 * 2", True), ("(n + 63) // 64 * 64 - n", True), ("max(n - 9, 0)", True),
    ("max(n - 4, m) - m", True), ("min(n, 4) - min(n, 3)", True), ("n - n % 8", True), ("7 - n % 8", True),
    ("n - 4", False), ("6 - n % 8", False), ("min(n - 4, 3)", False), ("(n + 62) // 64 * 64 - n", False),
])
def test_what_is_never_negative(text, expected):
    size = parse(text)
    assert never_negative(size) == expected
    values = [substitute(size, {"n": n, "m": m}) for n in range(140) for m in (0, 1, 5)]
    assert (min(values) >= 0) == expected


PADDED_TO_A_WINDOW = """<ir_version: 10, opset_import: ["": 18]>
g (float[n, m] x) => (float[p, m] y) {
  sizes = Shape(x)
  zero = Constant<value = int64[1] {0}>()
  one = Constant<value = int64[1] {1}>()
  two = Constant<value = int64[1] {2}>()
  length = Gather(sizes, zero)
  window = Div(sizes, two)
  width = Gather(window, one)
  rest = Mod(length, width)
  left = Sub(width, rest)
  missing = Mod(left, width)
  pads = Concat<axis = 0>(zero, zero, missing, zero)
  y = Pad(x, pads)
}"""


def test_padding_to_a_multiple_of_a_window():
    proto = onnx.parser.parse_model(PADDED_TO_A_WINDOW)
    executable = legato.compile(legato.from_onnx(proto))
    for shape in ((5, 6), (6, 6), (1, 9), (7, 2)):
        x = RNG.standard_normal(shape, np.float32)
        np.testing.assert_array_equal(executable(x), reference(proto, {"x": x})[0])


def test_a_call_whose_sizes_divide_by_0():
    executable = legato.compile(legato.from_onnx(onnx.parser.parse_model(PADDED_TO_A_WINDOW)))
    with pytest.raises(ValueError, match=r"m // 2 >= 1"):
        executable(np.ones((5, 1), np.float32))


ROWS = """<ir_version: 10, opset_import: ["": 18]>
g (float[n, m] x, float[n, m] y, bool[n, m] c, float[n, 5, 3] z) => (float[n, m] scaled, float[n, m] chosen, float[n, 5, 3] larger) {
  shares = Softmax(x)
  scaled = Mul(y, shares)
  others = Softmax(y)
  chosen = Where(c, x, others)
  columns = Softmax<axis = 0>(z)
  larger = Max(z, columns)
}"""


def test_rows_whose_reader_has_the_sizes_of_another_input():
    """The sizes of the product's loops came from y: copies of the softmax's terms were not merged, and tir-schedule failed. Nor were they
    behind a reshape that joins axes, whose sizes are known here."""
    proto = onnx.parser.parse_model(ROWS)
    executable = legato.compile(legato.from_onnx(proto))
    for shape in ((5, 6), (1, 37), (3, 0)):
        x, y = RNG.standard_normal((2, *shape), np.float32)
        given = {"x": x, "y": y, "c": x > 0.2, "z": RNG.standard_normal((shape[0], 5, 3), np.float32)}
        for ours, wanted in zip(executable(*given.values()), reference(proto, given), strict=True):
            np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-6)


def test_a_size_by_data_that_is_checked_to_be_1_is_not_that_of_the_result():
    """The result's memory was made for a size that is known only later, of which the call had none: it was of any size."""
    nodes = [helper.make_node("Compress", ["x", "which"], ["c"], axis=3), helper.make_node("Squeeze", ["c", "last"], ["y"])]
    rows = [{"x": RNG.integers(0, 9, (16, n, n, 1)).astype(np.int32)} for n in (13, 6, 1)]
    run(nodes, rows, [[16, "n", "n", 1]], {"which": np.array([True]), "last": np.array([3])})


def test_norms_of_groups_of_halves():
    """Diffusion models in f16 compute norms and SiLU in f32; of images of unknown height and width the schedule failed."""
    nodes = [helper.make_node("Cast", ["x"], ["wide"], to=onnx.TensorProto.FLOAT),
             helper.make_node("GroupNormalization", ["wide", "scale", "bias"], ["n"], num_groups=4),
             helper.make_node("Sigmoid", ["n"], ["s"]), helper.make_node("Mul", ["n", "s"], ["m"]),
             helper.make_node("Cast", ["m"], ["y"], to=onnx.TensorProto.FLOAT16)]
    scale, bias = RNG.standard_normal((2, 8), np.float32)
    proto = model(nodes, [value("x", np.zeros((), np.float16), ["n", 8, "h", "w"])], ["y"], 21, {"scale": scale, "bias": bias})
    executable = legato.compile(legato.from_onnx(proto))
    for n, h, w in ((2, 5, 3), (1, 1, 1), (1, 16, 17)):
        x = RNG.standard_normal((n, 8, h, w)).astype(np.float16)
        np.testing.assert_allclose(executable(x), reference(proto, {"x": x})[0], rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize(("ends", "kept"), [(("whole", "n"), lambda n: n // 8 * 8), (("n", "most"), lambda n: n)])
def test_slices_to_the_end_and_beyond(ends, kept):
    """Audio codecs cut what they decode, whole frames, to the length of the sound; calls with another length were refused."""
    nodes = [helper.make_node("Shape", ["x"], ["n"]), helper.make_node("Div", ["n", "eight"], ["q"]),
             helper.make_node("Mul", ["q", "eight"], ["whole"]), helper.make_node("Max", ["n", "four"], ["most"]),
             helper.make_node("Slice", ["x", "zero", ends[0]], ["c"]), helper.make_node("Slice", ["c", "zero", ends[1]], ["y"])]
    constants = [onnx.numpy_helper.from_array(np.array([value]), name) for name, value in (("eight", 8), ("four", 4), ("zero", 0))]
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in (("x", ["n"]), ("y", None)))
    graph = helper.make_graph(nodes, "g", [x], [y], constants)
    exe = legato.compile(legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)))
    for size in (3, 8, 21):
        given = np.arange(size, dtype=np.float32)
        np.testing.assert_array_equal(exe(given), given[:kept(size)])
