"""Reductions, softmax and normalizations, executed against the ops' numpy semantics."""

import itertools

import numpy as np
import pytest
from generic_samples import dtypes_of, normal, small, values
from one_op import Case, failures
from thoroughly import first_of


def reduction_cases():
    for op in ("sum", "mean", "prod", "max", "min"):
        for dtype in dtypes_of(op):
            yield Case(op, [small((4, 5), dtype)], {"axis": [1]})
            yield Case(op, [small((2, 3, 4), dtype)], {"axis": [0, 2], "keepdims": True})
        for axis in (None, [0], [1], [2], [-1, 0], [0, 1, 2], []):
            for keepdims in (False, True):
                yield Case(op, [normal(2, 3, 4)], {"keepdims": keepdims} if axis is None else {"axis": axis, "keepdims": keepdims})
        for shape in ((1, 3), (3, 1), (1, 1), (), (0, 3)):
            yield Case(op, [normal(*shape)], {"axis": [0] if shape else None, "keepdims": True} if shape else {})
        yield Case(op, [normal(4, 3)], {"axis": [0]}, shapes=[["n", 3]], symbols={"n": 4})
        yield Case(op, [normal(4, 3)], {"axis": [1], "keepdims": True}, shapes=[["n", 3]], symbols={"n": 4})
        yield Case(op, [normal(4, 3)], shapes=[["n", "m"]], symbols={"n": 4, "m": 3})
    for op in ("max", "min", "sum"):
        yield Case(op, [values((5, 6), "float32")], {"axis": [1]})
    for op in ("max", "min"):
        yield Case(op, [np.zeros((3, 0), np.int8)], {"axis": [1]})


def arg_cases():
    for op in ("argmax", "argmin"):
        for dtype in dtypes_of(op):
            for last in (False, True):
                yield Case(op, [values((5, 6), dtype)], {"axis": 1, "select_last": last})
        for last in (False, True):
            ties = np.array([[1, 2, 2, 0, 0], [0, 0, 0, 0, 0]], np.float32)
            nans = np.array([[1, np.nan, 2, np.nan, 0], [np.nan, -np.inf, np.inf, 1, 2]], np.float32)
            infinite = np.array([[-np.inf, -np.inf], [np.inf, np.inf]], np.float32)
            for x in (ties, nans, infinite, ties.astype(np.uint8)):
                yield Case(op, [x], {"axis": 1, "select_last": last, "keepdims": last})
                yield Case(op, [x], {"axis": 0, "select_last": last, "keepdims": last})
        yield Case(op, [normal(3, 4, 2)], {"axis": -2}, shapes=[["n", "m", 2]], symbols={"n": 3, "m": 4})
        yield Case(op, [normal(5)], {"axis": 0})
        yield Case(op, [normal(3, 4, 2)], {"axis": 1, "keepdims": True})


def cumulative_cases():
    for op in ("cumsum", "cumprod"):
        for dtype in dtypes_of(op):
            yield Case(op, [small((3, 5), dtype)], {"axis": 1})
        for exclusive, reverse, axis in itertools.product((False, True), (False, True), (0, 1, -1)):
            yield Case(op, [normal(3, 4, 2)], {"axis": axis, "exclusive": exclusive, "reverse": reverse})
        yield Case(op, [normal(6)], {"axis": 0})
        yield Case(op, [normal(0, 2)], {"axis": 0})
        yield Case(op, [normal(3, 4)], {"axis": 1, "reverse": True}, shapes=[["n", "m"]], symbols={"n": 3, "m": 4})


def topk_cases():
    special = np.array([[1, np.nan, 3, -np.inf, 3, np.nan, np.inf, 0, -0.0]], np.float32)
    for largest in (True, False):
        for dtype in dtypes_of("topk"):
            yield Case("topk", [small((3, 9), dtype)], {"k": 5, "largest": largest})
            yield Case("topk", [values((2, 40), dtype)], {"k": 40, "largest": largest})
        for axis in (0, 1, 2):
            yield Case("topk", [small((4, 5, 6), np.dtype(np.float32))], {"k": 3, "axis": axis, "largest": largest})
        yield Case("topk", [special], {"k": 9, "largest": largest})
        numbers = small((5, 4), np.dtype(np.int64))
        yield Case("topk", [numbers], {"k": 2, "axis": 0, "largest": largest}, shapes=[["n", "m"]], symbols={"n": 5, "m": 4})
    yield Case("topk", [normal(3, 4)], {"k": 0})
    yield Case("topk", [normal(0, 4)], {"k": 2})


def suppression_cases():
    rng = np.random.default_rng(0)
    for batches, classes, boxes, k in ((2, 3, 20, 4), (1, 2, 50, 50), (1, 1, 1, 3), (2, 2, 7, 0), (2, 0, 5, 2), (0, 2, 5, 2), (1, 2, 0, 2)):
        low = rng.integers(0, 8, (batches, boxes, 2)) / np.float32(8)
        given = [np.concatenate([low, low + rng.integers(0, 5, low.shape) / np.float32(8)], 2).astype(np.float32),
                 rng.integers(0, 6, (batches, classes, boxes)).astype(np.float32), rng.random((batches, classes, boxes)) > 0.3,
                 np.array(rng.choice([0, 0.25, 0.5]), np.float32)]
        yield Case("non_max_suppression", given, {"k": k})
        shapes = [["b", "n", 4], ["b", "c", "n"], ["b", "c", "n"], []]
        yield Case("non_max_suppression", given, {"k": k}, shapes=shapes, symbols={"b": batches, "c": classes, "n": boxes})


def softmax_cases():
    for op in ("softmax", "log_softmax"):
        for dtype in dtypes_of(op):
            yield Case(op, [normal(3, 7, dtype=dtype) * 4])
        for axis in (0, 1, -1):
            yield Case(op, [normal(2, 5, 3) * 10], {"axis": axis})
        yield Case(op, [normal(5)])
        yield Case(op, [normal(3, 1)])
        yield Case(op, [normal(0, 4)])
        yield Case(op, [normal(3, 4)], shapes=[["n", "m"]], symbols={"n": 3, "m": 4})
        yield Case(op, [np.array([[1000, 1001], [-1000, 0], [np.nan, 1], [-np.inf, 0], [-np.inf, -np.inf]], np.float32)])


def norm_cases():
    for dtype in dtypes_of("layer_norm"):
        yield Case("layer_norm", [normal(3, 16, dtype=dtype), normal(16, dtype=dtype), normal(16, dtype=dtype)])
        yield Case("rms_norm", [normal(3, 16, dtype=dtype), normal(16, dtype=dtype)])
        yield Case("batch_norm", [normal(2, 3, 4, dtype=dtype), *(normal(3, dtype=dtype) for _ in range(3)), abs(normal(3, dtype=dtype))])
        yield Case("instance_norm", [normal(2, 3, 8, dtype=dtype), normal(3, dtype=dtype), normal(3, dtype=dtype)])
        yield Case("group_norm", [normal(2, 4, 8, dtype=dtype), normal(4, dtype=dtype), normal(4, dtype=dtype)], {"num_groups": 2})
        yield Case("lrn", [normal(2, 7, 3, 2, dtype=dtype)], {"size": 3, "alpha": 0.3})
    for axes, shape in (([1, 2], (5, 6)), ([-1], (6,)), ([0, 2], (2, 6)), ([0], (2,)), ([0, 1, 2], (2, 5, 6)), ([2, 1], (5, 6))):
        yield Case("layer_norm", [normal(2, 5, 6), normal(*shape), normal(*shape)], {"axes": axes, "epsilon": 0.1})
        yield Case("rms_norm", [normal(2, 5, 6), normal(*shape)], {"axes": axes, "epsilon": 0.1})
    yield Case("layer_norm", [10 + normal(3, 8), normal(8), normal(8)], {"epsilon": 1e-12})
    yield Case("layer_norm", [normal(3, 8), normal(8), normal(8)], shapes=[["n", "m"], ["m"], ["m"]], symbols={"n": 3, "m": 8})
    for axis in (0, 1, -1):
        count = (2, 3, 4)[axis]
        yield Case(
            "batch_norm", [normal(2, 3, 4), *(normal(count) for _ in range(3)), abs(normal(count))], {"axis": axis, "epsilon": 0.01}
        )
    yield Case(
        "batch_norm",
        [normal(2, 3, 4, 4), *(normal(3) for _ in range(3)), abs(normal(3))],
        shapes=[["n", 3, "h", "w"], *[[3]] * 4],
        symbols={"n": 2, "h": 4, "w": 4},
    )
    yield Case(
        "instance_norm",
        [normal(2, 3, 4, 4), normal(3), normal(3)],
        shapes=[["n", 3, "h", "w"], [3], [3]],
        symbols={"n": 2, "h": 4, "w": 4},
    )
    yield Case(
        "group_norm",
        [normal(2, 6, 3, 2), normal(6), normal(6)],
        {"num_groups": 3},
        shapes=[["n", 6, "h", 2], [6], [6]],
        symbols={"n": 2, "h": 3},
    )
    for size, beta, axis in ((1, 0.5, 1), (2, 0.75, 1), (5, 0.6, -1), (9, 0.75, 2)):
        yield Case("lrn", [normal(2, 4, 3, 5)], {"size": size, "beta": beta, "alpha": 0.5, "bias": 1.5, "axis": axis})
    yield Case("lrn", [normal(2, 4, 3)], {"size": 3}, shapes=[["n", "c", 3]], symbols={"n": 2, "c": 4})


@pytest.mark.parametrize("part", first_of(range(2)))
@pytest.mark.parametrize("cases", [reduction_cases, arg_cases, cumulative_cases, topk_cases, suppression_cases, softmax_cases, norm_cases])
def test_semantics(cases, part):
    assert failures(list(cases())[part::2]) == []
