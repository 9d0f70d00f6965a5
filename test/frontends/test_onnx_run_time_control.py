"""Branches and loops that are decided at run time, compiled: they compute what onnxruntime does, for all counts and conditions."""
import numpy as np
import onnx.parser
import pytest
import test_onnx_loops as loops
from onnx import TensorProto, helper, numpy_helper
from onnx_check import assert_same, model, reference, value
from onnx_refusals import refuses
from test_onnx_loops import BOOL, FLOAT, INT64, floats, info
from thoroughly import first_of

import legato
from legato import UnsupportedError, from_onnx


def results(exe, arrays):
    found = exe(*arrays.values())
    return list(found) if isinstance(found, tuple) else [found]


# layers

@pytest.fixture
def seven_steps(monkeypatch):
    monkeypatch.setattr(loops, "STEPS", 7)


@pytest.mark.parametrize("lengths", first_of([[7, 3, 1], None]), ids=["lengths", "whole"])
@pytest.mark.parametrize("direction", first_of(["bidirectional", "forward", "reverse"]))
@pytest.mark.parametrize("op", loops.GATES)
def test_layers_are_loops(op, direction, lengths, seven_steps, tmp_path):
    proto, arrays = loops.layer(op, 14, direction, lengths, peepholes=op == "LSTM")
    expected = reference(proto, arrays)
    module = from_onnx(proto)
    assert str(module.module).count("scf.for") == 1 + (direction == "bidirectional")
    assert_same(results(legato.compile(module), arrays), expected)
    exe = legato.compile(from_onnx(proto, shapes={"x": ["steps", "batch", 5]}))
    assert_same(results(exe, arrays), expected)
    exe.save(tmp_path / "m.legato")
    assert_same(results(legato.load(tmp_path / "m.legato"), arrays), expected)


def test_a_layer_of_no_steps_keeps_its_states(seven_steps):
    proto, arrays = loops.layer("LSTM", 14, "bidirectional")
    exe = legato.compile(from_onnx(proto, shapes={"x": ["steps", 3, 5]}))
    y, h, c = exe(np.zeros((0, 3, 5), np.float32), arrays["h"], arrays["c"])
    assert y.shape == (0, 2, 3, 6)
    np.testing.assert_array_equal(h, arrays["h"])
    np.testing.assert_array_equal(c, arrays["c"])


def test_a_profile_counts_the_steps(seven_steps):
    proto, arrays = loops.layer("GRU", 14)
    profile = legato.profile(legato.compile(from_onnx(proto)), *arrays.values(), runs=2, warmup=1)
    assert 7 in {call.count for call in profile.calls}
    assert {one for call in profile.calls for one in call.ops} >= {"relax.matmul /layer"}


def test_a_layer_goes_to_a_backend_around_the_loop(seven_steps):
    proto, arrays = loops.layer("RNN", 14)
    nodes = [helper.make_node("Relu", ["y"], ["z"])]
    proto.graph.node.extend(nodes)
    proto.graph.output[0].name = "z"
    text = str(legato.explain(from_onnx(proto)))
    assert "relax.matmul" in text and "/layer" in text
    assert_same(results(legato.compile(from_onnx(proto)), arrays), reference(proto, arrays))


# Scan and Loop

@pytest.mark.parametrize("attributes", [{}, {"scan_input_axes": [1], "scan_output_axes": [1, -1]},
                                        {"scan_input_directions": [1], "scan_output_directions": [0, 1]}])  # fmt: skip
def test_scans(attributes):
    proto, arrays = loops.running_sum(**attributes)
    axis = attributes.get("scan_input_axes", [0])[0]
    exe = legato.compile(from_onnx(proto, shapes={"x": [3, "n"] if axis else ["n", 3]}))
    for steps in (1, 4, 20):
        arrays["x"] = floats(3, steps) if axis else floats(steps, 3)
        proto.graph.input[1].CopyFrom(value("x", arrays["x"]))
        assert_same(results(exe, arrays), reference(proto, arrays))
    assert_same(results(legato.compile(from_onnx(proto)), arrays), reference(proto, arrays))    # 20 steps, known


def doubling(stops: bool, stacks: bool):
    """A Loop that adds x to its state, and stops beyond a bound or runs to its limit; it also swaps two other states."""
    nodes = [helper.make_node("Add", ["v", "x"], ["next"]), helper.make_node("ReduceMax", ["next"], ["peak"], keepdims=0),
             helper.make_node("Less", ["peak", "much"], ["go"]), helper.make_node("Cast", ["i"], ["number"], to=FLOAT),
             helper.make_node("Mul", ["v", "number"], ["out"]), helper.make_node("Identity", ["c"], ["same"]),
             helper.make_node("Identity", ["a"], ["to_b"]), helper.make_node("Identity", ["b"], ["to_a"])]
    body = helper.make_graph(
        nodes, "body", [info("i", INT64, []), info("c", BOOL, []), *(info(n, FLOAT, ["n"]) for n in "vab")],
        [info("go" if stops else "same", BOOL, []), *(info(n, FLOAT, ["n"]) for n in ("next", "to_a", "to_b", "out")[:3 + stacks])])
    outputs = ["last", "a_", "b_", "outs"][:3 + stacks]
    node = helper.make_node("Loop", ["limit", "going", "v0", "a0", "b0"], outputs, name="/loop", body=body)
    inputs = [info("limit", INT64, []), info("going", BOOL, []), *(info(n, FLOAT, ["n"]) for n in ("v0", "a0", "b0", "x"))]
    return model([node], inputs, outputs, 16, constants={"much": np.float32(3)})


@pytest.mark.parametrize("stacks", [False, True])
@pytest.mark.parametrize("stops", [False, True])
def test_loops(stops, stacks, tmp_path):
    proto = doubling(stops, stacks)
    exe = legato.compile(from_onnx(proto))
    exe.save(tmp_path / "m.legato")
    for one in (exe, legato.load(tmp_path / "m.legato")):
        for limit, going in ((3, True), (40, True), (1, True), (0, True), (5, False), (-1, True)):
            arrays = {"limit": np.array(limit), "going": np.array(going)} | {n: np.abs(floats(4)) + 0.1 for n in ("v0", "a0", "b0", "x")}
            expected, found = reference(proto, arrays), results(one, arrays)
            assert_same(found[:3], expected[:3])
            for a, b in zip(found[3:], expected[3:]):
                assert (len(a), a.shape[1:]) == (len(b), (4,))
                np.testing.assert_allclose(a.ravel(), b.ravel(), rtol=1e-6)


def test_a_loop_that_data_ends():
    proto = doubling(True, False)
    proto.graph.node[0].input[0] = ""
    del proto.graph.input[0]
    arrays = {"going": np.array(True)} | {n: np.abs(floats(4)) + 0.1 for n in ("v0", "a0", "b0", "x")}
    assert_same(results(legato.compile(from_onnx(proto)), arrays), reference(proto, arrays))


def test_loops_that_are_refused():
    proto = doubling(True, True)
    proto.graph.node[0].input[0] = ""
    del proto.graph.input[0]
    refuses(proto, "/loop (Loop, opset 16): it has scanned outputs, and no number of steps that says how much room they take",
            kind=UnsupportedError)


# If

def chosen(then_sizes=("n", 4)):
    w = numpy_helper.from_array(np.arange(16, dtype=np.float32).reshape(4, 4), "w")
    then = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["o1"])], "then", [],
                             [info("o1", FLOAT, then_sizes)], [w])
    other = helper.make_graph(
        [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Cast", ["s"], ["f"], to=FLOAT),
         helper.make_node("ReduceSum", ["f"], ["k"]), helper.make_node("Mul", ["x", "k"], ["o2"])],
        "else", [], [info("o2", FLOAT, ["n", 4])])
    nodes = [helper.make_node("ReduceSum", ["x"], ["t"], keepdims=0), helper.make_node("Greater", ["t", "zero"], ["c"]),
             helper.make_node("If", ["c"], ["r"], name="/if", then_branch=then, else_branch=other),
             helper.make_node("Add", ["r", "x"], ["y"])]
    return model(nodes, [info("x", FLOAT, ["n", 4])], ["r", "y"], 18, constants={"zero": np.float32(0)})


@pytest.mark.parametrize("shapes", [None, {"x": [3, 4]}], ids=["symbolic", "static"])
def test_if(shapes, tmp_path):
    proto = chosen()
    exe = legato.compile(from_onnx(proto, shapes=shapes))
    exe.save(tmp_path / "m.legato")
    for one in (exe, legato.load(tmp_path / "m.legato")):
        for rows in (1, 3, 0) if shapes is None else (3,):
            for sign in (1, -1):
                x = np.abs(floats(rows, 4)) * sign
                assert_same(results(one, {"x": x}), reference(proto, {"x": x}))


@pytest.mark.parametrize("then", ["Identity", "Relu", "Constant"])
def test_branches_of_different_sizes(then, tmp_path):
    """What the branches give has the sizes of one of them, in what follows and as an output."""
    constant = {"value": numpy_helper.from_array(np.ones((2, 5), np.float32))} if then == "Constant" else {}
    first = helper.make_node(then, [] if constant else ["x"], ["o1"], **constant)
    branches = [helper.make_graph([first], "then", [], [info("o1", FLOAT, None)]),
                helper.make_graph([helper.make_node("Concat", ["z", "z"], ["o2"], axis=0)], "else", [], [info("o2", FLOAT, None)])]
    nodes = [helper.make_node("If", ["c"], ["r"], then_branch=branches[0], else_branch=branches[1]),
             helper.make_node("Softmax", ["r"], ["s"], axis=1), helper.make_node("Transpose", ["r"], ["t"]),
             helper.make_node("Shape", ["r"], ["k"])]
    inputs = [info("c", BOOL, []), info("x", FLOAT, ["n", 3]), info("z", FLOAT, ["m", 4])]
    proto = model(nodes, [one for one in inputs if then != "Constant" or one.name != "x"], ["r", "s", "t", "k"], 18)
    exe = legato.compile(from_onnx(proto))
    exe.save(tmp_path / "m.legato")
    loaded = legato.load(tmp_path / "m.legato")
    for n, m in ((2, 3), (5, 1), (0, 2), (3, 0)):
        for condition in (True, False):
            arrays = {"c": np.array(condition), "x": floats(n, 3), "z": floats(m, 4)}
            arrays = {name: array for name, array in arrays.items() if then != "Constant" or name != "x"}
            for one in (exe, loaded):
                assert_same(results(one, arrays), reference(proto, arrays))


def test_branches_of_different_ranks_are_refused():
    proto = chosen()
    relu = next(a for a in proto.graph.node[2].attribute if a.name == "then_branch").g.node[1]
    relu.op_type = "ReduceMax"
    relu.attribute.append(helper.make_attribute("keepdims", 0))
    refuses(proto, "/if (If, opset 18): its output 0 is a tensor of [] f32 in one branch and of [n, 4] f32 in the other",
            kind=UnsupportedError)


def test_sizes_inside_of_a_branch_are_checked():
    """An op in a region needs sizes to be equal, too."""
    w = numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    then = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["o1"], name="in_branch")], "then", [],
                             [info("o1", FLOAT, ["n", 4])], [w])
    other = helper.make_graph([helper.make_node("Expand", ["zero", "shape"], ["o2"])], "else", [], [info("o2", FLOAT, ["n", 4])])
    nodes = [helper.make_node("Shape", ["x"], ["s"], end=1), helper.make_node("Concat", ["s", "four"], ["shape"], axis=0),
             helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    proto = model(nodes, [info("x", TensorProto.FLOAT, ["n", "k"]), info("c", BOOL, [])], ["y"], 18,
                  constants={"zero": np.float32(0), "four": np.array([4])})
    exe = legato.compile(from_onnx(proto))
    assert exe(np.ones((2, 4), np.float32), np.array(True)).shape == (2, 4)
    with pytest.raises(ValueError, match=r"in_branch.*k"):
        exe(np.ones((2, 5), np.float32), np.array(True))


def test_branches_for_empty_inputs():
    """A symbolic size may be 0: comparisons with it are left to the call."""
    proto = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    g (float[n, 4] x) => (float y, float z) <int64 none = {0}> {
      shape = Shape(x)
      n = Gather(shape, none)
      some = Greater(n, none)
      y = If(some) <then_branch = a () => (float u) { u = ReduceMax<keepdims = 0>(x) },
                    else_branch = b () => (float v) { v = Constant<value = float {-1.0}>() }>
      empty = Equal(n, none)
      z = If(empty) <then_branch = c () => (float s) { s = Constant<value = float {-2.0}>() },
                     else_branch = d () => (float t) { t = ReduceMin<keepdims = 0>(x) }>
    }""")
    exe = legato.compile(legato.from_onnx(proto))
    for x in (floats(3, 4), floats(0, 4), floats(1, 4)):
        assert_same(exe(x), reference(proto, {"x": x}))


SQUEEZED = """<ir_version: 8, opset_import: ["": 17]>
g (float[n, k, 4] x, bool c) => (y) <int64 axis = {1}, int64[1] axes = {1}, int64 one = {1}, float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
  pooled = MaxPool<kernel_shape = [3], strides = [3], pads = [1, 1]>(t)
  t = Transpose<perm = [0, 2, 1]>(x)
  back = Transpose<perm = [0, 2, 1]>(pooled)
  shape = Shape(back)
  size = Gather(shape, axis)
  only = Equal(size, one)
  INNER
}"""
PICK = """r = If(only) <then_branch = a () => (s) { s = Squeeze(back, axes) }, else_branch = b () => (i) { i = Identity(back) }>
  y = Gemm(r, w)"""


@pytest.mark.parametrize("nested", [False, True])
def test_an_axis_that_is_squeezed_if_its_size_is_1(nested):
    """As PyTorch's exporter writes ``squeeze(1)``: what follows is for the rank without the axis."""
    inner = PICK if not nested else f"""y = If(c) <then_branch = p () => (y1) {{ {PICK.replace("y = ", "y1 = ")} }},
        else_branch = q () => (z) {{ m = ReduceMax<axes = [1], keepdims = 0>(x) z = Gemm(m, w) }}>"""
    proto = onnx.parser.parse_model(SQUEEZED.replace("INNER", inner))
    exe = legato.compile(from_onnx(proto))
    for n, k in ((2, 1), (1, 2), (0, 3), (3, 3)):
        arrays = {"x": floats(n, k, 4), "c": np.array(True)}
        assert_same(results(exe, arrays), reference(proto, arrays))
    text = "" if nested else "If '.*' needs .* to be 1, since its branches give tensors of different ranks"
    with pytest.raises(ValueError, match=f"cannot run on these sizes: {text}"):
        exe(floats(2, 4, 4), np.array(True))
    if nested:
        arrays = {"x": floats(2, 7, 4), "c": np.array(False)}
        assert_same(results(exe, arrays), reference(proto, arrays))
