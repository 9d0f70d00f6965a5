"""topk of rows around vectors, of ties, NaNs and zeros of both signs, in all element types, against numpy's stable sort."""
from itertools import cycle, product

import ml_dtypes
import numpy as np
import pytest
from harness import NAMES, TARGETS, Net
from thoroughly import first_of, thorough

from legato.dialects.relax.dims import substitute, symbol
from legato.targets.cpu import topk_in_columns, topk_of_any_length

RNG = np.random.default_rng(17)
TYPES = tuple(map(np.dtype, (np.float32, np.float16, ml_dtypes.bfloat16, np.float64, np.int8, np.uint8, np.int16, np.uint16, np.int32,
                             np.uint32, np.int64, np.uint64)))


def best(x: np.ndarray, k: int, axis: int, largest: bool) -> np.ndarray:
    """The indices of the k best elements; equal ones by index, and a NaN is greater than every number."""
    x = np.moveaxis(x.astype(np.float32) if x.dtype == ml_dtypes.bfloat16 else x, axis, -1)    # that type's sort has no place for NaNs
    order = np.argsort(x, -1, kind="stable")     # a NaN is last, zeros are equal
    if largest:
        order = x.shape[-1] - 1 - np.argsort(x[..., ::-1], -1, kind="stable")[..., ::-1]
    return np.moveaxis(order[..., :k], -1, axis)


def numbers(shape: tuple[int, ...], dtype: np.dtype, kind: str) -> np.ndarray:
    """Elements of a kind: all of the type's range, few that are often equal, or such with NaNs and infinities."""
    if np.issubdtype(dtype, np.integer):
        low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if kind == "all" else (0, 5)
        return RNG.integers(low, high, shape, dtype, endpoint=True)
    x = RNG.standard_normal(shape) * 100 if kind == "all" else RNG.integers(-3, 4, shape) * RNG.choice([0.5, -0.5], shape)
    if kind == "special":
        x = np.where(RNG.random(shape) < 0.2, RNG.choice([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], shape), x)
    return x.astype(dtype)


def check(target: str, cases: list[tuple[np.ndarray, int, int, bool]], names: str = "") -> None:
    net = Net(target, first=None)
    for x, k, axis, largest in cases:
        shape = (names, *x.shape[1:]) if names else x.shape
        net.output(net.op("relax.topk", [net.input(shape, NAMES[x.dtype])], k=k, axis=axis, largest=largest))
    for (x, k, axis, largest), found in zip(cases, net.run(*(case[0] for case in cases)), strict=True):
        np.testing.assert_array_equal(found, best(x, k, axis, largest), err_msg=f"{x.dtype}{x.shape} k={k} axis={axis} {largest}")


@pytest.mark.parametrize("target", first_of(TARGETS))
@pytest.mark.parametrize("kind", [*thorough(["all", "few"]), "special"])
def test_types(target, kind):
    """Of rows that are sorted, or whose best are in registers, in a heap, or gathered and sorted."""
    check(TARGETS[target], [(numbers((3, length), dtype, kind), k, 1, largest) for dtype in TYPES
                            for length, k in ((75, 20), (301, 7), (301, 20), (301, 40)) for largest in (True, False)])


@pytest.mark.parametrize("target", first_of(TARGETS))
@pytest.mark.parametrize("kind", first_of(["few", "special", "all"]))
def test_elements_of_64_bits(target, kind):
    """All of a row, and half of it, along any axis."""
    cases = [(numbers(shape, np.dtype(dtype), kind), k, axis, largest) for dtype in (np.int64, np.uint64, np.float64)
             for shape, axis in (((40,), 0), ((100, 3), 0), ((2, 33, 5), 1), ((2, 1000), 1))
             for k, largest in ((shape[axis], True), (shape[axis], False), (shape[axis] // 2 + 1, True))]
    check(TARGETS[target], cases)


@pytest.mark.parametrize("target", TARGETS)
def test_few_elements_of_64_bits(target):
    """In vectors, of rows of any length: the numbers that the least and the greatest element of each type have are those of no element."""
    cases = []
    for at, (dtype, (length, k)) in enumerate(product((np.float64, np.int64, np.uint64),
                                                     ((3, 1), (7, 7), (16, 4), (1000, 3), (1000, 11), (1000, 49)))):
        x = numbers((3, length), np.dtype(dtype), ("all", "few", "special")[at % 3])
        least, most = (-np.inf, np.nan) if x.dtype.kind == "f" else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
        x[0, ::2], x[1] = (least, most)[at % 2], (most, least)[at % 2]
        cases.append((x, k, 1, at % 2 == 0))
    check(TARGETS[target], cases)
    check(TARGETS[target], [(x, k, 1, not largest) for x, k, _, largest in cases])
    net = Net(TARGETS[target])
    for name, dtype in enumerate(("f64", "i64")):
        net.output(net.op("relax.topk", [net.input(("r", f"n{name}"), dtype)], k=3, axis=1, largest=True))
    for lengths in ((3, 40), (17, 5)):
        arrays = [numbers((2, n), np.dtype(dtype), "few") for n, dtype in zip(lengths, (np.float64, np.int64), strict=True)]
        for x, found in zip(arrays, net.run(*arrays), strict=True):
            np.testing.assert_array_equal(found, best(x, 3, 1, True))
    assert str(net.lowered("scheduled")).count("vector.shuffle") >= 4


SORTED = [(n, k) for n in (16, 17, 31, 33, 63, 65, 127, 256, 500, 1025) for k in (-(-n // 4), n)]
SELECTED = [(n, k) for n in (280, 1000, 5003) for k in (16, 17, 33, 64)]
FEW = [(n, k) for n in (65, 130, 2048) for k in (1, 2, 4, 5, 8, 9, 15, 16)]


@pytest.mark.parametrize("target", first_of(TARGETS))
@pytest.mark.parametrize("cases", [SELECTED, FEW, *thorough([SORTED])], ids=["selected", "few", "sorted"])
def test_numbers_of_elements(target, cases):
    """Along the last axis, and along another one, where elements are read one by one."""
    kinds = ("all", "few", "special")
    check(TARGETS[target], [(numbers((2, n), np.dtype(np.float32), kinds[at % 3]), k, 1, at % 2 == 0) for at, (n, k) in enumerate(cases)])
    check(TARGETS[target], [(numbers((n, 3), np.dtype(np.float32), kinds[at % 3]), k, 0, at % 2 == 1) for at, (n, k) in enumerate(cases)])


def test_rows_among_threads():
    """Rows that threads share, of a number that they divide and of another; along the last axis, a first one, and one between others."""
    shapes = (((64, 200), 1), ((67, 200), 1), ((200, 67), 0), ((3, 120, 29), 1), ((33, 2, 130), 2))
    cases = [(numbers(shape, np.dtype(np.float32), "special"), k, axis, True) for shape, axis in shapes for k in (5, 20, 100)]
    for target, parallel in (("llvm{threads=2}", True), ("llvm", False)):
        check(target, cases)
        net = Net(target)
        net.output(net.op("relax.topk", [net.input((67, 200))], k=20, axis=1))
        assert ("scf.forall (" in str(net.lowered("scheduled"))) == parallel


@pytest.mark.parametrize("target", first_of(TARGETS))
def test_sizes(target):
    f32 = np.dtype(np.float32)
    check(TARGETS[target], [(numbers((2, n), f32, kind), k, 1, n % 2 == 0) for n in (1, 2, 7, 15, 16, 17, 33, 48, 64, 100, 128, 129, 200)
                            for k in (0, 1, 2, 3, n // 2, n) if k <= n for kind in ("few", "special")])


@pytest.mark.parametrize("target", first_of(TARGETS))
def test_axes(target):
    check(TARGETS[target], [(numbers((20, 21, 22), np.dtype(dtype), "few"), 9, axis, largest) for axis in (0, 1, -2, -1)
                            for largest in (True, False) for dtype in (np.float32, np.int32)])


@pytest.mark.parametrize("target", first_of(TARGETS))
@pytest.mark.parametrize("first", first_of(range(3)))
def test_columns(target, first):
    """A few elements of columns, of all widths and types; where all elements are wanted, and of one image and several. Quick runs take one
    kind of elements for each case."""
    kinds = cycle(("all", "few", "special")[first:] + ("all", "few", "special")[:first])
    shapes = [((5, 37), 0), ((3, 9, 16), 1), ((2, 8, 3, 11), 1), ((4, 6, 21), -2), ((8, 4), 0), ((2, 7, 3), 1), ((3, 1, 40), 1)]
    check(TARGETS[target], [(numbers(shape, dtype, next(kinds)), min(k, shape[axis]), axis, largest) for shape, axis in shapes
                            for k in (1, 3, 16) for largest in (True, False) for dtype in TYPES if np.dtype(dtype).itemsize <= 4])


def test_columns_in_vectors_and_among_threads():
    x = numbers((6, 90, 5, 70), np.dtype(np.float32), "special")
    for target, parallel in (("llvm", 0), ("llvm{threads=2}", 1)):
        check(target, [(x, 4, 1, True)])
        net = Net(target)
        net.output(net.op("relax.topk", [net.input(x.shape)], k=4, axis=1))
        text = str(net.lowered("scheduled"))
        assert "vector.transfer_read" in text and text.count("scf.forall (") == parallel


@pytest.mark.parametrize("target", first_of(TARGETS))
def test_rows_and_lengths_that_the_call_knows(target):
    cases = [(numbers((n, 40), np.dtype(np.float32), "special"), 7, axis, True) for n, axis in ((5, 1), (5, -1))]
    check(TARGETS[target], cases, names="n")
    check(TARGETS[target], [(numbers((33, 6), np.dtype(np.float32), "special"), 7, 0, False)], names="n")


@pytest.mark.parametrize("limit", [1 << 31, 30])
def test_columns_whose_length_the_call_knows(limit, monkeypatch):
    """And columns whose number it knows. ``limit``: the length from which on places have 64 bits."""
    monkeypatch.setattr(topk_in_columns, "LIMIT", limit)
    shapes, wanted, f32 = [(2, "n", 19), ("n", 4), ("b", "n", 5, 8), ("b", "n", "w")], [3, 16, 1, 5], np.dtype(np.float32)
    axes = [shape.index("n") for shape in shapes]
    for target, threads in zip(TARGETS.values(), (1, 2)):
        net = Net(target.replace("}", f",threads={threads}}}"))
        for shape, count, axis in zip(shapes, wanted, axes, strict=True):
            net.output(net.op("relax.topk", [net.input(shape)], k=count, axis=axis, largest=axis == 1))
        assert "vector.transfer_read" in str(net.lowered("scheduled"))
        for length, width in ((16, 4), (29, 3), (30, 35), (77, 0)):
            sizes = {"n": length, "b": 3, "w": width}
            given = [numbers(tuple(sizes.get(size, size) for size in shape), f32, "special") for shape in shapes]
            for x, count, axis, found in zip(given, wanted, axes, net.run(*given), strict=True):
                np.testing.assert_array_equal(found, best(x, count, axis, axis == 1))


@pytest.mark.parametrize("target", first_of(TARGETS))
def test_rows_of_any_length(target):
    """All of a row whose length only the call knows, half of it, and some: sorted, or in heaps. Along the last axis and another one."""
    f32, types = np.dtype(np.float32), [np.dtype(one) for one in (np.float32, np.int8, np.uint32, np.float16, np.int64, np.float64)]
    net, n = Net(TARGETS[target], first=None), symbol("n")
    cases = [((3, "n"), 1, one, n) for one in types] + [(("n", 5), 0, f32, n), ((2, "n"), 1, f32, n // 2 + 1), (("b", "n"), 1, f32, 20),
                                                        ((2, "n", 3), 1, f32, n // 8 + 1), (("n",), 0, f32, n)]
    for number, (shape, axis, dtype, count) in enumerate(cases):
        net.output(net.op("relax.topk", [net.input(shape, NAMES[dtype])], k=count, axis=axis, largest=number % 2 == 0))
    for length in (20, 31, 32, 33, 64, 65, 257, 1000):
        sizes = {"n": length, "b": 4}
        given = [numbers(tuple(sizes[size] if isinstance(size, str) else size for size in shape), dtype, "special")
                 for shape, _, dtype, _ in cases]
        for number, (x, (_, axis, _, count), found) in enumerate(zip(given, cases, net.run(*given), strict=True)):
            wanted = count if isinstance(count, int) else substitute(count, {"n": length})
            np.testing.assert_array_equal(found, best(x, wanted, axis, number % 2 == 0), err_msg=f"{cases[number]} {length}")


@pytest.mark.parametrize("target", first_of(TARGETS))
@pytest.mark.parametrize("limit", [1 << 32, 45])
def test_few_of_rows_of_any_length(target, limit, monkeypatch):
    """In registers, or gathered and sorted. ``limit``: the length beyond which indices do not fit the keys, and the best are in heaps."""
    monkeypatch.setattr(topk_of_any_length, "MOST", limit)
    cases = [(("b", "n"), 7, np.float16), (("n",), 40, np.uint8), (("b", "n"), 20, np.float32)][:3 if limit > 45 else 2]
    net = Net(TARGETS[target], first=None)
    for number, (shape, count, dtype) in enumerate(cases):
        net.output(net.op("relax.topk", [net.input(shape, NAMES[np.dtype(dtype)])], k=count, axis=-1, largest=number % 2 == 0))
    for length, images in ((40, 2), (45, 0), (47, 1), (48, 3), (261, 2)):
        given = [numbers((images, length)[-len(shape):], np.dtype(dtype), "special") for shape, _, dtype in cases]
        for number, (x, (_, count, _), found) in enumerate(zip(given, cases, net.run(*given), strict=True)):
            np.testing.assert_array_equal(found, best(x, count, -1, number % 2 == 0), err_msg=f"{cases[number]} {length}")


def test_rows_of_unknown_length_are_sorted_or_their_best_in_registers():
    for count in (symbol("n"), 5):
        net = Net("llvm", first=None)
        net.output(net.op("relax.topk", [net.input((3, "n"))], k=count, axis=1, largest=True))
        assert "vector.shuffle" in str(net.lowered("scheduled"))


def test_worst_cases():
    """Rows in order: every element enters what is kept, or none does."""
    rows = np.stack([np.arange(1000), np.arange(1000)[::-1], np.zeros(1000)]).astype(np.float32)
    check("llvm", [(rows, k, 1, largest) for k in (1, 10, 30, 60, 500, 1000) for largest in (True, False)])


def test_the_extremes_of_integers():
    """The least number is better than a free slot."""
    for dtype in (np.int32, np.uint32, np.int8):
        ends = np.array([[np.iinfo(dtype).min] * 20 + [np.iinfo(dtype).max] * 3], dtype)
        check("llvm", [(ends, k, 1, largest) for k in (3, 15, 23) for largest in (True, False)])
