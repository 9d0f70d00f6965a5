"""argmax and argmin along rows around vectors: ties across lanes, NaNs, infinities and the ends of integers, against numpy."""
import numpy as np
import pytest
from harness import NAMES, TARGETS, Net
from thoroughly import first_of, sampled

RNG = np.random.default_rng(23)
TYPES = (np.float32, np.int32, np.uint32)
SIZES = (3, 4, 5, 7, 8, 14, 21, 31, 32, 33, 63, 64, 65, 100, 128, 1000)


def rows(size: int, dtype: type, kind: str) -> np.ndarray:
    """Six rows of few numbers that are often equal; ``ends``: of the type's least and greatest; ``special``: with NaNs and infinities."""
    if np.issubdtype(dtype, np.integer):
        ends = [np.iinfo(dtype).min, np.iinfo(dtype).max]
        return np.array([RNG.choice(ends[:1 + n % 2] if n < 2 else [*ends, 1, 2], size) for n in range(6)]).astype(dtype)
    x = RNG.integers(-3, 4, (6, size)).astype(dtype)
    if kind == "special":
        x[0], x[1] = -np.inf, np.inf
        x[2:] = np.where(RNG.random((4, size)) < 0.1, RNG.choice([np.inf, -np.inf, 0.0, -0.0], (4, size)), x[2:])
        for row, places in ((3, [size - 1]), (4, [size // 2, size // 3]), (5, [0, size - 2])):
            x[row, places] = np.nan
    return x


def right(op: str, x: np.ndarray, last: bool) -> np.ndarray:
    found = getattr(np, op)
    return x.shape[1] - 1 - found(x[:, ::-1], 1) if last else found(x, 1)


@pytest.mark.parametrize("target", first_of(TARGETS))
@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_rows(target, op):
    net, arrays, expected = Net(TARGETS[target], first=None), [], []
    for size in SIZES:
        for dtype in TYPES:
            for kind in ("few", "special") if dtype is np.float32 else ("ends",):
                for last in (False, True):
                    x = rows(size, dtype, kind)
                    value = net.input(x.shape, NAMES[x.dtype])
                    net.output(net.op(f"relax.{op}", [value], axis=1, select_last=last, keepdims=size % 2 == 0))
                    arrays.append(x)
                    expected.append((right(op, x, last), f"{op} {size} {dtype.__name__} {kind} last={last}"))
    for (wanted, what), found in zip(expected, net.run(*arrays), strict=True):
        np.testing.assert_array_equal(np.reshape(found, -1), wanted, err_msg=what)


@pytest.mark.parametrize("target", first_of(TARGETS))
def test_short_rows_of_any_length(target):
    net = Net(TARGETS[target], first=None)
    cases = [(op, dtype, last) for dtype in TYPES for op, last in (("argmax", False), ("argmin", True))]
    for op, dtype, last in cases:
        net.output(net.op(f"relax.{op}", [net.input(("n", "m"), NAMES[np.dtype(dtype)])], axis=1, select_last=last, keepdims=last))
    assert "vector.gather" in str(net.lowered("scheduled"))
    for size, times in ((1, 1), (3, 1), (8, 4), (31, 3), (32, 1), (75, 2), (9, 0)):
        given = [np.tile(rows(size, dtype, "special" if size > 2 else "few"), (times, 1)) for _, dtype, _ in cases]
        for (op, dtype, last), x, found in zip(cases, given, net.run(*given), strict=True):
            np.testing.assert_array_equal(np.reshape(found, -1), right(op, x, last), err_msg=f"{op} {size} {dtype.__name__} {last}")


@pytest.mark.parametrize("op", first_of(["argmax", "argmin"]))
def test_many_short_rows(op):
    """They are turned, so that vectors go across rows."""
    net, arrays, expected = Net("llvm{cpu=x86-64-v3}", first=None), [], []
    for size in (4, 5, 7):
        for dtype in TYPES:
            for last in (False, True):
                x = np.tile(rows(size, dtype, "special"), (17, 1))
                net.output(net.op(f"relax.{op}", [net.input(x.shape, NAMES[x.dtype])], axis=-1, select_last=last, keepdims=last))
                arrays.append(x)
                expected.append((right(op, x, last), f"{size} {dtype.__name__} last={last}"))
    assert "permute_dims" in str(net.lowered("relax").operation)
    for (wanted, what), found in zip(expected, net.run(*arrays), strict=True):
        np.testing.assert_array_equal(np.reshape(found, -1), wanted, err_msg=what)


@pytest.mark.parametrize("place", sampled(range(0, 70, 3), 3))
def test_every_lane_can_have_the_best(place):
    net = Net("llvm", first=None)
    x = np.zeros((2, 70), np.float32)
    x[0, place], x[1, place] = 1, -1
    for op in ("argmax", "argmin"):
        net.output(net.op(f"relax.{op}", [net.input(x.shape, "f32")], axis=-1))
    largest, least = net.run(x, x)
    assert largest[0] == place and least[1] == place and largest[1] == (place == 0) and least[0] == (place == 0)


def test_rows_in_several_dimensions_and_of_a_number_that_the_call_knows():
    net = Net("llvm", first=None)
    x = RNG.standard_normal((3, 4, 90)).astype(np.float32)
    net.output(net.op("relax.argmax", [net.input(("n", 4, 90), "f32")], axis=-1),
               net.op("relax.argmin", [net.input((3, 4, 90), "f32")], axis=2))
    largest, least = net.run(x, x)
    np.testing.assert_array_equal(largest, np.argmax(x, 2))
    np.testing.assert_array_equal(least, np.argmin(x, 2))


@pytest.mark.parametrize("target", first_of(TARGETS))
@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_rows_of_a_length_that_the_call_knows(target, op):
    """One executable for all lengths: from one element on, also of fewer than a vector has lanes."""
    cases = [(dtype, last) for dtype in TYPES for last in (False, True)]
    net = Net(TARGETS[target], first=None)
    for number, (dtype, last) in enumerate(cases):
        net.output(net.op(f"relax.{op}", [net.input((6, f"n{number}"), NAMES[np.dtype(dtype)])], axis=1, select_last=last))
    executable = net.executable
    for size in (*SIZES, 15, 17, 127, 129):
        arrays = [rows(size, dtype, "special") for dtype, _ in cases]
        for (dtype, last), x, found in zip(cases, arrays, executable(*arrays), strict=True):
            np.testing.assert_array_equal(np.asarray(found), right(op, x, last), err_msg=f"{op} {size} {dtype.__name__} last={last}")
    assert "vector<" in str(net.lowered("scheduled").operation)


def test_threads_share_the_rows():
    net, x = Net("llvm{threads=3}", first=None), RNG.integers(-9, 9, (2, 37, 900)).astype(np.float32)
    cases = [(op, keepdims) for op in ("argmax", "argmin") for keepdims in (False, True)]
    for op, keepdims in cases:
        net.output(net.op(f"relax.{op}", [net.input(x.shape, "f32")], axis=-1, select_last=keepdims, keepdims=keepdims))
    assert str(net.lowered("scheduled")).count("scf.forall (") == len(cases)
    for (op, keepdims), found in zip(cases, net.run(*[x] * len(cases)), strict=True):
        assert found.shape == ((2, 37, 1) if keepdims else (2, 37))
        np.testing.assert_array_equal(np.reshape(found, -1), right(op, x.reshape(-1, 900), keepdims), err_msg=op)
    one = Net("llvm{threads=3}", first=None)
    one.output(one.op("relax.argmax", [one.input((70000,), "f32")], axis=0))
    assert one.run(np.arange(70000, dtype=np.float32))[0] == 69999
