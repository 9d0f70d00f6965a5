"""ONNX ops whose results are as large as the data says."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from thoroughly import first_of

import legato


def model(nodes, inputs, outputs):
    infos = [[helper.make_tensor_value_info(n, t, s) for n, t, s in row] for row in (inputs, outputs)]
    graph = helper.make_graph(nodes, "g", *infos)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def check(proto, *arrays):
    exe = legato.compile(legato.from_onnx(proto))
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = [np.asarray(a) for a in session.run(None, {i.name: a for i, a in zip(session.get_inputs(), arrays)})]
    found = exe(*arrays)
    for one, other in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def sparse(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * (rng.random(shape) > 0.6)).astype(np.float32)


@pytest.mark.parametrize("shape", [(6,), (3, 5), (2, 3, 4), (0, 4)])
def test_nonzero(shape):
    proto = model([helper.make_node("NonZero", ["x"], ["y"])], [("x", TensorProto.FLOAT, [f"d{i}" for i in range(len(shape))])],
                  [("y", TensorProto.INT64, [len(shape), None])])
    check(proto, sparse(*shape))


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_compress(axis):
    attributes = {} if axis is None else {"axis": axis}
    proto = model([helper.make_node("Compress", ["x", "c"], ["y"], **attributes)],
                  [("x", TensorProto.FLOAT, ["n", 4]), ("c", TensorProto.BOOL, ["k"])], [("y", TensorProto.FLOAT, None)])
    x = sparse(3, 4)
    for condition in ([True, False, True], [False, False], [True, True, False]):
        check(proto, x, np.array(condition))


def test_what_follows_uses_the_size():
    """Rows of x where mask holds, their scores, and how many there are."""
    nodes = [
        helper.make_node("NonZero", ["mask"], ["nz"]),
        helper.make_node("Squeeze", ["nz", "zero"], ["rows"]),
        helper.make_node("Gather", ["x", "rows"], ["picked"]),
        helper.make_node("Softmax", ["picked"], ["scores"], axis=-1),
        helper.make_node("MatMul", ["scores", "w"], ["y"]),
        helper.make_node("Shape", ["picked"], ["count"]),
        helper.make_node("Constant", [], ["zero"], value_ints=[0]),
    ]
    nodes = [nodes[-1], *nodes[:-1]]
    proto = model(nodes, [("x", TensorProto.FLOAT, ["n", 8]), ("mask", TensorProto.BOOL, ["n"]), ("w", TensorProto.FLOAT, [8, 3])],
                  [("y", TensorProto.FLOAT, None), ("count", TensorProto.INT64, [2])])
    rng = np.random.default_rng(1)
    for n in (1, 5, 64):
        check(proto, rng.standard_normal((n, 8)).astype(np.float32), rng.random(n) > 0.4, rng.standard_normal((8, 3)).astype(np.float32))


def test_two_sizes_that_depend_on_data():
    nodes = [helper.make_node("NonZero", ["x"], ["a"]), helper.make_node("NonZero", ["y"], ["b"]),
             helper.make_node("Concat", ["a", "b"], ["both"], axis=1), helper.make_node("Transpose", ["both"], ["z"])]
    proto = model(nodes, [("x", TensorProto.FLOAT, ["n", 3]), ("y", TensorProto.FLOAT, ["k", 2])], [("z", TensorProto.INT64, None)])
    check(proto, sparse(4, 3), sparse(6, 2))


@pytest.mark.parametrize(("shape", "dtype"), [((7,), "float32"), ((3, 4), "int64"), ((1,), "float32")])
def test_unique(shape, dtype):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    proto = model([helper.make_node("Unique", ["x"], ["y", "first", "which", "often"])], [("x", kind, list(shape))],
                  [("y", kind, [None]), *((n, TensorProto.INT64, [None]) for n in ("first", "which", "often"))])
    for seed in range(3):
        check(proto, np.random.default_rng(seed).integers(0, 4, shape).astype(dtype))


@pytest.mark.parametrize("is_sorted", [0, 1])
def test_unique_of_any_size(is_sorted):
    outputs = ["y", "first", "which", "often"]
    kinds = [TensorProto.INT64] * 4
    proto = model([helper.make_node("Unique", ["x"], outputs, sorted=is_sorted)], [("x", TensorProto.INT64, ["n", "m"])],
                  [(n, kind, [None]) for n, kind in zip(outputs, kinds)])
    exe, session = legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString())
    for shape in ((4, 5), (1, 1), (30, 3), (3, 0)):
        x = np.random.default_rng(0).integers(0, 6, shape)
        expected = [np.zeros(0, np.int64)] * 4 if not x.size else session.run(None, {"x": x})    # which refuses none
        for found, wanted in zip(exe(x), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize(("shape", "axis"), [((0,), None), ((3, 0), None), ((2, 0), 1), ((0, 2), 0)])
def test_unique_of_a_known_nothing(shape, axis, is_sorted):
    """onnxruntime refuses it."""
    outputs, where = ["y", "first", "which", "often"], {} if axis is None else {"axis": axis}
    proto = model([helper.make_node("Unique", ["x"], outputs, sorted=is_sorted, **where)], [("x", TensorProto.FLOAT, list(shape))],
                  [("y", TensorProto.FLOAT, None), *((n, TensorProto.INT64, [None]) for n in outputs[1:])])
    found, *others = legato.compile(legato.from_onnx(proto))(np.zeros(shape, np.float32))
    assert (found.dtype, found.shape) == (np.float32, (0,) if axis is None else shape)
    assert [(one.dtype, one.shape) for one in others] == [(np.int64, (0,))] * 3


@pytest.mark.parametrize("axis", [0, -1])
def test_unique_parts_of_any_size(axis):
    outputs = ["y", "first", "which", "often"]
    proto = model([helper.make_node("Unique", ["x"], outputs, axis=axis)], [("x", TensorProto.FLOAT, ["n", 2, "m"])],
                  [("y", TensorProto.FLOAT, None), *((n, TensorProto.INT64, [None]) for n in outputs[1:])])
    exe, session = legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString())
    for shape in ((9, 2, 1), (1, 2, 1), (3, 2, 9)):
        x = np.random.default_rng(0).integers(0, 2, shape).astype(np.float32)
        for found, wanted in zip(exe(x), session.run(None, {"x": x}), strict=True):
            np.testing.assert_array_equal(found, wanted)


PLACES = [1, np.nan, 2, np.nan, 1, np.inf, np.nan, -np.inf, -np.nan]


@pytest.mark.parametrize("shape", first_of([("n",), (9,)]))
@pytest.mark.parametrize(("dtype", "is_sorted"), [("float32", 1), ("float32", 0), ("float64", 1), ("float16", 1)])
def test_unique_takes_all_nan_for_one(shape, dtype, is_sorted):
    """As numpy; onnxruntime compares by <, of which NaN make no order."""
    kind, outputs = helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), ["y", "first", "which", "often"]
    proto = model([helper.make_node("Unique", ["x"], outputs, sorted=is_sorted)], [("x", kind, list(shape))],
                  [("y", kind, None), *((n, TensorProto.INT64, [None]) for n in outputs[1:])])
    x = np.array(PLACES, dtype)
    for found, wanted in zip(legato.compile(legato.from_onnx(proto))(x), ReferenceEvaluator(proto).run(None, {"x": x}), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("axis", "rows"), [(0, 6), (0, "n"), (1, 6)])
def test_unique_parts_with_nan_are_different(axis, rows):
    x = np.array([[1, np.nan], [1, 2], [1, 2], [np.nan, 1], [1, 3], [1, np.nan]], np.float32)
    outputs = ["y", "first", "which", "often"]
    proto = model([helper.make_node("Unique", ["x"], outputs, axis=axis)], [("x", TensorProto.FLOAT, [rows, 2])],
                  [("y", TensorProto.FLOAT, None), *((n, TensorProto.INT64, [None]) for n in outputs[1:])])
    wanted = np.unique(x, True, True, True, axis=axis)
    for found, one in zip(legato.compile(legato.from_onnx(proto))(x), wanted, strict=True):
        np.testing.assert_array_equal(found, one.reshape(found.shape))


def test_only_the_size_of_what_is_found_is_used():
    nodes = [helper.make_node("Compress", ["x", "c"], ["z"], axis=0), helper.make_node("Shape", ["z"], ["s"]),
             helper.make_node("ConstantOfShape", ["s"], ["y"])]
    proto = model(nodes, [("x", TensorProto.FLOAT, ["n", 3]), ("c", TensorProto.BOOL, ["n"])], [("y", TensorProto.FLOAT, None)])
    for condition in ([True, False, True], [False] * 3):
        check(proto, sparse(3, 3), np.array(condition))


def test_sizes_that_depend_on_data_need_no_search_through_the_graph(monkeypatch):
    """Each looked for all symbols of the graph, and for the op that gives its own: 3 s for a detector's 272."""
    count = 30
    nodes = [step for i in range(count) for step in (
        helper.make_node("NonZero", ["x" if i == 0 else f"x{i - 1}"], [f"y{i}"]),
        helper.make_node("Shape", [f"y{i}"], [f"s{i}"]),
        helper.make_node("GatherND", ["x" if i == 0 else f"x{i - 1}", f"t{i}"], [f"x{i}"]))]
    nodes = [step for i in range(count) for step in (nodes[3 * i], nodes[3 * i + 1], helper.make_node(
        "Transpose", [f"y{i}"], [f"t{i}"], perm=[1, 0]), nodes[3 * i + 2])]
    nodes.append(helper.make_node("Concat", [f"s{i}" for i in range(count)], ["s"], axis=0))
    proto = model(nodes, [("x", TensorProto.FLOAT, [6])], [("s", TensorProto.INT64, [2 * count]),
                                                            (f"x{count - 1}", TensorProto.FLOAT, [None])])

    def refuse(*_):
        raise AssertionError("all of the graph is searched")

    with monkeypatch.context() as patched:
        patched.setattr("legato.dialects.relax.calls.walk", refuse)
        patched.setattr("legato.dialects.relax.dims._results_in", refuse)
        module = legato.from_onnx(proto)
    names = [f"nonzero_{i}" if i else "nonzero" for i in range(count)]
    assert [text for text in names if f'"{text}"' in str(module)] == names
    check(proto, sparse(6))
