"""Operands that are sizes of other tensors (``Shape`` of a symbol, as ``torch.sort`` and ``triu`` are exported), beside onnxruntime."""
import numpy as np
import onnxruntime
import pytest
from onnx import helper
from onnx_check import model, value

import legato

RNG = np.random.default_rng(0)
MINUS_ONE, TWO = {"c": np.array([-1])}, {"c": np.array([2])}
LENGTH, OTHER = ("Shape", {"start": 1, "end": 2}, "x"), ("Shape", {"start": 0, "end": 1}, "y")


def compare(nodes, constants, calls, outputs=("z",)):
    """Compiles the nodes once for x [b, n] and y [m], and compares each call. ``calls``: the values of b, n and m."""
    inputs = [value("x", np.zeros((1, 1), np.float32), ["b", "n"]), value("y", np.zeros(1, np.float32), ["m"])]
    proto = model([helper.make_node(op, given, made, **attributes) for op, given, made, attributes in nodes], inputs, outputs,
                  constants=constants, opset=20)
    exe, session = legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString())
    for b, n, m in calls:
        x, y = RNG.permutation(b * n).reshape(b, n).astype(np.float32), np.zeros(m, np.float32)
        found = exe(x, y)
        for ours, theirs in zip(found if isinstance(found, tuple) else (found,), session.run(None, {"x": x, "y": y}), strict=True):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
            np.testing.assert_array_equal(ours, theirs)
    return exe


def size_of(source, made="k"):
    op, attributes, x = source
    return op, [x], [made], attributes


@pytest.mark.parametrize("largest", [0, 1])
def test_a_sort_of_all_elements(largest):
    nodes = [size_of(LENGTH), ("TopK", ["x", "k"], ["z", "i"], {"axis": 1, "largest": largest})]
    compare(nodes, {}, [(2, 7, 1), (1, 1, 3), (3, 20, 2), (0, 4, 1)], ("z", "i"))


def test_as_many_of_the_largest_as_another_tensor_has():
    exe = compare([size_of(OTHER), ("TopK", ["x", "k"], ["z", "i"], {})], {}, [(2, 7, 3), (1, 4, 4), (2, 5, 0)], ("z", "i"))
    with pytest.raises(ValueError, match=r"needs .*m"):
        exe(np.zeros((2, 3), np.float32), np.zeros(4, np.float32))


def test_half_of_the_elements():
    nodes = [size_of(LENGTH, "n"), ("Div", ["n", "c"], ["k"], {}), ("TopK", ["x", "k"], ["z", "i"], {})]
    compare(nodes, TWO, [(2, 7, 1), (3, 12, 1), (1, 1, 1)], ("z", "i"))


def test_a_depth_that_is_a_size():
    nodes = [size_of(OTHER), ("Cast", ["x"], ["i"], {"to": 7}), ("OneHot", ["i", "k", "v"], ["z"], {"axis": 1})]
    compare(nodes, {"v": np.float32([0, 1])}, [(2, 4, 3), (1, 6, 9), (2, 1, 1)])


@pytest.mark.parametrize("upper", [0, 1])
def test_triangles_at_a_diagonal_that_is_a_size(upper):
    """A mask of a decoder: row i sees the keys up to i + m."""
    nodes = [size_of(OTHER, "m"), ("Squeeze", ["m"], ["k"], {}), ("Trilu", ["x", "k"], ["z"], {"upper": upper})]
    compare(nodes, {}, [(3, 5, 1), (3, 3, 2), (4, 2, 7), (1, 1, 0)])
    nodes = [size_of(OTHER, "m"), ("Mul", ["m", "c"], ["k"], {}), ("Trilu", ["x", "k"], ["z"], {"upper": upper})]
    compare(nodes, MINUS_ONE, [(5, 3, 1), (3, 3, 2), (2, 4, 7)])


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pads_that_add_or_take_away_as_sizes_say(mode):
    """Rows are padded to as many as y has behind, or cut to them; in front, y has two elements more than are added."""
    nodes = [size_of(LENGTH, "n"), size_of(OTHER, "m"), ("Sub", ["m", "n"], ["behind"], {}), ("Add", ["m", "c"], ["before"], {}),
             ("Concat", ["zero", "before", "zero", "behind"], ["pads"], {"axis": 0}), ("Pad", ["x", "pads"], ["z"], {"mode": mode})]
    exe = compare(nodes, {"c": np.array([-2]), "zero": np.array([0])}, [(2, 7, 5), (1, 5, 5), (3, 4, 2), (2, 5, 6)])
    with pytest.raises(ValueError, match=r'strided_slice "z" has a dimension of n - .*, which needs n - .* >= 0'):
        exe(np.ones((1, 5), np.float32), np.ones(0, np.float32))


def test_a_padding_to_the_next_multiple_keeps_the_other_sizes():
    """As image models do: channels stay known, so that a convolution takes the result."""
    nodes = [("Unsqueeze", ["x", "one"], ["u"], {}), ("Shape", ["x"], ["n"], {"start": 1, "end": 2}), ("Neg", ["n"], ["minus"], {}),
             ("Mod", ["minus", "four"], ["behind"], {}), ("Concat", ["zeros", "behind"], ["pads"], {"axis": 0}),
             ("Pad", ["u", "pads"], ["p"], {"mode": "reflect"}), ("Conv", ["p", "w"], ["z"], {"strides": [4]})]
    constants = {"one": np.array([1]), "four": np.array([4]), "zeros": np.zeros(5, np.int64), "w": np.ones((2, 1, 4), np.float32)}
    compare(nodes, constants, [(2, 7, 1), (1, 8, 1), (3, 13, 1)])


def test_the_rest_of_a_known_number_of_elements():
    """A table of positions that is cut by the sizes of an image: whether they divide it shows at the call."""
    nodes = [size_of(LENGTH, "n"), ("Concat", ["n", "c"], ["shape"], {"axis": 0}), ("Reshape", ["table", "shape"], ["z"], {})]
    exe = compare(nodes, {**MINUS_ONE, "table": RNG.random((6, 4)).astype(np.float32)}, [(2, 6, 1), (1, 24, 1), (1, 1, 2)])
    for n in (5, 48, 0):
        with pytest.raises(ValueError, match=r"main cannot run on .*relax.reshape \"z\""):
            exe(np.ones((1, n), np.float32), np.ones(1, np.float32))


def same_padding(height):
    """As timm's models pad by the script exporter: in floats."""
    nodes = [("Shape", ["x"], ["s"], {"start": 2, "end": 3}), ("Cast", ["s"], ["h"], {"to": 1}), ("Div", ["h", "two"], ["half"], {}),
             ("Ceil", ["half"], ["up"], {}), ("Sub", ["up", "one"], ["fewer"], {}), ("Mul", ["fewer", "two"], ["begin"], {}),
             ("Add", ["begin", "five"], ["end"], {}), ("Sub", ["end", "h"], ["over"], {}), ("Clip", ["over", "zero"], ["total"], {}),
             ("Div", ["total", "two"], ["lower"], {}), ("Cast", ["lower"], ["low"], {"to": 7}), ("Cast", ["total"], ["all"], {"to": 7}),
             ("Sub", ["all", "low"], ["high"], {}), ("Concat", ["none", "low", "none3", "high", "none1"], ["p"], {"axis": 0}),
             ("Pad", ["x", "p"], ["padded"], {}), ("Conv", ["padded", "w"], ["y"], {"group": 8, "strides": [2, 2]})]
    constants = {"two": np.float32([2]), "one": np.float32([1]), "five": np.float32([5]), "zero": np.float32(0),
                 "none": np.zeros(2, np.int64), "none1": np.zeros(1, np.int64), "none3": np.zeros(3, np.int64),
                 "w": RNG.standard_normal((8, 1, 5, 5)).astype(np.float32)}
    return model([helper.make_node(op, given, made, **attributes) for op, given, made, attributes in nodes],
                 [value("x", np.zeros((1, 8, 1, 1), np.float32), ["b", 8, height, 11])], ("y",), constants=constants, opset=17)


@pytest.mark.parametrize("height", ["h", 9, 10])
def test_padding_computed_in_floats(height):
    """Of a known size it is known; of another the channels of a padded image are data, and must be those of the weight."""
    proto = same_padding(height)
    module = legato.from_onnx(proto)
    assert ("relax.size_of" in str(module)) == (height == "h")
    exe, session = legato.compile(module), onnxruntime.InferenceSession(proto.SerializeToString())
    for rows in ((7, 8, 16) if height == "h" else (height,)):
        x = RNG.standard_normal((2, 8, rows, 11)).astype(np.float32)
        expected = np.asarray(session.run(None, {"x": x})[0])
        found = exe(x)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_range_by_a_delta_that_is_a_size():
    nodes = [size_of(OTHER, "s"), ("Squeeze", ["s"], ["m"], {}), ("Size", ["x"], ["e"], {}), ("Range", ["c", "e", "m"], ["z"], {})]
    compare(nodes, {"c": np.array(0)}, [(2, 7, 3), (1, 4, 4), (0, 4, 2), (3, 3, 20)])


FROM_END = {   # places -n // 3 and minus the number of elements of x that are not 0: of both, 0 is the beginning
    "a third": [size_of(LENGTH), ("Div", ["k", "three"], ["third"], {}), ("Neg", ["third"], ["place"], {})],
    "a number that data gives": [
        ("NonZero", ["x"], ["found"], {}), ("Shape", ["found"], ["k"], {"start": 1}), ("Neg", ["k"], ["place"], {})],
}


@pytest.mark.parametrize("kind", FROM_END)
def test_places_from_the_end_that_may_be_zero(kind):
    nodes = [*FROM_END[kind], ("Slice", ["x", "place", "far", "one"], ["last"], {}),
             ("Slice", ["x", "zero", "place", "one"], ["first"], {})]
    constants = {"three": np.array([3]), "far": np.array([2**63 - 1]), "one": np.array([1]), "zero": np.array([0])}
    compare(nodes, constants, [(2, 7, 1), (1, 1, 1), (1, 2, 1), (1, 3, 1), (2, 9, 1), (1, 5, 1)], ("last", "first"))


@pytest.mark.parametrize("indices", [[5], [0, 5, 2], [-6, 1]], ids=str)
def test_constant_indices_that_an_axis_of_symbolic_size_may_not_have(indices):
    nodes = [("Gather", ["x", "c"], ["z"], {"axis": 1})]
    exe = compare(nodes, {"c": np.array(indices)}, [(2, 7, 1), (3, 6, 1), (0, 9, 1)])
    with pytest.raises(ValueError, match=r"Gather.* needs n, the size of axis 1, to hold its indices, from .* \(expected 6, found 5\)"):
        exe(np.zeros((2, 5), np.float32), np.zeros(1, np.float32))
