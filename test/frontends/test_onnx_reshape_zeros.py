"""Reshape to sizes of which only a call tells that they are 0, beside onnxruntime: what it copies, and never another shape silently."""
import numpy as np
import onnxruntime
import pytest
from onnx import helper
from onnx_check import model, value
from thoroughly import sampled

import legato

N, M, P = ("x", 0), ("x", 1), ("y", 0)
COPIED = r"Reshape 'z' needs the sizes asked for, .*, not to be 0 where those of its input, \[n, m\], are not"


def graph(asked, allow_zero=0):
    """Reshapes x [n, m] to sizes, each a number, or one of x or of y [p]."""
    constants = {f"size{at}": np.array([size]) for at, size in enumerate(asked) if isinstance(size, int)}
    nodes = [helper.make_node("Shape", [size[0]], [f"size{at}"], start=size[1], end=size[1] + 1)
             for at, size in enumerate(asked) if not isinstance(size, int)]
    nodes += [helper.make_node("Concat", [f"size{at}" for at in range(len(asked))], ["shape"], axis=0),
              helper.make_node("Reshape", ["x", "shape"], ["z"], allowzero=allow_zero)]
    inputs = [value("x", np.zeros((1, 1), np.float32), ["n", "m"]), value("y", np.zeros(1, np.float32), ["p"])]
    return model(nodes, inputs, ["z"], constants=constants, opset=20)


def reference(proto):
    options = onnxruntime.SessionOptions()      # its fusions of Shape and Reshape take a size for another one
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(proto.SerializeToString(), options)


def arrays(n, m, p):
    return {"x": np.arange(n * m, dtype=np.float32).reshape(n, m), "y": np.zeros(p, np.float32)}


@pytest.mark.parametrize("asked, allow_zero, calls", [
    ([N, 1, M], 0, [(0, 3, 1), (2, 3, 1)]),
    ([N, M, P], 0, [(0, 3, 1), (2, 0, 1), (0, 3, 2)]),
    ([M, N], 0, [(2, 3, 1), (0, 0, 1)]),
    ([M, N], 1, [(2, 3, 1), (0, 0, 1), (0, 3, 1), (2, 0, 1)]),
    ([P, P], 1, [(0, 3, 0), (2, 0, 0), (4, 4, 4)]),
    ([0, P], 0, [(0, 3, 3), (2, 3, 3)]),
    ([-1, N], 0, [(2, 0, 1), (2, 3, 1)]),
])
def test_empty_shapes_that_nothing_else_could_mean(asked, allow_zero, calls):
    proto = graph(asked, allow_zero)
    exe, session = legato.compile(legato.from_onnx(proto)), reference(proto)
    for call in calls:
        given = arrays(*call)
        expected = np.asarray(session.run(None, given)[0])
        found = exe(*given.values())
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("asked, call, copied", [
    ([-1, N], (0, 3, 1), (0, 3)),
    ([M, -1], (2, 0, 1), (2, 0)),
    ([1, N, -1], (0, 3, 1), (1, 3, 0)),
    ([0, P], (0, 3, 0), (0, 3)),
    ([P, 0], (2, 0, 0), (2, 0)),
    ([P, P], (0, 3, 0), (0, 3)),
    ([P, -1], (2, 3, 0), (2, 3)),
])
def test_a_size_that_would_be_copied_is_an_error_of_the_call(asked, call, copied):
    proto = graph(asked)
    given = arrays(*call)
    assert np.asarray(reference(proto).run(None, given)[0]).shape == copied
    with pytest.raises(ValueError, match=COPIED):
        legato.compile(legato.from_onnx(proto))(*given.values())


@pytest.mark.parametrize("asked", [[N, M], [N, -1], [0, -1], [N, M, 1], [N, 1, -1], [M, N]])
def test_nothing_is_checked_where_the_copied_size_is_the_same(asked):
    assert "allowzero" not in str(legato.from_onnx(graph(asked)))


@pytest.mark.parametrize("asked, call", [([0, 1, -1], (0, 4)), ([0, 1, -1], (3, 0)), ([-1, 0], (3, 0)), ([0, 0, -1], (0, 4)),
                                         ([2, -1], (0, 4)), ([-1, 6], (3, 4)), ([0, -1], (3, 4))])
@pytest.mark.parametrize("allow_zero, known", sampled([(0, False), (0, True), (1, True), (1, False)], 2, 2))
def test_the_rest_beside_nothing_is_what_other_axes_have(asked, call, allow_zero, known):
    """Of a shape that is data, or a constant. onnxruntime refuses the rest beside a size of 0 that is copied; where 0 is allowed, it has
    these sizes."""
    x, shape = np.zeros(call, np.float32), np.array(asked)
    node = helper.make_node("Reshape", ["x", "shape"], ["y"], allowzero=allow_zero)
    inputs, constants = ([value("x", x)], {"shape": shape}) if known else ([value("x", x, ["n", "m"]), value("shape", shape)], {})
    proto = model([node], inputs, ["y"], constants=constants)
    copied = [call[at] if size == 0 and not allow_zero else size for at, size in enumerate(asked)]
    if 0 in copied and not x.size:
        expected = reference_of_data(copied, x)
    elif allow_zero and 0 in asked:
        return                              # not a shape of 12 elements
    else:
        expected = x.reshape(copied)
    assert legato.compile(legato.from_onnx(proto))(*[x] if known else [x, shape]).shape == expected.shape


def test_the_rest_beside_two_axes_of_nothing_is_unknown():
    """[0, 0, 2] as [0, -1] is [0, 0] where the last two axes are joined, as torch.repeat_interleave means it."""
    x = np.zeros((0, 0, 2), np.float32)
    proto = model([helper.make_node("Reshape", ["x", "shape"], ["y"])], [value("x", x)], ["y"], constants={"shape": np.array([0, -1])})
    with pytest.raises(legato.LegatoError, match="beside a size of 0, -1 could be anything"):
        legato.from_onnx(proto)


def reference_of_data(asked, x):
    node = helper.make_node("Reshape", ["x", "shape"], ["y"], allowzero=1)
    proto = model([node], [value("x", x), value("shape", np.array(asked))], ["y"])
    return np.asarray(reference(proto).run(None, {"x": x, "shape": np.array(asked)})[0])


def test_nothing_is_broadcast_to_a_size_that_is_0():
    """The kernel of a broadcast from an axis of size 0 to one of a symbolic size: the lengths of no rows."""
    node = helper.make_node("ReverseSequence", ["x", "lengths"], ["z"], batch_axis=0, time_axis=1)
    proto = model([node], [value("x", np.zeros((0, 4), np.float32), ["n", "m"])], ["z"], constants={"lengths": np.zeros(0, np.int64)})
    exe = legato.compile(legato.from_onnx(proto))
    assert exe(np.zeros((0, 4), np.float32)).shape == (0, 4)
    with pytest.raises(ValueError, match="needs axis 0 of its sequence_lens, 0, to be n"):
        exe(np.ones((2, 4), np.float32))
