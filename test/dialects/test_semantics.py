"""The numpy semantics of each op against onnxruntime, onnx's reference evaluator, scipy or numpy."""

import ml_dtypes
import numpy as np
import pytest
from cases import CASES
from oracles import ORACLES

from legato.core.errors import LegatoError
from legato.dialects import relax


def test_every_op_has_an_oracle():
    assert set(ORACLES) | {"constant"} == set(relax.OPS)


def expected_of(op, arrays, attrs):
    with np.errstate(all="ignore"):
        return np.asarray(ORACLES[op](*arrays, **relax.OPS[op].with_defaults(attrs)))


def assert_close(computed, expected, tolerance=2e-5):
    assert computed.shape == expected.shape
    if computed.dtype.kind in "biu":
        np.testing.assert_array_equal(computed, expected)
    else:
        finite = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
        np.testing.assert_allclose(computed.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance * 0.1 * finite)


@pytest.mark.filterwarnings("ignore:Mean of empty slice")  # onnx's, not ours
@pytest.mark.parametrize("case", CASES, ids=str)
def test_oracle(case):
    arrays = case.arrays(seed=3)
    if case.op == "batch_norm":
        arrays[4] = np.abs(arrays[4])
    computed = relax.OPS[case.op].semantics(*arrays, **case.attrs)
    f16 = computed.dtype == np.float16
    wide = [a.astype(np.float32) if a.dtype == np.float16 else a for a in arrays]
    assert_close(computed, expected_of(case.op, wide, case.attrs), 1e-3 if f16 else 2e-5)


SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 88.0, -88.0, 1e4, -1e4, 1e-8, -1e-30, 3e38, np.inf, -np.inf, np.nan], np.float32
)
FLOAT_UNARY = [
    n
    for n, c in relax.OPS.items()
    if c.ELEMENTWISE and len(c.OPERANDS) == 1 and "float" in c.OPERANDS[0].kinds and n not in ("astype", "bitcast", "clip")
]


@pytest.mark.parametrize("name", FLOAT_UNARY)
def test_special_values(name):
    # onnxruntime's and onnx's own formulas for these give NaN where the function has a limit
    limits = {"silu": {-np.inf: np.nan}, "mish": {-np.inf: np.nan}, "softsign": {np.inf: np.nan, -np.inf: np.nan}}
    computed, expected = np.asarray(relax.OPS[name].semantics(SPECIAL)), expected_of(name, [SPECIAL], {})
    for value, result in limits.get(name, {}).items():
        np.testing.assert_equal(computed[value == SPECIAL], [np.float32(result)])
    where = ~np.isin(SPECIAL, list(limits.get(name, {})))
    assert_close(computed[where], expected[where])


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "mod", "less", "greater_equal", "equal"]
)
def test_special_values_of_two_operands(name):
    a, b = SPECIAL[:, None], SPECIAL[None, :]
    with np.errstate(all="ignore"):
        oracle = np.mod(a, b) if name == "mod" else expected_of(name, [a, b], {})
    assert_close(relax.OPS[name].semantics(a, b), oracle)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "divide", "floor_divide", "mod", "power", "maximum", "left_shift", "right_shift"]
)
def test_integers_at_their_limits(name, dtype):
    limits = np.iinfo(dtype)
    values = sorted({limits.min, limits.min + 1, 0, 1, 2, 5, 7, 63, limits.max} | ({-1, -2, -7} if limits.min else set()))
    bits, wrap = limits.bits, lambda v: (int(v) - int(limits.min)) % 2**limits.bits + int(limits.min)

    def exact(a, b):
        if name in ("divide", "floor_divide", "mod") and b == 0:
            return 0
        if name == "power" and b < 0:
            return {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)
        if name.endswith("shift") and not 0 <= b < bits:
            return -1 if a < 0 and name == "right_shift" else 0
        return {
            "add": lambda: a + b,
            "subtract": lambda: a - b,
            "multiply": lambda: a * b,
            "floor_divide": lambda: a // b,
            "mod": lambda: a % b,
            "divide": lambda: abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1),
            "power": lambda: pow(a, b, 2**bits),
            "maximum": lambda: max(a, b),
            "left_shift": lambda: a << b,
            "right_shift": lambda: a >> b,
        }[name]()

    a, b = np.array(values, dtype)[:, None], np.array(values, dtype)[None, :]
    computed = relax.OPS[name].semantics(a, b)
    expected = [[wrap(exact(x, y)) for y in values] for x in values]
    assert computed.dtype == dtype and computed.tolist() == expected


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", ["add", "exp", "matmul", "softmax", "sum", "conv2d", "layer_norm"])
def test_small_floats_are_rounded_once(name, dtype):
    case = next(c for c in CASES if c.op == name and not c.dtypes.get(0, "float32").startswith("int") and min(map(len, c.shapes)))
    arrays = [a.astype(dtype) for a in case.arrays()]
    wide = relax.OPS[name].semantics(*[a.astype(np.float32) for a in arrays], **case.attrs)
    computed = relax.OPS[name].semantics(*arrays, **case.attrs)
    assert computed.dtype == dtype
    np.testing.assert_array_equal(computed.astype(np.float32), wide.astype(dtype).astype(np.float32))


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("float32", -1.5, 2.5), ("int32", -1.5, 2.5), ("uint8", -3.0, 1e9), ("int64", None, np.inf), ("float16", 0.0, None)],
)
def test_clip_bounds(dtype, low, high):
    x = np.arange(-5 if dtype != "uint8" else 0, 6).astype(dtype)
    expected = [v for v in x.tolist() if (low is None or v >= low) and (high is None or v <= high)]
    computed = relax.OPS["clip"].semantics(x, min=low, max=high)
    assert computed.dtype == dtype
    assert [v for v in computed.tolist() if v in expected] == sorted(v for v in computed.tolist() if v in expected)
    assert min(computed.tolist()) >= (low if low is not None else -5) and max(computed.tolist()) <= (high if high is not None else 5)


def test_max_and_min_of_nan_booleans_and_nothing():
    maximum, minimum = relax.OPS["max"].semantics, relax.OPS["min"].semantics
    assert np.isnan(maximum(np.array([1, np.nan], np.float32))) and np.isnan(minimum(np.array([np.nan, 1], np.float32)))
    assert maximum(np.zeros((0,), np.float32)) == -np.inf and minimum(np.zeros((0,), np.int8)) == 127
    assert maximum(np.array([[True, False]]), axis=[1]).tolist() == [True] and minimum(np.array([[True, False]]), axis=[1]).tolist() == [
        False
    ]


@pytest.mark.parametrize(
    ("dtype", "value", "to", "expected"),
    [
        ("float32", -1.9, "i32", -1),
        ("float32", 0.1, "i1", True),
        ("bool", True, "f32", 1.0),
        ("int64", -1, "ui8", 255),
        ("float64", 1 + 2.0**-30, "f32", 1.0),
        ("float32", 1 + 2.0**-9, "bf16", 1.0),
    ],
)
def test_astype(dtype, value, to, expected):
    assert relax.OPS["astype"].semantics(np.array(value, dtype), dtype=to) == expected


@pytest.mark.parametrize(("name", "index"), [("take", 5), ("take", -6), ("gather_elements", 5), ("gather_nd", -6)])
def test_an_index_outside_is_an_error(name, index):
    x, indices = np.zeros((5, 2), np.float32), np.array([[index, 0]])
    with pytest.raises(LegatoError, match=rf"index {index} lies outside axis 0 of size 5"):
        relax.OPS[name].semantics(x, indices)


def test_one_hot_of_indices_outside_and_below_zero():
    assert relax.OPS["one_hot"].semantics(np.array([-1, 3, 2]), depth=3).tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 1]]


def test_the_table_is_looked_up_at_each_use(monkeypatch):
    def never(*_, **__):
        raise RuntimeError("the table was used")

    monkeypatch.setitem(relax.semantics, "relax.exp", never)
    with pytest.raises(RuntimeError, match=r"the table was used"):
        relax.OPS["exp"].semantics(np.ones(2, np.float32))
