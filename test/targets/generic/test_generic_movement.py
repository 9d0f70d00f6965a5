"""Ops that move elements: shapes, slices, pads, indices, executed against the ops' numpy semantics."""

import numpy as np
import pytest
from generic_samples import dtypes_of, indices, normal, random, values
from one_op import Case, failures, legalized


def reshape_cases():
    for dtype in dtypes_of("reshape"):
        yield Case("reshape", [values((2, 3, 4), dtype)], {"shape": [6, 4]})
    for old, new in (
        ((2, 3, 4), (24,)),
        ((24,), (2, 3, 4)),
        ((6, 4), (2, 3, 4)),
        ((4, 6), (3, 8)),
        ((2, 3, 4), (3, 2, 4)),
        ((1, 6), (6,)),
        ((6,), (6, 1)),
        ((2, 1, 3), (2, 3, 1)),
        ((), (1, 1)),
        ((1, 1), ()),
        ((1,), ()),
        ((), ()),
        ((0, 3), (3, 0, 2)),
        ((2, 3), (2, 3)),
        ((1, 1), (1,)),
        ((2, 3, 4, 5), (6, 20)),
        ((2, 12, 5), (4, 6, 5)),
        ((4, 1, 1), (1, 4)),
    ):
        yield Case("reshape", [normal(*old)], {"shape": list(new)})
    symbols = {"n": 4, "m": 6, "k": 3}
    for old, new in (
        ((["n", 6]), ["n", 2, 3]),
        (["n", 2, 3], ["n", 6]),
        (["n", 6], ["n * 6"]),
        (["n", "m"], ["n * m"]),
        (["n", 6], [6, "n"]),
        (["n", "m", 8], ["n", "m", 2, 4]),
        (["n", "m", 2, 4], ["n * m", 8]),
        (["n", "m"], ["m", "n"]),
        (["n", 6], [2, "n", 3]),
        (["n", 1, "m"], ["n", "m", 1]),
        (["n", "m", "k"], ["m", "k", "n"]),
        (["n", 6], [-1, 3]),
        (["n", 6], [-1]),
    ):
        yield Case("reshape", [normal(*(symbols.get(d, d) for d in old))], {"shape": new}, shapes=[old], symbols=symbols)
    yield Case("expand_dims", [normal(2, 3)], {"axis": [0, 2, -1]})
    yield Case("expand_dims", [normal()], {"axis": [0]})
    yield Case("expand_dims", [normal(4, 3)], {"axis": [1]}, shapes=[["n", 3]], symbols=symbols)
    yield Case("squeeze", [normal(1, 2, 1, 3, 1)], {"axis": [0, 2, -1]})
    yield Case("squeeze", [normal(1, 1)], {"axis": [0, 1]})
    yield Case("squeeze", [normal(4, 1, 6)], {"axis": [1]}, shapes=[["n", 1, "m"]], symbols=symbols)


def permute_cases():
    for dtype in dtypes_of("permute_dims"):
        yield Case("permute_dims", [values((2, 3, 4), dtype)], {"axes": [1, 2, 0]})
    for shape, axes in (
        ((2, 3), (1, 0)),
        ((2, 3, 4), (2, 0, 1)),
        ((2, 3, 4), (0, -1, 1)),
        ((1, 3, 4), (1, 0, 2)),
        ((1, 3, 1, 4), (1, 2, 3, 0)),
        ((), ()),
        ((3,), (0,)),
        ((2, 3), (0, 1)),
        ((0, 3), (1, 0)),
        ((2, 3, 4, 5, 2), (4, 2, 0, 1, 3)),
    ):
        yield Case("permute_dims", [normal(*shape)], {"axes": list(axes)})
    yield Case("permute_dims", [normal(4, 3, 2)], {"axes": [2, 0, 1]}, shapes=[["n", "m", 2]], symbols={"n": 4, "m": 3})
    yield Case("permute_dims", [normal(4, 1, 2)], {"axes": [1, 0, 2]}, shapes=[["n", 1, 2]], symbols={"n": 4})


def broadcast_cases():
    symbols = {"n": 4, "m": 3}
    for dtype in dtypes_of("broadcast_to"):
        yield Case("broadcast_to", [values((3, 1), dtype)], {"shape": [2, 3, 4]})
        yield Case("tile", [values((2, 3), dtype)], {"repeats": [2, 2]})
        yield Case("concat", [values((2, 3), dtype), values((2, 2), dtype), values((2, 1), dtype)], {"axis": 1})
        yield Case("triu", [values((3, 4), dtype)])
    for old, new in (((), (2, 3)), ((3,), (2, 3)), ((1, 1), (2, 3)), ((2, 3), (2, 3)), ((1,), (0, 4))):
        yield Case("broadcast_to", [normal(*old)], {"shape": list(new)})
    yield Case("broadcast_to", [normal(4, 1)], {"shape": [2, "n", "m"]}, shapes=[["n", 1]], symbols=symbols)
    yield Case("broadcast_to", [normal(1)], {"shape": ["n", "n * m"]}, shapes=[[1]], symbols=symbols)
    for dtype in dtypes_of("dynamic_broadcast_to"):
        yield Case("dynamic_broadcast_to", [values((3, 1), dtype)], {"shape": [2, 3, 4]})
    for shape, repeats in (((2, 3), (1, 1)), ((2, 3), (3, 1)), ((1, 2), (4, 2)), ((3,), (0,)), ((), ())):
        yield Case("tile", [normal(*shape)], {"repeats": list(repeats)})
    yield Case("tile", [normal(4, 2)], {"repeats": [2, "m"]}, shapes=[["n", 2]], symbols=symbols)
    yield Case("concat", [normal(2, 3)], {"axis": 0})
    yield Case("concat", [normal(2, 3), normal(0, 3), normal(4, 3)], {"axis": 0})
    yield Case("concat", [normal(4, 2), normal(3, 2), normal(1, 2)], {"axis": 0}, shapes=[["n", 2], ["m", 2], [1, 2]], symbols=symbols)
    yield Case("concat", [normal(2, 4, 3), normal(2, 4, 1)], {"axis": -1}, shapes=[[2, "n", "m"], [2, "n", 1]], symbols=symbols)
    for op in ("triu", "tril"):
        for k in (-2, 0, 1, 9):
            yield Case(op, [normal(2, 3, 4)], {"k": k})
        yield Case(op, [normal(4, 3)], {"k": 1}, shapes=[["n", "m"]], symbols=symbols)


def number_cases():
    for dtype in dtypes_of("arange"):
        for size in (0, 1, 300):
            yield Case("arange", [values((), dtype), values((), dtype)], {"shape": [size]})


def random_cases():
    key = np.array(0x13198A2E03707344, np.uint64)
    for dtype in ("ui32", "ui64"):
        for shape in ((), (0, 3), (300,), (3, 5, 7), (2, 64)):
            yield Case("random_bits", [key], {"shape": list(shape), "dtype": dtype})
        yield Case("random_bits", [key], {"shape": ["n", 3, "m"], "dtype": dtype}, symbols={"n": 5, "m": 40})
        yield Case("random_bits", [key], {"shape": [40], "dtype": dtype}, constants=[0])
    yield Case("fold_in", [key, np.array(0xFFFFFFFFFFFF, np.uint64)])


def block_cases():
    for dtype in dtypes_of("col2im"):
        yield Case("col2im", [values((2, 1, 3, 4), dtype)], {"size": [5], "strides": [1], "padding": [1, 0], "dilations": [1]})
    steps = {"strides": [2, 1], "padding": [0, 2, 1, 0], "dilations": [1, 2]}
    yield Case("col2im", [normal(2, 3, 2, 2, 4, 5)], {"size": [7, 5], **steps})
    yield Case("col2im", [normal(2, 3, 2, 2, 4, 5)], {"size": [7, "w"], **steps}, shapes=[["n", 3, 2, "k", 4, "w"]],
               symbols={"n": 2, "w": 5, "k": 2})
    yield Case("col2im", [normal(0, 3, 2, 2, 4, 5)], {"size": [7, 5], **steps})
    yield Case("col2im", [normal(1, 2, 9, 8, 5, 4)], {"size": [13, 11], "strides": [1, 1], "padding": [0] * 4, "dilations": [1, 1]})


def slice_cases():
    for dtype in dtypes_of("strided_slice"):
        yield Case("strided_slice", [values((4, 5), dtype)], {"begin": [1, 0], "end": [3, 5], "strides": [1, 2]})
    for b, e, s in (
        (0, 6, 1),
        (1, -1, 1),
        (-4, 100, 1),
        (-100, 3, 2),
        (5, 0, -1),
        (-1, -100, -1),
        (4, 1, -2),
        (3, 3, 1),
        (5, 2, 1),
        (100, -100, -3),
    ):
        yield Case("strided_slice", [normal(6, 3)], {"begin": [b], "end": [e], "strides": [s]})
        yield Case(
            "strided_slice", [normal(3, 6)], {"begin": [b], "end": [e], "strides": [s], "axes": [1]}, shapes=[[3, "n"]], symbols={"n": 6}
        )
    for b, e in (("n - 2", "n"), (0, "n - 1"), (1, "m"), ("m", "n"), ("n - m", -1)):
        yield Case(
            "strided_slice", [normal(5, 2)], {"begin": [b], "end": [e], "strides": [1]}, shapes=[["n", 2]], symbols={"n": 5, "m": 3}
        )
    yield Case("strided_slice", [normal(2, 3, 4)], {"begin": [0, 1], "end": [1, 3], "axes": [-1, 1]})


def pad_cases():
    for dtype in dtypes_of("pad"):
        for mode in ("constant", "edge"):
            yield Case("pad", [values((3, 2), dtype)], {"pads": [1, 0, 2, 1], "mode": mode})
    for mode in ("constant", "reflect", "edge", "wrap"):
        for pads in ([0, 0, 0, 0], [2, 1, 1, 3], [-1, 2, 1, -2], [-1, -1, -1, 0], [0, 3, 0, 0]):
            yield Case("pad", [normal(4, 6)], {"pads": pads, "mode": mode, "value": 1.5})
        yield Case("pad", [normal(4, 6)], {"pads": [2, 1, 1, 3], "mode": mode}, shapes=[["n", "m"]], symbols={"n": 4, "m": 6})
    yield Case("pad", [normal(0, 2)], {"pads": [1, 0, 1, 0]})


def space_cases():
    for dtype in dtypes_of("depth_to_space"):
        yield Case("depth_to_space", [values((1, 8, 2, 3), dtype)], {"block": 2})
    yield Case("depth_to_space", [normal(2, 18, 2, 1)], {"block": 3, "mode": "CRD"})
    yield Case("space_to_depth", [normal(2, 3, 4, 6)], {"block": 2})
    yield Case("depth_to_space", [normal(2, 8, 2, 3)], {"block": 2}, shapes=[["n", 8, "h", "w"]], symbols={"n": 2, "h": 2, "w": 3})
    yield Case(
        "space_to_depth", [normal(2, 2, 4, 6)], {"block": 2}, shapes=[["n", 2, "h * 2", "w * 2"]], symbols={"n": 2, "h": 2, "w": 3}
    )


def gather_cases():
    symbols = {"v": 5, "n": 4, "m": 3}
    for dtype in dtypes_of("take"):
        yield Case("take", [values((5, 3), dtype), indices(5, 2, 2)])
        yield Case("gather_elements", [values((5, 3), dtype), indices(5, 2, 3)])
        yield Case("gather_nd", [values((5, 3), dtype), indices(3, 4, 2)])
    for dtype in dtypes_of("take", 1):
        yield Case("take", [normal(5, 3), indices(5, 4, dtype=dtype)])
    for axis, shape in ((0, ()), (1, (2, 2)), (-1, (3,)), (2, (0,)), (1, (1,))):
        yield Case("take", [normal(4, 5, 6), indices(4, *shape)], {"axis": axis})
    yield Case("take", [normal(5, 6), indices(5, 4, 3)], shapes=[["v", 6], ["n", "m"]], symbols=symbols)
    for axis in (0, 1, -1):
        yield Case("gather_elements", [normal(3, 4, 5), indices(3, 2, 3, 4)], {"axis": axis})
    yield Case("gather_elements", [normal(4, 5), indices(5, 4, 3)], {"axis": 1}, shapes=[["n", "v"], ["n", "m"]], symbols=symbols)
    for shape, batch in (((2, 1), 0), ((2, 3), 0), ((3,), 0), ((2, 4, 2), 0), ((2, 2, 1), 1), ((2, 3, 2, 1), 2), ((2, 2), 1)):
        yield Case("gather_nd", [normal(2, 3, 4), indices(2, *shape)], {"batch_dims": batch})
    yield Case("gather_nd", [normal(5, 3, 2), indices(3, 4, 2)], shapes=[["v", "m", 2], ["n", 2]], symbols=symbols)
    for dtype in dtypes_of("gather_weighted"):
        yield Case("gather_weighted", [normal(2, 5, 3, dtype=dtype), indices(5, 2, 4, 6), normal(2, 4, 6)])
        yield Case("gather_weighted", [normal(2, 5, 3, dtype=dtype), indices(5, 1, 4, 6), normal(1, 4, 6)])
    for of_indices, of_weights in (("int64", "float16"), ("int64", "float64"), ("int32", "float32")):
        yield Case("gather_weighted", [normal(1, 5, 21), indices(5, 1, 2, 7, dtype=of_indices), normal(1, 2, 7, dtype=of_weights)])
    yield Case("gather_weighted", [normal(2, 5, 3), indices(5, 2, 4, 6), normal(2, 4, 6)],
               shapes=[["b", "v", "c"], ["b", "t", "n"], ["b", "t", "n"]], symbols={"b": 2, "v": 5, "c": 3, "t": 4, "n": 6})
    yield Case("gather_weighted", [normal(2, 5, 3), indices(5, 2, 0, 6), normal(2, 0, 6)])
    yield Case("gather_weighted", [normal(2, 5, 3), indices(5, 2, 4, 0), normal(2, 4, 0)])
    for dtype in dtypes_of("one_hot"):
        yield Case("one_hot", [indices(5, 2, 3, dtype=dtype)], {"depth": 5})
    for axis in (0, 1, -1):
        yield Case("one_hot", [np.array([[0, -1, 7], [-9, 2, 4]])], {"depth": 5, "axis": axis, "dtype": "bool" if axis else "i32"})
    yield Case("one_hot", [indices(5, 4)], {"depth": 5, "dtype": "bf16"}, shapes=[["n"]], symbols=symbols)


def scatter_cases():
    for dtype in dtypes_of("scatter_elements"):
        for reduction in ("none", "add", "mul", "max", "min"):
            x, updates = (random.integers(0, 2, s).astype(dtype) for s in ((5, 3), (2, 3)))
            yield Case(
                "scatter_elements",
                [x, np.array([[0, -1, 2], [1, 3, -1 if reduction != "none" else 0]]), updates],
                {"reduction": reduction},
            )
            yield Case("scatter_nd", [x, np.array([[0, 1], [-1, 2]]), updates[:, 0]], {"reduction": reduction})
    rows = np.stack([random.permutation(4)[:2] for _ in range(3)]).astype(np.int32)
    for symbols, shapes in (({}, None), ({"n": 3, "m": 2, "v": 4}, [["n", "v"], ["n", "m"], ["n", "m"]])):
        yield Case("scatter_elements", [normal(3, 4), rows, normal(3, 2)], {"axis": 1}, shapes=shapes, symbols=symbols)
    yield Case("scatter_nd", [normal(4, 5), np.array([[3], [0]], np.uint8), normal(2, 5)])
    yield Case(
        "scatter_nd",
        [normal(4, 5), np.array([[1], [1]]), normal(2, 5)],
        {"reduction": "add"},
        shapes=[["n", "m"], [2, 1], [2, "m"]],
        symbols={"n": 4, "m": 5},
    )


CASES = [reshape_cases, permute_cases, broadcast_cases, number_cases, random_cases, block_cases, slice_cases, pad_cases, space_cases,
         gather_cases, scatter_cases]


@pytest.mark.parametrize("cases", CASES)
def test_semantics(cases):
    assert failures(list(cases())) == []


def test_reshapes_are_views():
    text = str(legalized([c for c in reshape_cases() if c.op != "permute_dims"]))
    assert "linalg." not in text
    assert "call" not in text
