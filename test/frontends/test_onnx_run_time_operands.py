"""Operands that say axes, sizes and places, computed at run time: compiled, beside onnxruntime, for values that fit and some that do not.

Each case is a node and a table of what its operands are at calls of one executable; the data has static sizes, then a symbol for each.
"""
from dataclasses import dataclass, field

import numpy as np
import onnxruntime
import pytest
from onnx import helper
from onnx_check import model, value
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException
from thoroughly import first_of

import legato

I = np.int64
X = (np.arange(24, dtype=np.float32) * 7 % 11 - 5).reshape(2, 3, 4)


def ints(*values):
    return np.array(values, I)


@dataclass(frozen=True)
class Node:
    """``calls``: the operands behind the data, of each call. ``wrong``: those of calls that must fail. ``data``: the first operands."""

    op: str
    calls: list
    attributes: dict = field(default_factory=dict)
    wrong: list = field(default_factory=list)
    data: tuple = (X,)
    opset: int = 20
    behind: tuple = ()


AXES = [(ints(0, 2),), (ints(-1, 1),), (ints(2, 0),)]
WRONG_AXES = [(ints(0, 3),), (ints(1, 1),), (ints(-4, 0),)]
REDUCTIONS = ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp", "LogSum"]
PLACES = [(ints(0), ints(3)), (ints(1), ints(-1)), (ints(-2), ints(100)), (ints(3), ints(1)), (ints(-100), ints(2))]
PADS = [(ints(0, 0, 0, 0, 0, 0),), (ints(0, 1, 2, 0, 2, 1),), (ints(0, -1, 2, 0, 2, -1),), (ints(0, 0, -2, 1, -1, 2),)]
CASES = {
    **{f"Reduce{r}": Node(f"Reduce{r}", AXES, {"keepdims": n % 2}, WRONG_AXES, (np.abs(X) + 1,)) for n, r in enumerate(REDUCTIONS)},
    "ReduceSum, keepdims": Node("ReduceSum", AXES, {"keepdims": 1}, WRONG_AXES),
    "ReduceSum of integers": Node("ReduceSum", [(ints(1),), (ints(-1),)], {}, [(ints(5),)], (X.astype(np.int32),)),
    "CumSum": Node("CumSum", [(np.array(0),), (np.array(-1),), (np.array(1),)], {"exclusive": 1, "reverse": 1}, [(np.array(3),)]),
    "TopK": Node("TopK", [(ints(k),) for k in (1, 3, 0, 2)], {"axis": 1}, [(ints(4),), (ints(-1),)]),
    "Reshape": Node("Reshape", [(ints(6, 4),), (ints(-1, 2),), (ints(0, -1),), (ints(24, 1),)], {},
                    [(ints(-1, -1),), (ints(5, 5),), (ints(5, -1),)]),
    "Reshape to more axes": Node("Reshape", [(ints(0, 0, 0, 1),), (ints(0, -1, 2, 2),)], {}, [(ints(0, 0, 0, 0),), (ints(0, -1, 0, 0),)]),
    "Squeeze": Node("Squeeze", [(ints(0, 2),), (ints(-1, 0),)], {}, [(ints(1, 0),), (ints(0, 0),), (ints(0, 4),)], (X.reshape(1, 24, 1),)),
    "Unsqueeze": Node("Unsqueeze", [(ints(0, 2),), (ints(-1, 1),), (ints(4, 3),)], {}, [(ints(0, 5),), (ints(1, 1),)]),
    "Expand": Node("Expand", [(ints(2, 1, 4),), (ints(1, 5, 1),), (ints(2, 0, 4),), (ints(1, 1, 1),)], {},
                   [(ints(2, 2, 3),), (ints(3, 2, 4),)], (X[:, :1],)),
    "Expand, of lower rank": Node("Expand", [(ints(2, 3, 4),), (ints(0, 1, 4),)], {}, [(ints(2, 2, 4),)], (X[0],)),
    "Tile": Node("Tile", [(ints(1, 2, 1),), (ints(2, 1, 3),), (ints(1, 0, 1),)], {}, [(ints(1, -1, 1),)]),
    "Trilu": Node("Trilu", [(np.array(k),) for k in (0, 1, -2, 9)], {"upper": 0}),
    "Trilu of booleans": Node("Trilu", [(np.array(k),) for k in (0, -1)], {"upper": 1}, data=(X > 0,)),
    "OneHot": Node("OneHot", [(ints(3),), (ints(5),), (ints(1),)], {"axis": 1}, [(ints(-1),)], (ints(0, 2, -1, 7),),
                   behind=(np.float32([2, 7]),)),
    "ConstantOfShape": Node("ConstantOfShape", [(ints(2, 3),), (ints(0, 4),)], {}, [(ints(-1, 3),)], ()),
    "Range": Node("Range", [tuple(map(np.array, v)) for v in ((1, 9, 3), (9, 1, -3), (0, 5, 1), (5, 0, 1), (-3, 4, 7))], {},
                  [ints(1, 2, 0)], ()),
    "Range, of far ends": Node("Range", [tuple(map(np.int64, v)) for v in (
        (2**31 + 1, -2**63, 2**31), (-2**62, 2**62, 2**62 + 1), (2**62, -2**62, -2**61), (-2**63, 2**63 - 1, 2**62))], data=()),
    "Range of floats": Node("Range", [tuple(map(np.float32, v)) for v in ((1, 9.5, 0.5), (1, -2, -0.3), (3, 1, 1))], {}, data=()),
    "Slice, one axis": Node("Slice", PLACES, {}),
    "Slice, axes too": Node("Slice", [(*p, ints(a)) for p in PLACES for a in (0, -1)], {}, [(ints(0), ints(1), ints(3))]),
    "Slice, steps too": Node("Slice", [(ints(a), ints(b), ints(c), ints(d)) for a, b, c, d in (
        (0, 4, 2, 2), (-1, -100, 2, -1), (3, 0, 2, -2), (100, -100, 1, -1), (0, 3, 1, 3), (1, 0, 0, 1), (-100, -100, 2, -1),
        (-1, -2**63, 1, -2**63), (2**63 - 1, -2**63, 2, 1 - 2**63), (-2**63, 2**63 - 1, 1, 2**63 - 1))], {},
        [(ints(0), ints(3), ints(2), ints(0))]),
    "Split": Node("Split", [(ints(1, 2),), (ints(3, 0),), (ints(0, 3),)], {"axis": 1}, [(ints(1, 1),), (ints(4, -1),)]),
    "Pad": Node("Pad", PADS, {}, [(ints(0, -2, 0, 0, -2, 0),)], behind=(np.float32(3),)),
    "Pad, edge": Node("Pad", PADS, {"mode": "edge"}),
    "Pad, reflect": Node("Pad", [*PADS[:2], (ints(1, 0, -1, 0, 0, 1),)], {"mode": "reflect"}),
    "Pad, wrap": Node("Pad", PADS[:2], {"mode": "wrap"}),
    "Pad, axes too": Node("Pad", [(ints(1, 2), np.float32(4), ints(1)), (ints(0, 2), np.float32(-1), ints(-1))], {},
                          [(ints(1, 2), np.float32(4), ints(3))]),
    "Dropout": Node("Dropout", [(np.float32(0.5), np.array(False)), (np.float32(0), np.array(True))], {}),
}
OUTPUTS = {"TopK": 2, "Split": 2}


def proto_of(node, symbolic):
    arrays = [*node.data, *node.calls[0], *node.behind]
    names = [f"x{i}" for i in range(len(arrays))]
    shapes = [[f"s{i}_{a}" for a in range(array.ndim)] if symbolic and i < len(node.data) else None for i, array in enumerate(arrays)]
    outputs = [f"y{i}" for i in range(OUTPUTS.get(node.op, 1))]
    inputs = [value(name, np.asarray(array), shape) for name, array, shape in zip(names, arrays, shapes)]
    return model([helper.make_node(node.op, names, outputs, name="the_node", **node.attributes)], inputs, outputs, opset=node.opset)


def expected(session, arrays):
    try:
        return session.run(None, arrays)
    except (Fail, InvalidArgument, RuntimeException):
        return None


def check(exe, session, node, calls, saved=False):
    for operands in calls:
        arrays = {f"x{i}": np.asarray(a, order="C") for i, a in enumerate([*node.data, *operands, *node.behind])}
        wanted = expected(session, arrays)
        assert wanted is not None, f"onnxruntime refuses {operands}"
        found = exe(*arrays.values())
        for a, b in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape), operands
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6, err_msg=str(operands))


@pytest.mark.parametrize("symbolic", first_of([True, False]), ids=["symbolic", "static"])
@pytest.mark.parametrize("name", CASES)
def test_calls(name, symbolic, tmp_path):
    node = CASES[name]
    proto = proto_of(node, symbolic)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    exe = legato.compile(legato.from_onnx(proto))
    check(exe, session, node, node.calls)
    for operands in node.wrong:
        with pytest.raises(ValueError, match="the_node"):
            exe(*(np.asarray(a, order="C") for a in (*node.data, *operands, *node.behind)))
    check(exe, session, node, node.calls[:1])
    if symbolic:
        exe.save(tmp_path / "m.legato")
        check(legato.load(tmp_path / "m.legato"), session, node, node.calls)


@pytest.mark.parametrize("shape", first_of([(0, 3), (1, 3), (2, 0), (1, 1)]))
@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "CumSum", "Slice", "Pad", "Reshape"])
def test_degenerate_sizes(op, shape):
    x = np.ones(shape, np.float32)
    given = {"CumSum": (np.array(1),), "Slice": (ints(0), ints(2)), "Pad": (ints(1, 0, 0, 2),), "Reshape": (ints(-1, shape[1] or 1),)}
    operands = given.get(op, (ints(1),))
    node = Node(op, [operands], {"keepdims": 0} if op.startswith("Reduce") else {}, data=(x,))
    proto = proto_of(node, True)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    if op == "ReduceMax" and shape[1] == 0:
        return      # onnxruntime refuses a maximum of nothing
    check(legato.compile(legato.from_onnx(proto)), session, node, node.calls)


def test_the_number_of_axes_must_be_known_where_the_rank_depends_on_it():
    proto = proto_of(CASES["Squeeze"], False)
    proto.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "k"
    with pytest.raises(legato.UnsupportedError, match=r"the_node \(Squeeze, opset 20\): the number of axes, \[k\], is known only"):
        legato.from_onnx(proto)


def test_explain_names_the_node():
    text = str(legato.explain(legato.from_onnx(proto_of(CASES["ReduceSum, keepdims"], True))))
    assert "relax.size_of" in text and "the_node" in text


def test_sums_of_nothing():
    """Numpy is the oracle: onnxruntime keeps an axis of size 0."""
    node = Node("ReduceSum", [(ints(1),)], {"keepdims": 1}, data=(X[:, :0],))
    for symbolic in (False, True):
        exe = legato.compile(legato.from_onnx(proto_of(node, symbolic)))
        for axis in (0, 1, -1):
            np.testing.assert_array_equal(exe(X[:, :0], ints(axis)), X[:, :0].sum(axis=axis, keepdims=True))


@pytest.mark.parametrize("op, noop", [("ReduceSum", 0), ("ReduceLogSumExp", 1)])
def test_a_number_of_axes_known_at_run_time(op, noop):
    def proto(keepdims):
        node = helper.make_node(op, ["x", "axes"], ["y"], "the_node", keepdims=keepdims, noop_with_empty_axes=noop)
        return model([node], [value("x", X, ("a", "b", "c")), value("axes", ints(0), ("k",))], ["y"])

    exe, session = legato.compile(legato.from_onnx(proto(1))), onnxruntime.InferenceSession(proto(1).SerializeToString())
    for axes in (ints(), ints(1), ints(0, -1), ints(2, 0, 1)):
        np.testing.assert_allclose(exe(X, axes), np.asarray(session.run(None, {"x": X, "axes": axes})[0]), rtol=1e-6)
    for wrong in (ints(3), ints(1, -2), ints(0, 1, 2, 0)):
        with pytest.raises(ValueError, match=r'relax.size_of "the_node" needs valid operands'):
            exe(X, wrong)
    with pytest.raises(legato.UnsupportedError, match=r"the_node .*: the number of axes, \[k\], is known only at run time"):
        legato.from_onnx(proto(0))
