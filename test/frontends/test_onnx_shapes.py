"""Shape arithmetic: what graphs compute from shapes is computed at import, with symbols, and leaves no ops behind."""
import itertools

import numpy as np
import pytest
from interpret import interpret
from onnx import TensorProto, helper
from onnx_check import assert_same, check, imported, model, reference, value

import legato
from legato import LegatoError
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.sizes import substitute

I64 = np.int64


class Graph:
    """Nodes one after the other; each call names its output, which it returns."""

    def __init__(self) -> None:
        self.nodes, self.constants = [], {}

    def constant(self, array, dtype=I64) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.array(array, dtype)
        return name

    def __call__(self, op: str, *inputs, **attributes) -> str:
        names = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        self.nodes.append(helper.make_node(op, names, [f"t{len(self.nodes)}"], name=f"n{len(self.nodes)}", **attributes))
        return self.nodes[-1].output[0]

    def size(self, x: str, axis: int) -> str:
        """As torch exports ``x.shape[axis]``: a scalar."""
        return self("Gather", self("Shape", x), self.constant(axis), axis=0)

    def vector(self, *sizes) -> str:
        """As torch exports a tuple of sizes: scalars unsqueezed and put together."""
        parts = [self("Unsqueeze", size, [0]) if isinstance(size, str) else self.constant([size]) for size in sizes]
        return self("Concat", *parts, axis=0)

    def model(self, inputs, *outputs, opset=17):
        return model(self.nodes, [value(name, array, shape) for name, (array, shape) in inputs.items()], outputs, opset, self.constants)


def ops(module) -> list[str]:
    return [op.operation.name for op in module.function().entry_block.operations]


def result_dims(module, index=0) -> list:
    return [str(size) if isinstance(size, dims.Dim) else size for size in dims.dims(module.function().type.results[index])]


def run(graph: Graph, inputs, *outputs, **options):
    """Imports, compares with the reference, and gives the module."""
    proto = graph.model(inputs, *outputs, **options)
    arrays = {name: array for name, (array, _) in inputs.items()}
    module = imported(proto)
    assert_same(interpret(module, list(arrays.values())), reference(proto, arrays))
    return module


X = np.arange(2 * 6 * 8, dtype=np.float32).reshape(2, 6, 8)
NAMED = {"x": (X, ["batch", "seq", 8])}


def test_heads_are_split_as_torch_exports_it():
    g = Graph()
    shape = g.vector(g.size("x", 0), g.size("x", 1), 4, 2)
    y = g("Transpose", g("Reshape", "x", shape), perm=[0, 2, 1, 3])
    back = g.vector(g.size("x", 0), -1, 8)
    z = g("Reshape", g("Transpose", y, perm=[0, 2, 1, 3]), back)
    module = run(g, NAMED, y, z)
    assert result_dims(module, 0) == ["batch", 4, "seq", 2] and result_dims(module, 1) == ["batch", "seq", 8]
    assert ops(module) == ["relax.reshape", "relax.permute_dims", "relax.permute_dims", "relax.reshape", "func.return"]


def test_expand_by_where_and_equal():
    """``mask.expand(b, -1, s, s)`` as torch writes it: -1 is replaced by 1 through ConstantOfShape, Mul, Equal and Where."""
    g = Graph()
    mask = g("Unsqueeze", g("Slice", "x", [0], [1], [2]), [1])
    wanted = g.vector(g.size("x", 0), -1, g.size("x", 1), 5)
    ones = g("ConstantOfShape", g.constant([4]), value=helper.make_tensor("v", TensorProto.INT64, [1], [1]))
    minus = g("Mul", ones, g.constant(-1))
    y = g("Expand", mask, g("Where", g("Equal", wanted, minus), ones, wanted))
    module = run(g, NAMED, y)
    assert result_dims(module) == ["batch", 1, "seq", 5]
    assert ops(module) == ["relax.strided_slice", "relax.expand_dims", "relax.broadcast_to", "func.return"]


def test_arithmetic_of_sizes():
    g = Graph()
    n = g.size("x", 1)
    half = g("Div", g("Add", n, g.constant(1)), g.constant(2))
    y = g("Slice", "x", g("Unsqueeze", g("Sub", n, half), [0]), g("Unsqueeze", n, [0]), [1])
    z = g("Reshape", "x", g.vector(g("Mul", g.size("x", 0), n), 8))
    w = g("Tile", "x", g.vector(1, g("Mod", g.constant(7), g.constant(4)), g.size("x", 0)))
    module = run(g, NAMED, y, z, w)
    assert result_dims(module, 0) == ["batch", "(seq + 1) // 2", 8]
    assert result_dims(module, 1) == ["batch * seq", 8]
    assert result_dims(module, 2) == ["batch", "seq * 3", "batch * 8"]


def test_ways_to_take_shapes_apart():
    g = Graph()
    shape = g("Shape", "x")
    first = g("Slice", shape, [0], [1])
    flat = g("Reshape", "x", g("Concat", first, g.constant([-1]), axis=0))
    product = g("ReduceProd", g("Slice", shape, [1], [3]), keepdims=1)
    also = g("Reshape", "x", g("Concat", g("Squeeze", g("Unsqueeze", first, [0]), [0]), product, axis=0))
    size = g("Reshape", "x", g("Unsqueeze", g("Cast", g("Cast", g("Size", "x"), to=TensorProto.INT32), to=TensorProto.INT64), [0]))
    parts = helper.make_node("Split", [shape, g.constant([2, 1])], ["head", "tail"])
    g.nodes.append(parts)
    joined = g("Reshape", "x", g("Concat", "tail", "head", axis=0))
    module = run(g, NAMED, flat, also, size, joined)
    assert [result_dims(module, i) for i in range(2)] == [["batch", "seq * 8"], ["batch", "seq * 8"]]
    assert [result_dims(module, i) for i in range(2, 4)] == [["batch * seq * 8"], [8, "batch", "seq"]]
    assert set(ops(module)) == {"relax.reshape", "func.return"}


def test_positions():
    """A range over the sequence, and the first so many rows of a table of positions."""
    g = Graph()
    n = g.size("x", 1)
    positions = g("Range", g.constant(0), n, g.constant(1))
    table = g.constant(np.arange(40).reshape(20, 2), np.float32)
    taken = g("Gather", table, positions)
    ids = g.constant(np.arange(20).reshape(1, 20))
    sliced = g("Slice", ids, g.constant([0]), g("Unsqueeze", n, [0]), g.constant([1]))
    backwards = g("Range", n, g.constant(0), g.constant(-2))
    module = run(g, NAMED, taken, sliced, backwards)
    assert [result_dims(module, i) for i in range(3)] == [["seq", 2], [1, "seq"], ["(seq + 1) // 2"]]


def test_positions_from_data_on():
    """A range from an integer that is data to another is as long as they are apart, if that is a size; data cancels out."""
    g = Graph()
    at, n = g("Squeeze", "at", [0]), g.size("x", 1)
    more = g("Add", n, g.constant(2))
    ends = [g("Add", at, n), g("Add", g("Sub", more, at), g("Mul", at, g.constant(2))), g("Mul", at, at)]
    one = g.constant(1)
    ranges = [g("Range", at, end, one) for end in ends] + [g("Range", g("Sub", at, n), g("Sub", at, g.constant(4)), one)]
    module = run(g, {**NAMED, "at": (np.array([3]), None)}, *ranges)
    assert [result_dims(module, i) for i in (0, 1, 3)] == [["seq"], ["seq + 2"], ["max(0, seq - 4)"]]
    assert result_dims(module, 2)[0].endswith("_length")


def test_masks_are_made_by_constant_of_shape():
    g = Graph()
    n = g.size("x", 1)
    ones = g("ConstantOfShape", g.vector(n, n), value=helper.make_tensor("v", TensorProto.FLOAT, [1], [1.0]))
    module = run(g, NAMED, g("Trilu", ones, upper=0))
    assert result_dims(module) == ["seq", "seq"]


def test_attention_scale_is_a_constant():
    """``1 / sqrt(x.shape[-1])``, in floats, as torch exports scaled_dot_product_attention."""
    g = Graph()
    size = g("Cast", g("Slice", g("Shape", "x"), [-1], [2**63 - 1]), to=TensorProto.FLOAT)
    y = g("Mul", "x", g("Sqrt", g("Div", g.constant([1.0], np.float32), g("Sqrt", size))))
    module = run(g, NAMED, y)
    assert ops(module) == ["relax.constant", "relax.multiply", "func.return"]


def test_sizes_as_data():
    """Sizes that are wanted as values exist at run time: a shape as an output, a mean over a length."""
    g = Graph()
    shape = g("Shape", "x")
    total = g("ReduceSum", "x", [1], keepdims=0)
    mean = g("Div", total, g("Cast", g.size("x", 1), to=TensorProto.FLOAT))
    text = str(run(g, NAMED, shape, mean))
    assert "tensor.dim" in text and "tensor.from_elements" in text


def test_comparisons_that_depend_on_symbols_are_made_at_run_time():
    g = Graph()
    n = g.size("x", 1)
    never = g("Where", g("Equal", n, g.constant(-1)), g.constant(3), n)
    y = g("Reshape", "x", g.vector(-1, never, 8))
    longer = g("Greater", n, g.constant(5))
    module = run(g, NAMED, y, longer)
    assert result_dims(module) == ["batch", "seq", 8] and "relax.greater" in ops(module)


def test_constants_that_only_shape_things_are_no_weights():
    g = Graph()
    big = g.constant(np.ones(300))  # 2400 bytes: too many to stand in the IR
    y = g("Reshape", "x", g("Cast", g("Slice", big, [0], [1]), to=TensorProto.INT64))
    assert len(imported(g.model({"x": (X[:1, :1, :1], [1, 1, 1])}, y)).weights) == 0


def test_shapes_that_data_gives_need_a_known_rank():
    nodes = [helper.make_node("Reshape", ["x", "s"], ["y"], name="/view")]
    proto = model(nodes, [value("x", X), value("s", np.array([2, -1]), ["rank"])], ["y"])
    with pytest.raises(LegatoError, match=r"/view \(Reshape, opset 20\): the number of sizes, \[rank\], is known only at run time"):
        imported(proto)


def relu(*shapes):
    arrays = [np.zeros([d if isinstance(d, int) and d >= 0 else 3 for d in shape], np.float32) for shape in shapes]
    nodes = [helper.make_node("Relu", [f"in{i}"], [f"out{i}"]) for i in range(len(shapes))]
    return model(nodes, [value(f"in{i}", a, s) for i, (a, s) in enumerate(zip(arrays, shapes))], [f"out{i}" for i in range(len(shapes))])


def test_names_of_dimensions():
    module = imported(relu(["batch size", "batch-size", None, 4], ["seq", "seq + 1", "2 * seq", "min"], ["a + b", "min(a, 8)"]))
    assert result_dims(module, 0) == ["batch_size", "batch_size_1", "in0_2", 4]
    assert result_dims(module, 1) == ["seq", "seq + 1", "seq * 2", "_min"]
    assert result_dims(module, 2) == ["a___b", "min_8__a_"]  # a and b are the size of no input


def test_names_that_say_nothing():
    """PaddlePaddle's exporter calls all unknown sizes "?": they may differ."""
    proto = relu(["?", 3, "?", "?"], ["None", "-1", "?", 2])
    module = imported(proto)
    assert result_dims(module, 0) == ["in0_0", 3, "in0_2", "in0_3"]
    assert result_dims(module, 1) == ["in1_0", "in1_1", "in1_2", 2]
    assert result_dims(imported(proto, shapes={"in0": [1, 3, 48, 192]}), 0) == [1, 3, 48, 192]


def test_shapes_override():
    proto = relu(["batch", "seq"], ["batch", 8], [None, "seq"])
    assert result_dims(imported(proto, shapes={"in0": [1, 128]}), 0) == [1, 128]
    module = imported(proto, shapes={"in0": [1, 128]})
    assert [result_dims(module, i) for i in range(3)] == [[1, 128], [1, 8], ["in2_0", 128]]
    module = imported(proto, shapes={"in1": ["n", "n * 4"], "in2": [2, "past + 3"]})
    assert [result_dims(module, i) for i in range(3)] == [["n", "past + 3"], ["n", "n * 4"], [2, "past + 3"]]
    with pytest.raises(LegatoError, match="two sizes"):
        imported(proto, shapes={"in0": [1, 128], "in1": [2, 8]})
    with pytest.raises(LegatoError, match="there is no input 'in9'; the inputs are: in0, in1, in2"):
        imported(proto, shapes={"in9": [1]})
    with pytest.raises(LegatoError, match=r"the input 'in0' has 2 dimensions, .*, and 1 are given"):
        imported(proto, shapes={"in0": [1]})


def test_a_cache_and_its_mask_agree_by_an_expression():
    nodes = [helper.make_node("Concat", ["past", "new"], ["all"], axis=1), helper.make_node("Mul", ["all", "mask"], ["y"])]
    inputs = [value("past", X, [2, "past", 8]), value("new", X, [2, "seq", 8]), value("mask", X, [2, "total", 1])]
    proto = model(nodes, inputs, ["y"])
    exe, (past, new, mask) = legato.compile(imported(proto)), (np.ones((2, n, s), np.float32) for n, s in ((5, 8), (3, 8), (8, 1)))
    np.testing.assert_array_equal(exe(past, new, mask), np.ones((2, 8, 8), np.float32))
    with pytest.raises(ValueError, match=r"total is dimension 1 of 'mask'.*\(expected 8, found 7\)"):
        exe(past, new, mask[:, :7].copy())
    module = imported(proto, shapes={"mask": [2, "past + seq", 1]})
    assert result_dims(module) == [2, "past + seq", 8]


def test_symbols_keep_ops_general():
    """The same few ops, once with numbers and once with symbols."""
    x, w = np.ones((2, 6, 8), np.float32), np.ones((8, 5), np.float32)
    g = Graph()
    y = g("Softmax", g("MatMul", "x", "w"), axis=1)
    check(g.model({"x": (x, None), "w": (w, None)}, y), {"x": x, "w": w})


def test_graph_ops_only():
    """Nothing but graph ops in what a typical dynamic model becomes."""
    g = Graph()
    module = imported(g.model(NAMED, g("Reshape", "x", g.vector(g.size("x", 0), -1))))
    assert all(relax.op_class(op) for op in list(module.function().entry_block.operations)[:-1])


@pytest.mark.parametrize("size", [1, 3])
def test_slices_of_shapes(size):
    """Slices that are done on import: from before the axis to beyond it, forwards and backwards."""
    places = (-(1 << 40), -4, -2, -1, 0, 1, 2, 1 << 40)
    bounds = [bound for bound in itertools.product(places, places, (-2, -1, 1, 2))]
    constants = {"axes": np.array([0]), **{f"{which}{number}": np.array([place]) for number, bound in enumerate(bounds)
                                           for which, place in zip("bes", bound)}}
    names = [f"y{number}" for number in range(len(bounds))]
    nodes = [helper.make_node("Shape", ["x"], ["shape"])]
    nodes += [helper.make_node("Slice", ["shape", f"b{n}", f"e{n}", "axes", f"s{n}"], [f"y{n}"]) for n in range(len(bounds))]
    proto = model(nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4][:size])], names, 18, constants)
    x = {"x": np.ones([2, 3, 4][:size], np.float32)}
    for bound, found, wanted in zip(bounds, legato.compile(imported(proto))(**x), reference(proto, x), strict=True):
        np.testing.assert_array_equal(found, wanted, str(bound))


def test_slices_far_beyond_an_axis():
    """Of an axis of unknown size: steps that no i64 negates, and places beyond 2^31, which are the end only for shorter axes."""
    bounds = list(itertools.product((5, -5, 40), (5, 40, -(2**63)), (2**63 - 1, -(2**63), 2**40)))
    constants = {"axes": np.array([0]), **{f"{which}{number}": np.array([place]) for number, bound in enumerate(bounds)
                                           for which, place in zip("bes", bound)}}
    nodes = [helper.make_node("Slice", ["x", f"b{n}", f"e{n}", "axes", f"s{n}"], [f"y{n}"]) for n in range(len(bounds))]
    x = np.arange(50, dtype=np.float32)
    names = [f"y{number}" for number in range(len(bounds))]
    proto = model(nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])], names, 18, constants)
    for (begin, end, step), found in zip(bounds, legato.compile(imported(proto))(x), strict=True):
        np.testing.assert_array_equal(found, x[begin:end:step], str((begin, end, step)))

    g = Graph()
    module = imported(g.model({"x": (x, ["n"])}, g("Slice", "x", [2**31 + 1], [2**62], [0])))
    size, = dims.dims(module.function().entry_block.operations[0].results[0].type)
    assert substitute(size, {"n": 2**31 + 1000}) == 999
