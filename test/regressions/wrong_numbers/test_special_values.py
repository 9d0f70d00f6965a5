"""NaN, infinities, signed zeros, denormals, and sizes of 0 and 1 through the compiled code of every op, against other implementations."""
import warnings

import numpy as np
import pytest
from cases import CASES
from one_op import Case, computed
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from oracles import ORACLES
from thoroughly import first_of

import legato
from legato.dialects import relax

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 1.0, -1.0, 2.5, -2.5], np.float32)
# where ONNX leaves the result open, or the oracle's formula has no limit: docs/semantics of each op (numpy's) decide
OPEN = {
    "max_pool1d": "NaN: onnxruntime skips it, we give it, as torch does",
    "max_pool2d": "NaN", "max_pool3d": "NaN", "arg_max_pool1d": "NaN", "arg_max_pool2d": "NaN", "arg_max_pool3d": "NaN",
    "non_max_suppression": "NaN: a box with one overlaps none",
    "roi_align": "onnxruntime refuses a region with a NaN, or without an end",
    "roi_pool": "NaN: onnxruntime skips it, we give it, as in other pools",
    "topk": "NaN: onnxruntime's order of it is accidental; here it is greater than every number, as in torch",
    "argmax": "NaN: that of the first in onnxruntime only where it comes first; here the first NaN is the greatest, as in numpy",
    "argmin": "NaN",
    "clip": "without a bound: onnxruntime clips infinities to the greatest number",
    "floor_divide": "of infinities: NaN, as numpy's and torch's; the oracle's formula gives infinities",
    "mod": "the oracle's formula", "prelu": "the oracle's formula", "lrn": "the oracle's running sums", "log_softmax": "scipy's limits",
}
# the input is padded with zeros, and 0 times an infinite weight is NaN
FINITE_WEIGHTS = {"conv1d_transpose", "conv2d_transpose", "conv3d_transpose"}


def spoiled(case, way, seed):
    """A case's arrays with special values in the first operand or, for way 2, in all."""
    rng = np.random.default_rng(seed)
    arrays = case.arrays(seed=3)
    if case.op == "batch_norm":
        arrays[4] = np.abs(arrays[4])
    for number, array in enumerate(arrays):
        if array.dtype != np.float32 or not array.size:
            continue
        flat, some = array.reshape(-1), rng.integers(array.size, size=max(1, array.size // 8))
        if way == 2 and (number == 0 or case.op not in FINITE_WEIGHTS):
            flat[:] = rng.choice(SPECIAL, array.size)
        elif number == 0:
            flat[some] = (np.nan, rng.choice([np.inf, -np.inf], some.size), None)[way] if way < 2 else flat[some]
            if way == 3:
                flat[:] = -np.inf
    return arrays


def first_cases():
    """The first case of each op with float operands, and of those with attributes the second too."""
    found = {}
    for case in CASES:
        if any(case.dtype(n) == np.float32 for n in range(len(case.shapes))) and case.op != "nonzero":
            found.setdefault(case.op, []).append(case)
    return [case for some in found.values() for case in some[:2]]


def is_close(got, want):
    """Whether results are equal, NaN included, up to the rounding of f32."""
    if got.shape != want.shape or got.dtype.kind != "f":
        return np.array_equal(got, want)
    scale = np.abs(want[np.isfinite(want)]).max(initial=1.0)
    return np.allclose(got.astype(np.float64), want.astype(np.float64), rtol=3e-5, atol=3e-6 * scale, equal_nan=True)


@pytest.mark.parametrize("way", first_of(range(4)), ids=("nan", "inf", "all", "all -inf"))
def test_special_values_of_every_op(way):
    chosen = [Case(case.op, spoiled(case, way, n), case.attrs) for n, case in enumerate(first_cases())]
    wrong = []
    for case, got in zip(chosen, computed(chosen), strict=True):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if case.op in OPEN:
                want = case.expected()
            else:
                want = np.asarray(ORACLES[case.op](*case.inputs, **relax.OPS[case.op].with_defaults(case.attrs)))
        if not is_close(got, want):
            wrong.append(f"{case}: {got.tolist()}, not {want.tolist()}"[:2000])
    assert not wrong, "\n".join(wrong)


def test_nan_among_numbers():
    x = np.array([[1, np.nan, 3, np.nan], [np.nan, 5, 1, 2], [np.inf, 1, -np.inf, 0], [1, 2, 3, np.nan]], np.float32)
    ops = {"argmax": np.argmax, "argmin": np.argmin, "max": np.max, "min": np.min}
    found = computed([Case(op, [x], {"axis": 1 if op.startswith("arg") else [1], "keepdims": False}) for op in ops])
    for (op, reference), got in zip(ops.items(), found, strict=True):
        np.testing.assert_array_equal(got, reference(x, axis=1), err_msg=op)
    top = computed([Case("topk", [x], {"k": 4, "axis": 1, "largest": largest}) for largest in (True, False)])
    for got, sign in zip(top, (-1, 1), strict=True):  # numpy sorts NaN after all numbers
        ranks = np.where(np.isnan(x), np.float32(sign * np.inf), sign * x)
        order = np.lexsort((np.broadcast_to(np.arange(4), x.shape), np.where(np.isnan(x), sign, 0), ranks), axis=1)
        np.testing.assert_array_equal(got, order)


@pytest.mark.parametrize(("op", "want"), [("sum", 0.0), ("prod", 1.0), ("max", -np.inf), ("min", np.inf), ("mean", np.nan)])
def test_reductions_of_nothing(op, want):
    empty, none = np.zeros((3, 0), np.float32), np.zeros((0, 3), np.float32)
    cases = [Case(op, [empty], {"axis": [1]}), Case(op, [none], {"axis": [1]}), Case(op, [none], {"axis": [0], "keepdims": True}),
             Case(op, [empty], {"axis": [1]}, [["n", "k"]], {"n": 3, "k": 0})]
    found = computed(cases)
    for case, got, shape in zip(cases, found, [(3,), (0,), (1, 3), (3,)], strict=True):
        np.testing.assert_array_equal(got, np.full(shape, want, np.float32), err_msg=str(case))


def recurrent(op, gates, steps, batch, symbolic):
    """A model of one recurrent op, and its weights' names and arrays."""
    rng, hidden, inputs = np.random.default_rng(0), 3, 2
    weights = {"w": (1, gates * hidden, inputs), "r": (1, gates * hidden, hidden), "b": (1, 2 * gates * hidden)}
    tensors = [numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name) for name, shape in weights.items()]
    outputs = ["y", "h"]
    shape = [steps, "b", inputs] if symbolic else [steps, batch, inputs]
    graph = helper.make_graph([helper.make_node(op, ["x", *weights], outputs, hidden_size=hidden)], op,
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.filterwarnings("ignore:invalid value encountered in dot:RuntimeWarning")   # of the reference, whose inputs are infinite
@pytest.mark.parametrize(("op", "gates"), first_of([("LSTM", 4), ("GRU", 3), ("RNN", 1)], 2))
def test_recurrent_ops(op, gates):
    for steps, batch, symbolic in ((1, 1, False), (4, 2, True), (1, 1, True), (3, 1, False)):
        model = recurrent(op, gates, steps, batch, symbolic)
        session = ReferenceEvaluator(model)  # onnxruntime's sigmoid makes NaN a number
        exe = legato.compile(legato.from_onnx(model))
        rng = np.random.default_rng(1)
        for value in (None, 1e-40, np.inf, -np.inf, np.nan, -0.0):
            x = rng.standard_normal((steps, batch, 2)).astype(np.float32)
            if value is not None:
                x[0, 0, rng.integers(2)] = value
            for got, want in zip(exe(x), session.run(None, {"x": x}), strict=True):
                np.testing.assert_allclose(got, np.asarray(want), rtol=1e-5, atol=1e-6, err_msg=f"{op} {steps, batch} {value}")
