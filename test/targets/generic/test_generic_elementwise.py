"""Elementwise rules, executed: every op x dtype it takes x shapes, against the ops' numpy semantics."""

import itertools

import numpy as np
import pytest
from generic_samples import DTYPES, dtypes_of, values
from one_op import Case, failures
from thoroughly import first_of

UNARY = """exp log sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv lgamma log2
log10 log1p expm1 sigmoid relu silu gelu leaky_relu elu selu celu softplus softsign hard_sigmoid hard_swish mish
thresholded_relu abs negative sign square ceil floor round trunc reciprocal isnan isinf isfinite logical_not bitwise_not""".split()
BINARY = """add subtract multiply divide floor_divide power maximum minimum mod equal not_equal less less_equal greater greater_equal
logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift prelu""".split()
ATTRIBUTES = [
    ("gelu", {"approximate": "tanh"}),
    ("leaky_relu", {"alpha": 0.3}),
    ("elu", {"alpha": 0.7}),
    ("selu", {"alpha": 1.1, "gamma": 2.0}),
    ("celu", {"alpha": 2.5}),
    ("hard_sigmoid", {"alpha": 0.3, "beta": 0.4}),
    ("thresholded_relu", {"alpha": 0.2}),
    ("bitcast", {"dtype": "i32"}),
]


def unary_cases():
    for op in UNARY:
        for dtype in dtypes_of(op):
            yield Case(op, [values((5, 7), dtype)])
        dtype = dtypes_of(op)[0]
        for shape in ((), (1,), (0, 3), (2, 1, 3)):
            yield Case(op, [values(shape, dtype)])
        yield Case(op, [values((4, 3), dtype)], shapes=[["n", 3]], symbols={"n": 4})
    for op, attrs in ATTRIBUTES:
        yield Case(op, [values((5, 7), "float32")], attrs)


SHAPES = [
    ((4, 3), (4, 3)),
    ((4, 3), (3,)),
    ((4, 1), (1, 3)),
    ((), (2, 2)),
    ((1, 1), (5,)),
    ((2, 1, 3), (4, 1)),
    ((0, 3), (1, 3)),
    ((), ()),
    ((1, 2), (1, 2)),
]


def pairs(op, a_shape, b_shape, dtype):
    a, b = values(a_shape, dtype), values(b_shape[::-1], dtype).T.copy()
    if op in ("divide", "floor_divide", "mod") and dtype.kind in "iu":
        b[b == 0] = 3
    if op == "power":
        if dtype.kind in "iu":
            b = (b % 7).astype(dtype)
        else:
            a, b = np.abs(a), (b / 2).astype(dtype)
    return [a, b]


def binary_cases():
    for op in BINARY:
        for dtype in dtypes_of(op):
            yield Case(op, pairs(op, (6, 9), (6, 9), dtype))
        for a, b in SHAPES:
            yield Case(op, pairs(op, a, b, dtypes_of(op)[0]))
        dtype = dtypes_of(op)[0]
        symbols = {"n": 4, "m": 2}
        yield Case(op, pairs(op, (4, 3), (4, 3), dtype), shapes=[["n", 3], ["n", 3]], symbols=symbols)
        yield Case(op, pairs(op, (2, 1, 3), (4, 1), dtype), shapes=[["m", 1, 3], ["n", 1]], symbols=symbols)
    extremes = np.array([-128, -128, 127, -1, 7, -7, 7, -7], np.int8), np.array([-1, 3, -1, -128, 2, 2, -2, -2], np.int8)
    for op in ("divide", "floor_divide", "mod"):
        yield Case(op, list(extremes))
    for dtype in ("float32", "int32"):
        yield Case("mod", pairs("mod", (5, 5), (5, 5), np.dtype(dtype)), {"fmod": True})
    a = values((3, 4), "int32")
    for exponent in (-3, -1, 0, 1, 2, 3, 31):
        yield Case("power", [a, np.array(exponent, np.int32)], constants=(1,))
        yield Case("power", [a, np.full(4, exponent, np.int32)])
    for exponent in (0.0, 1.0, 2.0, 3.0, 0.5, -1.0):
        yield Case("power", [np.abs(values((3, 4), "float32")), np.array(exponent, np.float32)], constants=(1,))


def other_cases():
    for dtype in dtypes_of("where", 1):
        yield Case("where", [values((3, 4), "bool"), values((3, 4), dtype), values((4,), dtype)])
    condition = values((3, 1), "bool")
    yield Case("where", [condition, values((1, 4), "float32"), values((), "float32")], constants=(2,))
    yield Case("where", [condition, values((2, 1, 4), "int64"), values((), "int64")], shapes=[[3, 1], ["n", 1, 4], []], symbols={"n": 2})
    for dtype in dtypes_of("clip"):
        for low, high in ((-1.5, 6.5), (None, 3.0), (2.0, None), (-np.inf, np.inf), (-1e30, 1e30)):
            yield Case("clip", [values((4, 5), dtype)], {k: v for k, v in (("min", low), ("max", high)) if v is not None})
    everything = [np.dtype(d) for names in DTYPES.values() for d in names]
    for source, target in itertools.product(everything, everything):
        x = np.array([0, 1, 2, 100, 127], source) if source.kind in "u?" else np.array([0, -3, 1, 127, 100, -100], source)
        if source.kind not in "iu?":
            x = np.array([0, -0.0, 1.5, 2.75, 100.25, 0.5] + ([-3.7, -1.5, -100.5] if target.kind != "u" else []), source)
        elif target.kind == "u":
            x = np.abs(x)
        yield Case("astype", [x], {"dtype": target})


@pytest.mark.parametrize("part", first_of(range(3)))
@pytest.mark.parametrize("cases", [unary_cases, binary_cases, other_cases])
def test_semantics(cases, part):
    assert failures(list(cases())[part::3]) == []


def test_sizes_that_another_operand_tells():
    """One operand is broadcast and tells the sizes of the other's axes, which are symbols."""
    wide = Case("add", [values((2, 12, 5, 64), "float32"), values((1, 12, 1, 64), "float32")],
                shapes=[["n", "m", "k", "l"], [1, 12, 1, 64]], symbols={"n": 2, "m": 12, "k": 5, "l": 64})
    assert failures([wide]) == []
