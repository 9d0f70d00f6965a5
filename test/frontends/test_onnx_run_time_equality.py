"""Sizes of which only a call can tell whether they are equal, or 1: compiled, and compared with onnxruntime on calls that fit and on
calls that do not."""
import itertools
import re

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx_check import model
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException
from thoroughly import sampled

import legato

SIZES = (0, 1, 2, 3)
OPS = {
    "Add": (TensorProto.FLOAT, {}, ["n"], ["m"]), "Equal": (TensorProto.FLOAT, {}, ["n", 3], ["m", "k"]),
    "Pow": (TensorProto.FLOAT, {}, ["n", 1], [2, "m"]), "Max": (TensorProto.FLOAT, {}, ["n"], [2, "m"]),
    "Sum": (TensorProto.FLOAT, {}, [2, "n", 3], ["m", 3]), "Mean": (TensorProto.FLOAT, {}, ["n"], ["m"]),
    "Mod": (TensorProto.INT64, {}, ["n"], [3]), "BitShift": (TensorProto.UINT8, {"direction": "LEFT"}, ["n"], ["m"]),
    "And": (TensorProto.BOOL, {}, ["n", "m"], ["m", "n"]), "PRelu": (TensorProto.FLOAT, {}, ["n", 3], ["m"]),
    "MatMul": (TensorProto.FLOAT, {}, ["n", 2, "k"], ["m", "l", 2]), "Concat": (TensorProto.FLOAT, {"axis": 0}, ["n", "k"], [2, "m"]),
}


# of operands without elements onnxruntime gives other sizes than numpy
NUMPY = {"MatMul": np.matmul, "Concat": lambda a, b: np.concatenate([a, b], axis=0)}


def runs(proto, arrays):
    """What onnxruntime or numpy computes; None where it refuses."""
    if len(proto.graph.node) == 1 and proto.graph.node[0].op_type in NUMPY:
        try:
            return NUMPY[proto.graph.node[0].op_type](*arrays.values())
        except ValueError:
            return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    try:
        return session.run(None, arrays)[0]
    except (RuntimeException, InvalidArgument, Fail):
        return None


def drawn(kind, shape, seed):
    rng = np.random.default_rng(seed)
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    return rng.integers(0, 2, shape).astype(bool) if dtype.kind == "b" else rng.integers(1, 4, shape).astype(dtype)


def agree(proto, exe, kinds, shapes, names):
    """Calls with all sizes: the number of those that fit. Those that do not raise an error that names the node."""
    fitting = 0
    for values in itertools.product(SIZES, repeat=len(names)):
        sizes = dict(zip(names, values))
        arrays = {f"x{i}": drawn(k, [sizes.get(s, s) for s in shape], i) for i, (k, shape) in enumerate(zip(kinds, shapes))}
        expected = runs(proto, arrays)
        if expected is None:
            with pytest.raises(ValueError, match=r"'?the_node'?"):
                exe(*arrays.values())
            continue
        found = exe(*arrays.values())
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), sizes
        np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-6)
        fitting += 1
    return fitting


@pytest.mark.parametrize("op", sampled(OPS, 2))
def test_all_sizes(op, tmp_path):
    kind, attributes, *shapes = OPS[op]
    names = sorted({size for shape in shapes for size in shape if isinstance(size, str)})
    inputs = [helper.make_tensor_value_info(f"x{i}", kind, shape) for i, shape in enumerate(shapes)]
    proto = model([helper.make_node(op, ["x0", "x1"], ["y"], name="the_node", **attributes)], inputs, ["y"])
    exe = legato.compile(legato.from_onnx(proto))
    exe.save(tmp_path / "model.legato")
    fitting = agree(proto, exe, [kind] * 2, shapes, names)
    assert 0 < fitting < len(SIZES) ** len(names)
    assert agree(proto, legato.load(tmp_path / "model.legato"), [kind] * 2, shapes, names) == fitting


def test_where_takes_three():
    kinds, shapes = [TensorProto.BOOL, TensorProto.FLOAT, TensorProto.FLOAT], [["n"], ["m"], ["k"]]
    inputs = [helper.make_tensor_value_info(f"x{i}", kind, shape) for i, (kind, shape) in enumerate(zip(kinds, shapes))]
    proto = model([helper.make_node("Where", ["x0", "x1", "x2"], ["y"], name="the_node")], inputs, ["y"])
    assert agree(proto, legato.compile(legato.from_onnx(proto)), kinds, shapes, ["n", "m", "k"]) > 10


CHAIN = [helper.make_node("Mul", ["x0", "x1"], ["t"], name="the_node"), helper.make_node("Relu", ["t"], ["u"]),
         helper.make_node("Add", ["u", "x2"], ["y"], name="the_node, too")]


def test_a_chain_of_any_sizes():
    kinds, shapes = [TensorProto.FLOAT] * 3, [["n", 1], ["m"], ["k", "m"]]
    proto = model(CHAIN, [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, shape) for i, shape in enumerate(shapes)], ["y"])
    assert agree(proto, legato.compile(legato.from_onnx(proto)), kinds, shapes, ["n", "m", "k"]) > 10


def test_a_chain_is_one_kernel_and_vectors_are_repeated():
    """Where all sizes are equal; rows and columns longer than vectors, of which any are repeated."""
    proto = model(CHAIN, [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, [f"n{i}", f"m{i}"]) for i in range(3)], ["y"])
    module, rng = legato.from_onnx(proto), np.random.default_rng(0)
    kernels = {op for op in re.findall(r"call @(\w+)", str(legato.lower(module, last="scheduled"))) if "dynamic_broadcast" not in op}
    assert len(kernels) == 1, kernels
    exe = legato.compile(module)
    for shapes in itertools.product([(70, 3), (1, 1), (70, 1), (1, 3)], repeat=3):
        for swapped in (False, True):
            x = [rng.standard_normal(shape[::-1] if swapped else shape).astype(np.float32) for shape in shapes]
            np.testing.assert_allclose(exe(*x), np.maximum(x[0] * x[1], 0) + x[2], rtol=1e-6)


def test_expand_to_the_shape_of_another():
    shapes = [["n", 3], ["m", "k"]]
    inputs = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, shape) for i, shape in enumerate(shapes)]
    nodes = [helper.make_node("Shape", ["x1"], ["s"]), helper.make_node("Expand", ["x0", "s"], ["y"], name="the_node")]
    proto = model(nodes, inputs, ["y"])
    assert agree(proto, legato.compile(legato.from_onnx(proto)), [TensorProto.FLOAT] * 2, shapes, ["n", "m", "k"]) > 10


def test_reshape_to_the_shape_of_another():
    shapes = [["n", 2], ["m", "k"]]
    inputs = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, shape) for i, shape in enumerate(shapes)]
    nodes = [helper.make_node("Shape", ["x1"], ["s"]), helper.make_node("Reshape", ["x0", "s"], ["y"], name="the_node", allowzero=1)]
    proto = model(nodes, inputs, ["y"])
    assert agree(proto, legato.compile(legato.from_onnx(proto)), [TensorProto.FLOAT] * 2, shapes, ["n", "m", "k"]) > 10


def test_an_even_part_beside_the_whole():
    """``h // 2 * 2`` is h where h is even; both a pool's result and the way around it are concatenated."""
    nodes = [helper.make_node("MaxPool", ["x"], ["half"], kernel_shape=[2], strides=[2]),
             helper.make_node("Concat", ["half", "half"], ["twice"], axis=2),
             helper.make_node("Concat", ["x", "twice"], ["y"], axis=1, name="the_node")]
    proto = model(nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, "h"])], ["y"])
    exe = legato.compile(legato.from_onnx(proto))
    x = np.arange(12, dtype=np.float32).reshape(1, 2, 6)
    np.testing.assert_array_equal(exe(x), runs(proto, {"x": x}))
    with pytest.raises(ValueError, match=r"the_node. needs \(h // 2\) \* 2 to be h.*h is dimension 2 of 'x'"):
        exe(x[:, :, :5].copy())


def test_the_error_names_both_sides_and_where_they_come_from():
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [size, 4]) for name, size in (("left", "n"), ("right", "m"))]
    exe = legato.compile(legato.from_onnx(model([helper.make_node("Add", ["left", "right"], ["y"], name="sum_of_both")], inputs, ["y"])))
    with pytest.raises(ValueError, match=r'"sum_of_both" needs m.* to be 1 or .*n.*; m is dimension 0 of \'right\', n is dimension 0 of '
                                         r"'left' \(expected 2, found 3\)"):
        exe(np.ones((2, 4), np.float32), np.ones((3, 4), np.float32))


def test_sizes_that_never_fit_are_refused_at_once():
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [size]) for name, size in (("a", "n + 1"), ("b", "n + 3"), ("c", "n"))]
    with pytest.raises(legato.LegatoError, match=r"n \+ 1 and n \+ 3 at axis -1"):
        legato.from_onnx(model([helper.make_node("Add", ["a", "b"], ["y"])], inputs, ["y"]))


def test_a_slice_and_what_it_is_as_long_as():
    """``t // 10 - 1`` and ``max(0, t // 10 - 1)``, as of a convolution and of a longer one without its last: no size of 1 is stretched."""
    nodes = [helper.make_node("MaxPool", ["x"], ["a"], kernel_shape=[20], strides=[10]),
             helper.make_node("Pad", ["a", "pads"], ["longer"]), helper.make_node("Slice", ["longer", "from", "to", "axes"], ["b"]),
             helper.make_node("Add", ["a", "b"], ["sum"]), helper.make_node("Shape", ["a"], ["size"], start=2),
             helper.make_node("Concat", ["one", "size", "rest"], ["shape"], axis=0), helper.make_node("Reshape", ["sum", "shape"], ["y"])]
    constants = {"pads": np.array([0, 0, 0, 0, 0, 1]), "from": np.array([0]), "to": np.array([-1]), "axes": np.array([2]),
                 "one": np.array([1]), "rest": np.array([-1, 2])}
    proto = model(nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, "t"])], ["y"], 18, constants)
    executable = legato.compile(legato.from_onnx(proto))
    for size in (20, 29, 75):
        arrays = {"x": drawn(TensorProto.FLOAT, (1, 4, size), 0)}
        np.testing.assert_array_equal(executable(**arrays), runs(proto, arrays))


def test_an_unused_slice_whose_size_is_used():
    """Its size is taken for 1, which an axis without elements has not: the call is refused, though the slice itself is not computed."""
    nodes = [helper.make_node("Slice", ["x", "zero", "one", "zero"], ["part"], name="the_slice"),
             helper.make_node("Shape", ["part"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])
    proto = model(nodes, [x], ["y"], 18, {"zero": np.array([0]), "one": np.array([1])})
    executable = legato.compile(legato.from_onnx(proto))
    np.testing.assert_array_equal(executable(np.ones(3, np.float32)), [1])
    with pytest.raises(ValueError, match='"the_slice" needs n >= 1'):
        executable(np.ones(0, np.float32))


@pytest.mark.parametrize("inputs, body", [
    ("float[3,c,4] x, bool[k] m, float[4] s", "z = Compress<axis = 1>(x, m) y = GroupNormalization<num_groups = 2>(z, s, s)"),
    ("float[3,4,4] x, bool[k] m, float[n] s", "y = GroupNormalization<num_groups = 2>(x, s, s)")], ids=["data", "scales"])
def test_groups_of_channels_that_only_the_scales_or_the_images_tell(inputs, body):
    proto = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> g ({inputs}) => (float[a,b,d] y) {{ {body} }}')
    rng, x = np.random.default_rng(0), np.random.default_rng(1).standard_normal((3, 6, 4)).astype(np.float32)
    arrays = {"x": x if "c" in inputs else x[:, :4], "m": np.array([1, 0, 1, 1, 1, 0], bool), "s": rng.random(4).astype(np.float32)}
    exe = legato.compile(legato.from_onnx(proto))
    np.testing.assert_allclose(np.asarray(exe(*arrays.values())), np.asarray(runs(proto, arrays)), atol=1e-6)
    if "c" in inputs:
        with pytest.raises(ValueError, match=r"needs 4 .* channels of x \(expected 3, found 4\)"):
            exe(x, np.array([1, 0, 1, 1, 0, 0], bool), arrays["s"])
