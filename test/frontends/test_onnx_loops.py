"""Loops and recurrent layers: short loops are copies of the body, others loops of main, as onnxruntime computes them."""
import numpy as np
import onnx
import pytest
from interpret import interpret
from onnx import TensorProto, helper
from onnx_check import assert_same, check, imported, model, reference, value
from onnx_refusals import refuses
from thoroughly import first_of

import legato
from legato import UnsupportedError
from legato.core.ir_helpers import find

RNG = np.random.default_rng(0)
STEPS, BATCH, INPUT, HIDDEN = 4, 3, 5, 6
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def floats(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) / 2).astype(np.float32)


def layer(op: str, opset: int, direction: str = "forward", lengths=None, peepholes: bool = False, states: bool = True, **attributes):
    """A recurrent layer with all its inputs: the model and its inputs."""
    count, gates = 1 + (direction == "bidirectional"), GATES[op]
    shapes = {"w": (gates * HIDDEN, INPUT), "r": (gates * HIDDEN, HIDDEN), "b": (2 * gates * HIDDEN,)}
    constants = {name: floats(count, *shape) for name, shape in shapes.items()}
    arrays = {"x": floats(STEPS, BATCH, INPUT)}
    names = ["x", "w", "r", "b", "", "", "", ""]
    if lengths is not None:
        arrays["lengths"], names[4] = np.array(lengths, np.int32), "lengths"
    if states:
        arrays["h"], names[5] = floats(count, BATCH, HIDDEN), "h"
    if op == "LSTM":
        arrays["c"], names[6] = floats(count, BATCH, HIDDEN), "c"
        if peepholes:
            constants["p"], names[7] = floats(count, 3 * HIDDEN), "p"
    while not names[-1]:
        names.pop()
    outputs = ["y", "y_h", "y_c"][: 3 if op == "LSTM" else 2]
    node = helper.make_node(op, names, outputs, name="/layer", hidden_size=HIDDEN, direction=direction, **attributes)
    return model([node], [value(name, array) for name, array in arrays.items()], outputs, opset, constants), arrays


def same_with_a_symbolic_batch(proto, arrays):
    check(proto, arrays, dynamic=False)
    shapes = {name: ["batch" if size == BATCH else size for size in array.shape] for name, array in arrays.items()}
    module = imported(proto, shapes=shapes)
    assert_same(interpret(module, list(arrays.values())), reference(proto, arrays))
    return module


@pytest.mark.parametrize("op", first_of(GATES))
def test_compiled(op):
    proto, arrays = layer(op, 14, "bidirectional")
    assert_same(legato.compile(same_with_a_symbolic_batch(proto, arrays))(**arrays), reference(proto, arrays))


@pytest.mark.parametrize("opset", [7, 14, 22])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_directions(op, direction, opset):
    same_with_a_symbolic_batch(*layer(op, opset, direction))


@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_sequences_of_different_lengths(op, direction):
    same_with_a_symbolic_batch(*layer(op, 14, direction, lengths=[2, 4, 1]))


@pytest.mark.parametrize(
    "op, options",
    [
        ("RNN", {"activations": ["LeakyRelu"], "activation_alpha": [0.3]}),
        ("RNN", {"activations": ["Affine"], "activation_alpha": [0.3], "activation_beta": [0.1], "clip": 0.5}),
        ("RNN", {"direction": "bidirectional", "activations": ["Relu", "ScaledTanh"], "activation_alpha": [0.7], "activation_beta": [0.9]}),
        ("GRU", {"linear_before_reset": 1}),
        ("GRU", {"activations": ["HardSigmoid", "Softsign"], "activation_alpha": [0.3], "activation_beta": [0.4], "states": False}),
        ("LSTM", {"input_forget": 1, "peepholes": True}),
        ("LSTM", {"clip": 0.2, "direction": "bidirectional", "peepholes": True}),
        ("LSTM", {"activations": ["Sigmoid", "Elu", "Softplus"], "states": False}),
    ],
)
def test_cells(op, options):
    same_with_a_symbolic_batch(*layer(op, 14, **options))


def test_layers_that_are_refused():
    proto, _ = layer("LSTM", 14)
    refuses(proto, "its W must have the shape [1, 24, 7], has [1, 24, 5]", shapes={"x": [STEPS, BATCH, 7]})
    proto, _ = layer("GRU", 14, activations=["Tanh", "Sine"])
    refuses(proto, "there is no activation 'Sine': it is one of Relu, Tanh")
    proto, _ = layer("RNN", 14, activations=["Tanh", "Tanh"])
    refuses(proto, "activations = ['Tanh', 'Tanh']: expected 1")


def info(name: str, kind: int, shape) -> object:
    return helper.make_tensor_value_info(name, kind, shape)


def running_sum(**attributes):
    """A Scan that carries a sum and gives it at each step; beside it the product with a number from outside."""
    body = helper.make_graph(
        [helper.make_node("Constant", [], ["two"], value_float=2.0), helper.make_node("Add", ["sum", "part"], ["next"]),
         helper.make_node("Mul", ["next", "factor"], ["more"]), helper.make_node("Mul", ["more", "two"], ["scaled"]),
         helper.make_node("Identity", ["next"], ["sums"])],
        "body", [info("sum", FLOAT, [3]), info("part", FLOAT, [3])],
        [info("next", FLOAT, [3]), info("sums", FLOAT, [3]), info("scaled", FLOAT, [3])])  # fmt: skip
    node = helper.make_node("Scan", ["start", "x"], ["last", "sums", "scaled"], name="/scan", body=body, num_scan_inputs=1, **attributes)
    arrays = {"start": floats(3), "x": floats(3, 4) if "scan_input_axes" in attributes else floats(4, 3), "factor": floats(1)}
    return model([node], [value(k, v) for k, v in arrays.items()], ["last", "sums", "scaled"], 16), arrays


@pytest.mark.parametrize("attributes", [{}, {"scan_input_axes": [1], "scan_output_axes": [1, -1]},
                                        {"scan_input_directions": [1], "scan_output_directions": [0, 1]}])  # fmt: skip
def test_scan(attributes):
    proto, arrays = running_sum(**attributes)
    assert_same(legato.compile(check(proto, arrays, dynamic=False))(**arrays), reference(proto, arrays))


def test_scans_that_are_refused():
    proto, _ = running_sum(scan_output_axes=[0])
    refuses(proto, "scan_output_axes = [0]: expected 2 values")
    proto.graph.node[0].attribute[0].g.node[1].op_type = "StringNormalizer"
    del proto.graph.node[0].attribute[0].g.node[1].input[1]
    del proto.graph.node[0].attribute[-1]
    assert len(refuses(proto, "next (StringNormalizer, opset 16): strings", kind=UnsupportedError).problems) == 1  # not once a step


def counting(condition: str = "going", limit=5, going=True, opset: int = 16):
    """A Loop that doubles a tensor until the step ``limit``, or until ``condition`` of its body says no."""
    nodes = [helper.make_node("Add", ["v", "v"], ["doubled"]), helper.make_node("Cast", ["step"], ["number"], to=FLOAT),
             helper.make_node("Add", ["doubled", "number"], ["next"]), helper.make_node("Less", ["step", "three"], ["below"]),
             helper.make_node("ReduceMax", ["next"], ["peak"], keepdims=0), helper.make_node("Less", ["peak", "much"], ["small"]),
             helper.make_node("Identity", [condition], ["again"])]  # fmt: skip
    body = helper.make_graph(nodes, "body", [info("step", INT64, []), info("going", BOOL, []), info("v", FLOAT, [2])],
                             [info("again", BOOL, []), info("next", FLOAT, [2]), info("number", FLOAT, [])])
    constants = {"three": np.array(3), "much": np.float32(100)}
    names = []
    for name, given in (("limit", limit), ("start", going)):
        names.append("" if given is None else name)
        constants |= {} if given is None else {name: np.array(given)}
    node = helper.make_node("Loop", [*names, "x"], ["last", "numbers"], name="/loop", body=body)
    arrays = {"x": floats(2)}
    return model([node], [value("x", arrays["x"])], ["last", "numbers"], opset, constants), arrays


@pytest.mark.parametrize("opset", [11, 13, 16, 21])
@pytest.mark.parametrize("options", [{}, {"condition": "below"}, {"condition": "below", "limit": None}, {"limit": 2, "going": None}])
def test_loop(options, opset):
    proto, arrays = counting(opset=opset, **options)
    check(proto, arrays)


@pytest.mark.parametrize("options", [{"condition": "small", "limit": 20}, {"limit": 0}, {"limit": 2000, "condition": "below"}])
def test_loops_of_main(options):
    """Data ends the first, the second has no steps, and the third could have many."""
    proto, arrays = counting(**options)
    last, numbers = legato.compile(imported(proto))(**arrays)
    expected = reference(proto, arrays)
    assert_same([last, numbers.ravel()], [expected[0], expected[1].ravel()])


COUNTED = """<ir_version: 10, opset_import: ["": 18]>
g (float[3, 4] x, float[4, 4] w, float[m, 2] z) => (float[3, 4] y, float[k, 3] sums)
<int64[1] last = {1}, bool yes = {1}, int64 zero = {0}, int64 few = {3}, int64 many = {70}> {
  sizes = Shape(z)
  free = Gather(sizes, zero)
  y, sums = Loop(STEPS, yes, x) <body = outer (int64 i, bool c, float[3, 4] s) => (bool d, float[3, 4] t, float[3] o) {
    d = Identity(c)
    inner = Loop(few, yes, s) <body = step (int64 j, bool e, float[3, 4] u) => (bool f, float[3, 4] v) {
      f = Identity(e)
      h = MatMul(u, w)
      v = Tanh(h)
    }>
    n = Cast<to = 1>(i)
    q = Add(inner, n)
    t = Sin(q)
    o = ReduceSum<keepdims = 0>(t, last)
  }>
}"""


@pytest.mark.parametrize("steps, loops", [("few", 0), ("many", 1), ("free", 1)])
def test_loops_of_many_steps(steps, loops):
    proto = onnx.parser.parse_model(COUNTED.replace("STEPS", steps))
    module = imported(proto)
    assert len(find(module.operation, "scf.for")) == loops and not find(module.operation, "scf.while")
    assert len(find(module.operation, "relax.matmul")) == (3 if loops else 9)   # the loop inside has few steps
    executable = legato.compile(module)
    for length in (0, 1, 11):
        given = {"x": floats(3, 4), "w": floats(4, 4), "z": floats(length, 2)}
        assert_same(executable(**given), reference(proto, given))


def test_loops_that_compute_sizes_are_unrolled():
    """Its states are known at import, and stay known: the sizes of a reshape."""
    body = helper.make_graph([helper.make_node("Identity", ["going"], ["again"]), helper.make_node("Add", ["v", "two"], ["next"])], "body",
                             [info("step", INT64, []), info("going", BOOL, []), info("v", INT64, [1])],
                             [info("again", BOOL, []), info("next", INT64, [1])])
    nodes = [helper.make_node("Loop", ["limit", "", "start"], ["count"], body=body), helper.make_node("Reshape", ["x", "count"], ["y"])]
    constants = {"limit": np.array(12), "start": np.array([0]), "two": np.array([2])}
    arrays = {"x": floats(4, 6)}
    proto = model(nodes, [value("x", arrays["x"])], ["y"], 16, constants)
    assert_same([legato.compile(check(proto, arrays, dynamic=False))(**arrays)], reference(proto, arrays))


def test_loops_that_are_refused():
    text = "it has scanned outputs, and no number of steps that says how much room they take"
    refuses(counting(limit=None)[0], text, kind=UnsupportedError)  # for ever
    proto, _ = counting()
    proto.graph.node[0].input.append("x")
    refuses(proto, "its graph 'body' takes 3 values, and is given 4")


def test_a_state_that_a_loop_inside_of_a_loop_keeps():
    """It is read by two states of the loop around it."""
    proto = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["" : 21]>
        g (float[n] z, int64 t, int64 u) => (float[] a, float[] b) {
          a, b = Loop (t, "", z, z) <body: graph = body (int64 i, bool c, float[] p, float[] q) => (bool d, float[] r, float[] s) {
            k, x = Loop (u, "", q) <body: graph = inner (int64 j, bool e, float[] m) => (bool f, float[] o, float[] y) {
              f = Identity (e) o = Identity (m) l = Constant <value = int64 {-1}> () y = Gather (m, l) }>
            d = Identity (c) r = Identity (k) s = Identity (k) }>
        }''')
    exe = legato.compile(legato.from_onnx(proto))
    for steps, inner in ((0, 2), (1, 3), (4, 0), (3, 2)):
        given = {"z": np.arange(3, dtype=np.float32), "t": np.array(steps), "u": np.array(inner)}
        assert_same(exe(**given), reference(proto, given))
