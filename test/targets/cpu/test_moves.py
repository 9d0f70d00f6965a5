"""Transposes, slices, concatenations, pads, and reading by index."""

import numpy as np
import pytest
from harness import DTYPES, TARGETS, Net, single
from thoroughly import first_of, sampled, thorough

TRANSPOSES = [
    ((128, 12, 64), (1, 0, 2)),
    ((33, 50), (1, 0)),
    ((3, 1000), (1, 0)),
    ((1000, 3), (1, 0)),
    ((2, 3, 4, 5), (3, 2, 1, 0)),
    ((17, 16), (1, 0)),
    ((2, 49, 64), (0, 2, 1)),
    ((1, 3, 24, 24), (0, 2, 3, 1)),
    ((5, 7, 9), (2, 0, 1)),
    ((64, 96), (1, 0)),
    *((shape, (0, 2, 1)) for rows in (7, 8, 12, 15)
      for shape in ((3, rows, 64), (3, 33, rows), (2, rows, 17), (2, rows, 11), (2, rows, 8))),
]


def values(shape, dtype="f32"):
    return (np.random.default_rng(0).standard_normal(shape) * 50).astype(DTYPES[dtype])


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
@pytest.mark.parametrize("dtype", sampled(["f32", "f64", "i8", "f16", "bf16", "i64"], 2))
def test_transposes(dtype, target):
    net, arrays, right = Net(target), [], []
    for shape, axes in TRANSPOSES:
        x = values(shape, dtype)
        right.append(x.transpose(axes))
        arrays.append(x)
        net.output(net.op("relax.permute_dims", [net.input(shape, dtype)], axes=list(axes)))
    for case, found, expected in zip(TRANSPOSES, net.run(*arrays), right, strict=True):
        assert np.array_equal(found, expected), case


def test_dynamic_transposes():
    net = Net()
    x = net.input(("n", "m", 6))
    net.output(*[net.op("relax.permute_dims", [x], axes=axes) for axes in ([1, 0, 2], [2, 1, 0])])
    for shape in ((1, 1, 6), (5, 40, 6), (33, 17, 6)):
        a = values(shape)
        assert all(np.array_equal(f, r) for f, r in zip(net.run(a), (a.transpose(1, 0, 2), a.transpose(2, 1, 0)), strict=True))


def test_rows_that_fill_most_of_a_block():
    """12 rows are transposed as 16, whose shuffles are a fixed few; without masks for halves (AVX2) as many as there are."""
    for dtype, level, whole in (("f32", 4, True), ("f16", 4, True), ("i8", 4, False), ("f16", 3, False)):
        net = Net(f"llvm{{cpu=x86-64-v{level}}}")
        net.output(net.op("relax.permute_dims", [net.input((5, 12, 64), dtype)], axes=[0, 2, 1]))
        text = str(net.lowered("scheduled").operation)
        assert (f"vector<16x16x{dtype}>" in text) == whole, (dtype, level)
    for shape in (("n", 12), (12, "n")):
        net = Net()
        net.output(net.op("relax.permute_dims", [net.input(shape)], axes=[1, 0]))
        for size in (1, 5, 16, 33):
            a = values([size if isinstance(extent, str) else extent for extent in shape])
            assert np.array_equal(net.run(a)[0], a.T)


def test_sum_of_a_matrix_and_a_transposed_one():
    """The transpose is fused into the sum: blocks of it go through registers."""
    net = Net()
    a, b = net.input((100, 70)), net.input((70, 100))
    net.output(net.op("relax.add", [a, net.op("relax.permute_dims", [b], axes=[1, 0])]))
    x, y = values((100, 70)), values((70, 100))
    assert np.array_equal(net.run(x, y)[0], x + y.T)


CONCATS = [([(3, 64), (3, 128)], 1), ([(3, 5), (3, 2), (3, 9)], 1), ([(4, 7), (1, 7)], 0), ([(2, 3, 10), (2, 5, 10)], 1), ([(1,), (6,)], 0)]


@pytest.mark.parametrize("dtype", ["f32", "i8", "i64"])
def test_concatenations(dtype):
    net, arrays, right = Net(), [], []
    for shapes, axis in CONCATS:
        parts = [values(s, dtype) for s in shapes]
        right.append(np.concatenate(parts, axis))
        arrays += parts
        net.output(net.op("relax.concat", [net.input(s, dtype) for s in shapes], axis=axis))
    for case, found, expected in zip(CONCATS, net.run(*arrays), right, strict=True):
        assert np.array_equal(found, expected), case


SLICES = [
    ((10, 20), [2, 3], [8, 17], [1, 1]),
    ((10, 20), [0, 1], [10, 20], [3, 2]),
    ((9, 33), [8, 32], [-10, -34], [-1, -1]),
    ((5, 6, 70), [0, 2, 3], [5, 5, 69], [1, 1, 1]),
]


def test_slices():
    net, arrays, right = Net(), [], []
    for shape, begin, end, strides in SLICES:
        x = values(shape)
        right.append(x[tuple(slice(b, None if e < -size else e, s) for size, b, e, s in zip(shape, begin, end, strides))])
        arrays.append(x)
        net.output(net.op("relax.strided_slice", [net.input(shape)], begin=begin, end=end, strides=strides))
    for case, found, expected in zip(SLICES, net.run(*arrays), right, strict=True):
        assert np.array_equal(found, expected), case


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_concatenation_of_dynamic_rows(target):
    """Rows of a size known at run time only are copied by vectors, their ends under masks or by vectors that overlap others; those that are
    shorter by shorter ones, or one by one."""
    dtypes = ("f32", "i8", "i64")
    net = Net(target)
    for dtype in dtypes:
        parts = [net.input(("n", "a"), dtype), net.input(("n", "b"), dtype)]
        net.output(net.op("relax.concat", parts, axis=1))
    for n, a, b in ((1, 1, 1), (3, 100, 64), (5, 64, 7), (2, 0, 130), (3, 2, 3), (3, 4, 5), (2, 8, 12), (2, 16, 31), (2, 33, 15)):
        arrays = [values((n, k), dtype) for dtype in dtypes for k in (a, b)]
        for i, found in enumerate(net.run(*arrays)):
            assert np.array_equal(found, np.concatenate(arrays[2 * i : 2 * i + 2], 1))


def test_rows_by_index():
    table, net = values((1000, 384)), Net()
    indices = np.random.default_rng(1).integers(-1000, 1000, (2, 37))
    assert np.array_equal(single("relax.take", [table, indices], axis=0), table[indices])
    along = np.take(table, indices % 384, axis=1)
    assert np.array_equal(single("relax.take", [table, indices % 384], axis=1), along)
    net.output(net.op("relax.take", [net.weight(table), net.input((1, "n"), "i64")], axis=0))
    tensors = str(net.lowered("scheduled"))
    assert "tensor.extract_slice %arg0[" in tensors and "linalg.generic" not in tensors
    for n in (1, 5):
        assert np.array_equal(net.run(indices[:1, :n])[0], table[indices[:1, :n]])


@pytest.mark.parametrize("threads", [1, 3])
def test_many_rows_are_shared(threads):
    """Of tables, and of the rows of images; fewer rows than parts, too."""
    net, arrays, expected = Net(f"llvm{{threads={threads}}}", first=None), [], []
    for shape, axis, count in (((300, 512), 0, 700), ((2, 50, 40, 64), 1, 100), ((3, 4, 70_000), 1, 2)):
        table, at = values(shape), np.random.default_rng(1).integers(0, shape[axis], count)
        net.output(net.op("relax.take", [net.input(shape), net.input((count,), "i64")], axis=axis))
        arrays += [table, at]
        expected.append(np.take(table, at, axis))
    assert str(net.lowered("scheduled")).count("scf.forall") >= len(expected)
    for found, wanted in zip(net.run(*arrays), expected, strict=True):
        assert np.array_equal(found, wanted)


def rolled(net, x, axis, size, shift):
    """A roll as exporters write it: two slices, and their concatenation."""
    ends = [net.op("relax.strided_slice", [x], begin=[begin], end=[end], axes=[axis]) for begin, end in ((shift, size), (0, shift))]
    return net.op("relax.concat", ends, axis=axis)


@pytest.mark.parametrize("target", [*first_of(TARGETS.values()), "llvm{threads=2}"], ids=[*TARGETS, "threads"])
def test_rolls(target):
    """Rolls are one copy each, of two axes, too, which threads share; also between kernels that could write in place."""
    net, arrays, right = Net(target, None), [], []
    for dtype, shape, shifts in (("f32", (1, 7, 5, 3), (2, 4)), ("f32", (2, 61, 40, 33), (7, 3)), ("bf16", (1, 64, 64, 104), (4, 4)),
                                 ("i8", (3, 129, 70, 11), (1, 69)), ("i64", ("n", 21, 6, 19), (5, 2))):
        x = value = net.input(shape, dtype)
        if dtype == "f32":
            value = net.op("relax.add", [x, x])
        for axis, shift in zip((1, 2), shifts):
            value = rolled(net, value, axis, shape[axis], shift)
        if dtype == "f32":
            value = net.op("relax.add", [value, value])
        net.output(value)
        arrays.append(values([3 if size == "n" else size for size in shape], dtype))
        right.append(np.roll(arrays[-1], [-shift for shift in shifts], (1, 2)) * np.array(4 if dtype == "f32" else 1, arrays[-1].dtype))
    for found, expected in zip(net.run(*arrays), right, strict=True):
        assert np.array_equal(found, expected)
    calls = [line for line in str(net.lowered("fused")).splitlines() if " call @" in line]
    assert sum("concat" in line for line in calls) == sum("strided_slice" in line for line in calls) == 5


@pytest.mark.parametrize("target", [*first_of(TARGETS.values()), "llvm{threads=2}"], ids=[*TARGETS, "threads"])
def test_pads_that_are_concatenated(target):
    """Pads of slices, and of concatenations, of an unknown number, too: what is padded with is not overwritten, nor does it overwrite."""
    net, x, y = Net(target, None), values((3, 70, 60, 40)), values((3, 72, 60, 8))
    a, b, c = net.input(x.shape), net.input(y.shape), net.input(("n", 70, 60, 40))
    cut = [net.op("relax.strided_slice", [v], begin=[0], end=[68], axes=[1]) for v in (a, c)]
    padded = [net.op("relax.pad", [v], pads=[0, 1, 0, 0, 0, 3, 0, 0], value=2.0) for v in cut]
    whole = net.op("relax.concat", [padded[0], b], axis=3)
    net.output(net.op("relax.pad", [whole], pads=[0, 0, 2, 0, 0, 0, 1, 0], value=-1.0),
               net.op("relax.concat", [padded[1], padded[1]], axis=3),
               net.op("relax.concat", [b, net.op("relax.pad", [c], pads=[0, 0, 0, 0, 0, 2, 0, 0])], axis=3))
    right = np.pad(x[:, :68], ((0, 0), (1, 3), (0, 0), (0, 0)), constant_values=2)
    expected = (np.pad(np.concatenate([right, y], 3), ((0, 0), (0, 0), (2, 1), (0, 0)), constant_values=-1),
                np.concatenate([right, right], 3),
                np.concatenate([y, np.pad(x, ((0, 0), (0, 2), (0, 0), (0, 0)))], 3))
    assert all(np.array_equal(f, e) for f, e in zip(net.run(x, y, x), expected, strict=True))


def test_parts_of_slices():
    """Slices of concatenations, of slices, with steps, and of several axes, one of which another kernel reads."""
    net, x, y = Net(first=None), values((6, 40, 9)), values((6, 24, 9))
    a, b = net.input(x.shape), net.input(y.shape)
    both = net.op("relax.concat", [a, b], axis=1)
    narrow = net.op("relax.strided_slice", [both], begin=[1, 0], end=[6, -1], strides=[2, 3], axes=[0, 2])
    steps = net.op("relax.strided_slice", [net.op("relax.strided_slice", [b], begin=[2], end=[-3], strides=[3], axes=[1])],
                   begin=[-5], end=[2**40], axes=[0])
    net.output(narrow, net.op("relax.concat", [steps, steps, net.op("relax.strided_slice", [a], begin=[1], end=[6])], axis=1),
               net.op("relax.concat", [narrow, narrow], axis=0))
    cut = np.concatenate([x, y], 1)[1:6:2, :, :-1:3]
    expected = cut, np.concatenate([y[1:, 2:-3:3], y[1:, 2:-3:3], x[1:]], 1), np.concatenate([cut, cut])
    assert all(np.array_equal(f, e) for f, e in zip(net.run(x, y), expected, strict=True))


WRAPPED = [((2, 3, 5, 37), [0, 0, 13, 2, 5, 0, 11, 74]), (("n", 9, 40), [20, 2, 0, 8, 0, 9])]
PADDED = [((2, 3, 20, 37), [0, 0, 3, 2, 0, 0, 1, 4]), ((1, 9, 8, 40), [0, 2, 7, 0, 0, 0, 1, 0]), ((50, 64), [1, 0, 49, 3]),
          ((1000,), [7, 900]), ((4, 6, 3), [0, 2, 2, 0, 1, 0]), (("n", 30, "m"), [1, 2, 5, 0, 0, 3]), (("n", 5, 41), [0, 0, 2, 0, 0, 2])]


@pytest.mark.parametrize("target", [*first_of(TARGETS.values()), *thorough(["llvm{threads=2}"])], ids=[*TARGETS, "threads"])
@pytest.mark.parametrize("mode", first_of(["reflect", "edge", "wrap"]))
def test_mirrored_pads(mode, target):
    net, arrays, right = Net(target), [], []
    for shape, pads in [*PADDED, *(WRAPPED if mode == "wrap" else [])]:
        for dtype in ("f32", "i8", "bf16"):
            x = values([{"n": 7, "m": 45}.get(size, size) for size in shape], dtype)
            arrays.append(x)
            right.append(np.pad(x, list(zip(pads[:x.ndim], pads[x.ndim:])), mode))
            net.output(net.op("relax.pad", [net.input(shape, dtype)], pads=pads, mode=mode))
    for found, expected in zip(net.run(*arrays), right, strict=True):
        assert np.array_equal(found, expected)


def test_what_is_mirrored_is_copied():
    """Rows are copied at once, unless they are short; the border alone is read element by element, and nothing is copied twice."""
    for shape, whole in (((64, 56, 56), True), ((64, 56, 8), False)):
        net = Net()
        net.output(net.op("relax.pad", [net.input(shape)], pads=[0, 3, 3, 0, 3, 3], mode="reflect"))
        text = str(net.lowered("bufferized").operation)
        assert ("memref.copy" in text) == whole and "memref.alloc(" not in text


TABLES = (np.repeat(np.arange(20), 2), np.repeat(np.arange(37), 3), np.repeat(np.arange(7), 2), np.arange(0, 64, 2), np.arange(90) * 2 // 3,
          np.arange(33)[::-1], np.arange(-40, 0), np.arange(64) ^ 5, np.repeat(np.arange(300), 2), np.arange(100) * 3, np.array([3, 0, 99]))


@pytest.mark.parametrize("target", [*first_of(TARGETS.values()), "llvm{threads=2}"])
def test_known_places_along_rows(target):
    """Vectors that are shuffled: in loops, and one by one; of short rows, of places from the end, and of such that are too far apart."""
    net, arrays, right = Net(target), [], []
    for number, table in enumerate(TABLES):
        size = 2 * int(np.abs(table).max()) if table.min() < 0 else int(table.max()) + 1 + number % 2
        other = ("i8", "f64", "f16")[number % 3]
        for shape, sizes, dtype in (((9, 61, size), (9, 61, size), "f32"), ((3, 2, size), ("n", 2, size), other)):
            arrays.append(values(shape, dtype))
            right.append(arrays[-1][..., table])
            net.output(net.op("relax.take", [net.input(sizes, dtype), net.weight(table.astype(np.int64))], axis=-1))
    for number, (found, expected) in enumerate(zip(net.run(*arrays), right, strict=True)):
        assert np.array_equal(found, expected), (TABLES[number // 2], expected.dtype)
    assert str(net.lowered("scheduled")).count("vector.shuffle") > len(TABLES)


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_elements_several_times(target):
    net, cases = Net(target), ((2, "f32"), (3, "f32"), (2, "i16"))
    for count, dtype in cases:
        repeated = net.op("relax.broadcast_to", [net.input(("n", "m", 1), dtype)], shape=["n", "m", count])
        net.output(net.op("relax.reshape", [repeated], shape=["n", f"m * {count}"]))
    assert str(net.lowered("scheduled")).count("vector.shuffle") >= 5
    for shape in ((3, 40, 1), (2, 16, 1), (5, 7, 1), (1, 0, 1), (0, 4, 1)):
        given = [values(shape, dtype) for _, dtype in cases]
        for (count, _), x, found in zip(cases, given, net.run(*given), strict=True):
            assert np.array_equal(found, np.repeat(x[..., 0], count, axis=1)), (shape, count)


@pytest.mark.parametrize("target", [*TARGETS.values(), "llvm{threads=2}"], ids=[*TARGETS, "two threads"])
def test_rows_and_elements_several_times(target):
    """Of known and of free sizes: rows of whole vectors, of overlapping ones, and of parts of one; a single row, along no axis."""
    def repeat(net: Net, c: int | str, h: int | str, w: int | str, rows: int, count: int, dtype: str) -> None:
        spread = net.op("relax.reshape", [net.input((c, h, w), dtype)], shape=[c, h, 1, w, 1])
        spread = net.op("relax.broadcast_to", [spread], shape=[c, h, rows, w, count])
        whole = [c, f"{h} * {rows}", f"{w} * {count}"] if free else [c, h * rows, w * count]
        net.output(net.op("relax.reshape", [spread], shape=whole))

    cases = (((2, 3, 40), 2, 2, "f32"), ((3, 2, 19), 3, 4, "f64"), ((1, 4, 7), 2, 3, "i16"), ((70, 9, 33), 2, 2, "i32"))
    for free in (False, True):
        net = Net(target)
        for number, (shape, rows, count, dtype) in enumerate(cases):
            c, h, w = [f"{name}{number}" for name in "chw"] if free else shape
            repeat(net, c, h, w, rows, count, dtype)
        row = net.op("relax.broadcast_to", [net.input(("m" if free else 21, 1))], shape=["m" if free else 21, 2])
        net.output(net.op("relax.reshape", [row], shape=["m * 2" if free else 42]))
        lines = [values((21, 1)), *(values((size, 1)) for size in (3, 16, 0) if free)]
        for line, less in zip(lines, (0, 14, 16, 19)):
            arrays = [values((*shape[:-1], max(shape[-1] - less, 0)), dtype) for shape, _, _, dtype in cases]
            *found, single_row = net.run(*arrays, line)
            assert np.array_equal(single_row, np.repeat(line, 2))
            for (shape, rows, count, _), x, one in zip(cases, arrays, found, strict=True):
                assert np.array_equal(one, x.repeat(rows, 1).repeat(count, 2)), (shape, less, free)
        assert str(net.lowered("scheduled")).count("vector.shuffle") > 10
