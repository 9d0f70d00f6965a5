"""legato.donate: results in the memory of arguments, against ONNX's reference; what is copied, what is refused."""
import numpy as np
import pytest
import tvm_ffi
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from thoroughly import sampled

import legato

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
PAST, ROWS = (2, 3, 16, 4), 5


def value(name, shape, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, list(shape))


def made(nodes, inputs, outputs):
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10)


def cache(batch, reader=False):
    """A cache that is written to, and read as a whole; with a reader of what it was, as well."""
    shape = (batch, *PAST[1:])
    nodes = [helper.make_node("TensorScatter", ["past", "new", "at"], ["present"], name="write", axis=2),
             helper.make_node("ReduceSum", ["present"], ["total"], keepdims=0)]
    outputs = [value("total", []), value("present", shape)]
    if reader:
        nodes.append(helper.make_node("Neg", ["past"], ["old"]))
        outputs.append(value("old", shape))
    return made(nodes, [value("past", shape), value("new", (batch, 3, "rows", 4)), value("at", [batch], INT64)], outputs)


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def main_of(module, stage="bufferized"):
    text = str(legato.lower(module, last=stage))
    start = text.index("func.func @main(")
    return text[start:text.index("\n  }", start)]


def jit_and_saved(module, folder):
    executable = legato.compile(module)
    yield executable
    executable.save(folder / "model.legato")
    yield legato.load(folder / "model.legato")


def same(given, expected):
    for ours, theirs in zip(given, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("batch, reader", sampled([(2, False), (2, True), ("batch", False), ("batch", True)], 3, 2))
def test_a_cache_is_updated_in_place(batch, reader, tmp_path):
    proto = cache(batch, reader)
    module, reference = legato.donate(legato.from_onnx(proto), ["past"]), ReferenceEvaluator(proto)
    for executable in jit_and_saved(module, tmp_path):
        past, kept = floats(*PAST), floats(*PAST)
        for rows, at in ((3, [0, 13]), (1, [3, 2])):
            given = {"past": past, "new": floats(2, 3, rows, 4, seed=rows), "at": np.array(at)}
            expected = reference.run(None, {**given, "past": kept})
            results = executable(**given)
            assert results[1] is past
            same(results, expected)
            kept = expected[1]
    main = main_of(module)
    assert ("memref.copy" in main) == reader and "@kernel_scatter_nd" in main


@pytest.mark.parametrize("op, attributes", [("ScatterND", {}), ("ScatterND", {"reduction": "add"}), ("ScatterElements", {"axis": 1})])
def test_other_writes_by_index(op, attributes):
    indices = np.array([[1], [3]]) if op == "ScatterND" else np.array([[0, 3, 2, 1]] * ROWS)
    updates = floats(2, 6) if op == "ScatterND" else floats(ROWS, 4)
    proto = made([helper.make_node(op, ["x", "indices", "updates"], ["y"], **attributes)],
                 [value("x", ["n", 6]), value("indices", indices.shape, INT64), value("updates", updates.shape)], [value("y", ["n", 6])])
    module, x = legato.donate(legato.from_onnx(proto), ["x"]), floats(ROWS, 6)
    expected = ReferenceEvaluator(proto).run(None, {"x": x.copy(), "indices": indices, "updates": updates})
    assert legato.compile(module)(x, indices, updates) is x
    same([x], expected)
    assert "memref.copy" not in main_of(module)


def test_results_that_are_computed_elsewhere_are_copied():
    """Arguments that change places, one that is read behind the result, one that is a result as it is, and an empty one."""
    nodes = [helper.make_node("Identity", ["b"], ["to_a"]), helper.make_node("Identity", ["a"], ["to_b"]),
             helper.make_node("Softmax", ["c"], ["to_c"], axis=0), helper.make_node("Mul", ["to_c", "c"], ["both"]),
             helper.make_node("Identity", ["d"], ["to_d"])]
    names = ("a", "b", "c", "d")
    proto = made(nodes, [value(name, ["n", 4]) for name in names],
                 [value(name, ["n", 4]) for name in (*(f"to_{name}" for name in names), "both")])
    executable = legato.compile(legato.donate(legato.from_onnx(proto), {name: f"to_{name}" for name in names}))
    for n in (7, 0):
        given = [floats(n, 4, seed=seed) for seed in range(4)]
        expected = ReferenceEvaluator(proto).run(None, dict(zip(names, (one.copy() for one in given)))) if n else [np.empty((0, 4))] * 5
        results = executable(*given)
        assert all(one is other for one, other in zip(results, given))
        same(results, expected)


def test_the_function_gives_the_same_memory_back():
    executable = legato.compile(legato.donate(legato.from_onnx(cache(2)), ["past"]))
    past, new, at = floats(*PAST), floats(2, 3, 1, 4), np.array([4, 5])
    tensor = tvm_ffi.from_dlpack(past)
    result = np.from_dlpack(executable.function(tensor, new, at)[1])
    assert result.ctypes.data == past.ctypes.data and (past[0, :, 4] == new[0, :, 0]).all()
    del tensor, past
    assert (result[1, :, 5] == new[1, :, 0]).all()   # the result keeps the array


def test_arguments_that_cannot_be_donated():
    executable = legato.compile(legato.donate(legato.from_onnx(cache(2)), ["past"]))
    past, new, at = floats(*PAST), floats(2, 3, 1, 4), np.array([4, 5])
    read_only, kept = past.copy(), past.copy()
    read_only.flags.writeable = False
    for bad, reason in ((read_only, "'past' is donated.*read-only"), (past[:, :, ::-1], "'past' is donated.*not contiguous"),
                        (past.astype(">f4"), "'past' is donated.*byte order"), (np.ma.masked_invalid(past), "'past' is donated.*masked")):
        with pytest.raises(ValueError, match=reason):
            executable(bad, new, at)
    inside = np.ndarray(new.shape, np.float32, past, 64)
    with pytest.raises(ValueError, match="'past' is donated: a result takes its memory, which argument 1 'new' shares"):
        executable(past, inside, at)
    with pytest.raises(ValueError, match="'past' must be"):
        executable(past[:1].copy(), new, at)
    with pytest.raises(TypeError, match="'past' must be"):
        executable(past.astype(np.float64), new, at)
    np.testing.assert_array_equal(past, kept)   # a call that is refused changes nothing


def test_what_cannot_be_donated():
    module = legato.from_onnx(cache("batch"))
    for inputs, reason in ((["x"], "cannot donate 'x': the inputs of the model are 'past', 'new', 'at'"),
                           (["past", "past"], "'past' twice: 'present' takes its memory already"),
                           ({"past": "x"}, "'past' to 'x': the outputs of the model are 'total', 'present'"),
                           ({"past": "total"}, r"'past', float32\[batch, 3, 16, 4\], to the output 'total', which is float32\[\]"),
                           (["new"], "no output that is left has its element type and shape")):
        with pytest.raises(legato.LegatoError, match=reason):
            legato.donate(module, inputs)
    with pytest.raises(TypeError, match="a list of names"):
        legato.donate(module, "past")
    text = str(legato.donate(module, ["past"])).replace("array<i64: -1, 0>", "array<i64: 0, 0>")
    with pytest.raises(legato.LegatoError, match=r"relax.donated of main names for each of 2 outputs .* it is \[0, 0\]"):
        legato.compile(legato.Module.parse(text))
