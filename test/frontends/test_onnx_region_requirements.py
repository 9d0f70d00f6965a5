"""What a branch or loop requires of sizes is checked where it runs: a call that does not run it may have any sizes."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx_check import model

import legato

RNG = np.random.default_rng(0)
X = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["b", "n"]), helper.make_tensor_value_info("z", TensorProto.FLOAT, ["k", "m"])]
CONDITION = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
STEPS = helper.make_tensor_value_info("c", TensorProto.INT64, [])


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def graph(nodes, *outputs, inputs=()):
    return helper.make_graph(nodes, "g", list(inputs), [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs])


def branching(nodes, other=None):
    """A model that computes ``then`` by nodes where ``c``, else another number of ``x``."""
    other = other or [helper.make_node("ReduceMax", ["x"], ["other"], keepdims=0)]
    chosen = helper.make_node("If", ["c"], ["y"], then_branch=graph(nodes, "then"), else_branch=graph(other, "other"), name="choice")
    constants = {"four": np.array([-1, 4]), "kernel": floats(1, 1, 5), "one": np.array([1]), "two": np.array([2])}
    return model([chosen], [*X, CONDITION], ("y",), 17, constants)


def total(name):
    return helper.make_node("ReduceSum", [name], ["then"], keepdims=0)


def node(op, inputs, outputs, name="", **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=name, **attributes)


SUM = node("Add", "x z", "t", "sum")
WIDE = "\"sum\" needs m, its size at axis 1, to be 1 or"
BRANCHES = {    # nodes, a shape of x that fits, another one, and the message for it
    "window": ([node("Unsqueeze", "x one", "u"), node("Conv", "u kernel", "t", "window"), total("t")], (2, 7), (2, 4),
               "\"window\" needs n >= 5"),
    "operands": ([SUM, total("t")], (3, 5), (3, 4), WIDE),
    "products": ([node("MatMul", "x z", "t", "product"), total("t")], (2, 3), (2, 4), "\"product\" needs n to be k"),
    "rows": ([node("Reshape", "x four", "t", "rows"), node("ReduceMax", "t", "then", keepdims=0)], (2, 6), (3, 5),
             "\"rows\" needs .* to be b \\* n, the number of elements of x"),
    "parts": ([node("Split", "x", "t s", "parts", axis=1), node("Sub", "t s", "u"), total("u")], (2, 6), (2, 7),
              "'parts' needs n, the size of axis 1, to split into 2 equal parts"),
    "unused": ([SUM, node("Shape", "t", "s"), node("Cast", "s", "f", to=1), total("f")], (3, 5), (3, 4), WIDE),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_branches(name):
    nodes, fits, other, message = BRANCHES[name]
    proto = branching(nodes)
    executable, session = legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString())
    for shape in (fits, other, (1, 1), (1, 3)):
        for taken in (False, True):
            given = {"x": floats(*shape), "z": floats(3, 5), "c": np.array(taken)}
            if taken and shape != fits:
                if shape == other:
                    with pytest.raises(ValueError, match=message):
                        executable(*given.values())
                continue
            np.testing.assert_allclose(executable(*given.values()), np.asarray(session.run(None, given)[0]), rtol=1e-4, atol=1e-5)


def test_memory_of_branches_that_do_not_run():
    """Where ``n`` is 0, tensors of a branch would have less than no bytes: those of main beside them keep their places."""
    nodes = [helper.make_node("Unsqueeze", ["x", "one"], ["u"]), helper.make_node("Conv", ["u", "kernel"], ["s"]),
             helper.make_node("Sin", ["s"], ["t"]), helper.make_node("ReduceSum", ["t", "two"], ["r"], keepdims=1),
             helper.make_node("Mul", ["r", "t"], ["q"]), total("q")]
    other = [helper.make_node("ReduceSum", ["z"], ["other"], keepdims=0)]
    chosen = helper.make_node("If", ["c"], ["y"], then_branch=graph(nodes, "then"), else_branch=graph(other, "other"))
    constants = {"kernel": floats(1, 1, 5), "one": np.array([1]), "two": np.array([2]), "w": floats(5, 64), "last": np.array([-1])}
    around = [helper.make_node("MatMul", ["z", "w"], ["p"]), helper.make_node("Softmax", ["p"], ["before"]), chosen,
              helper.make_node("MatMul", ["before", "wide"], ["after"]), helper.make_node("Add", ["after", "y"], ["out"])]
    constants["wide"] = floats(64, 48)
    proto = model(around, [*X, CONDITION], ("out", "before"), constants=constants)
    executable, session = legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString())
    for shape, taken in (((300, 0), False), ((300, 1), False), ((40, 9), True)):
        given = {"x": floats(*shape), "z": floats(7, 5), "c": np.array(taken)}
        for found, expected in zip(executable(*given.values()), session.run(None, given)):
            np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-4, atol=1e-4)


def looping(nodes):
    """A model that adds what nodes compute to a number, in each of ``c`` steps."""
    body = graph([*nodes, helper.make_node("Add", ["state", "then"], ["next"]), helper.make_node("Identity", ["going"], ["still"])],
                 "still", "next", inputs=[helper.make_tensor_value_info("i", TensorProto.INT64, []),
                                          helper.make_tensor_value_info("going", TensorProto.BOOL, []),
                                          helper.make_tensor_value_info("state", TensorProto.FLOAT, [])])
    body.output[0].type.tensor_type.elem_type = TensorProto.BOOL
    body.output[0].type.tensor_type.shape.SetInParent()
    constants = {"zero": np.float32(0), "kernel": floats(1, 1, 5), "one": np.array([1]), "four": np.array([-1, 4]), "two": np.array([2])}
    return model([helper.make_node("Loop", ["c", "", "zero"], ["y"], body=body)], [*X, STEPS], ("y",), 17, constants)


@pytest.mark.parametrize("name", BRANCHES)
def test_loops_without_a_step(name):
    nodes, fits, other, message = BRANCHES[name]
    proto = looping(nodes)
    executable, session = legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString())
    for shape, steps in ((fits, 3), (fits, 0), (other, 0), ((1, 1), 0)):
        given = {"x": floats(*shape), "z": floats(3, 5), "c": np.array(steps)}
        np.testing.assert_allclose(executable(*given.values()), np.asarray(session.run(None, given)[0]), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match=message):
        executable(floats(*other), floats(3, 5), np.array(1))


def scanning():
    """A model that multiplies each row of ``x`` by ``z``: ``product``."""
    row, made = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [size]) for name, size in (("row", "n"), ("made", "m")))
    body = helper.make_graph([helper.make_node("MatMul", ["row", "z"], ["made"], name="product")], "body", [row], [made])
    return model([helper.make_node("Scan", ["x"], ["y"], body=body, num_scan_inputs=1)], X, ("y",))


def check_rows(executable):
    """As many steps as rows: sizes that do not fit are an error in a step, and none without one."""
    ones = np.ones((4, 5), np.float32)
    np.testing.assert_array_equal(executable(ones[:, :4], ones), ones * 4)
    assert executable(ones[:0], ones).shape == (0, 5)
    with pytest.raises(ValueError, match=r"\"product\" needs n to be k, .*\(expected 4, found 5\)"):
        executable(ones, ones)


def test_a_scan_of_no_rows():
    check_rows(legato.compile(legato.from_onnx(scanning())))


def test_a_branch_in_a_loop():
    inner = helper.make_node("If", ["late"], ["then"], then_branch=graph([helper.make_node("Add", ["x", "z"], ["t"], name="sum"),
                                                                         helper.make_node("ReduceSum", ["t"], ["a"], keepdims=0)], "a"),
                             else_branch=graph([helper.make_node("ReduceMax", ["x"], ["b"], keepdims=0)], "b"))
    proto = looping([helper.make_node("Greater", ["i", "one"], ["many"]), helper.make_node("Squeeze", ["many"], ["late"]), inner])
    executable, session = legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString())
    for shape, steps in (((3, 5), 4), ((3, 4), 2), ((2, 2), 1)):
        given = {"x": floats(*shape), "z": floats(3, 5), "c": np.array(steps)}
        np.testing.assert_allclose(executable(*given.values()), np.asarray(session.run(None, given)[0]), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="\"sum\" needs m, its size at axis 1, to be 1 or"):
        executable(floats(3, 4), floats(3, 5), np.array(3))


def test_the_requirements_of_a_saved_model(tmp_path):
    executable = legato.compile(legato.from_onnx(branching(BRANCHES["operands"][0])))
    executable.save(tmp_path / "model.legato")
    loaded = legato.load(tmp_path / "model.legato")
    x, z = floats(3, 4), floats(3, 5)
    assert loaded(x, z, np.array(False)) == x.max()
    with pytest.raises(ValueError, match=r"\"sum\" needs m, .*; m is dimension 1 of 'z', n is dimension 1 of 'x' \(expected 4, found 5\)"):
        loaded(x, z, np.array(True))
