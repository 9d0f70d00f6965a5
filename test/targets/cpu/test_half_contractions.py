"""Contractions and convolutions of f16 and bf16 against numpy: added up in f32, rounded once. All cases of a test are one model."""
import ml_dtypes
import numpy as np
import pytest
from harness import DTYPES, Net
from numpy.lib.stride_tricks import sliding_window_view
from thoroughly import first_of, thorough

from legato.core import cpu
from legato.core.ir_helpers import find
from legato.dialects import relax
from legato.targets.cpu.machine import LEVELS

CPUS = [level for level in LEVELS if not cpu.missing_features(level, "")]
SPACING = {"f16": 2.0**-11, "bf16": 2.0**-8}     # half of the distance between neighbours, relative
RNG = np.random.default_rng(11)


class HalfCases:
    """A model with an output for each case: ``add(arrays, build, expected)``, where ``expected`` is in f64."""

    def __init__(self, cpu_name, element):
        self.net, self.element = Net(f"llvm{{cpu={cpu_name}}}", first=None), element
        self.arrays, self.expected = [], []

    def numbers(self, *shape):
        return RNG.standard_normal(shape).astype(DTYPES[self.element])

    def add(self, arrays, build, expected, shapes=None):
        values = [self.net.input(shape, self.element) for shape in shapes or [a.shape for a in arrays]]
        with self.net.building():
            self.net.output(build(*values))
        self.arrays += arrays
        self.expected.append(expected)

    def check(self):
        for found, expected in zip(self.net.run(*self.arrays), self.expected, strict=True):
            assert found.dtype == DTYPES[self.element] and found.shape == expected.shape
            bound = SPACING[self.element] * np.abs(expected) * 1.01 + 1e-5 * np.abs(expected).max()
            np.testing.assert_array_less(np.abs(found.astype(np.float64) - expected), bound + 1e-30)


def wide(*arrays):
    return [a.astype(np.float64) for a in arrays]


@pytest.mark.parametrize("element", SPACING)
@pytest.mark.parametrize("cpu_name", first_of(CPUS[::-1]))
def test_matmuls(cpu_name, element):
    cases = HalfCases(cpu_name, element)
    for rows, depth, columns in ((24, 33, 64), (5, 64, 48), (1, 100, 64), (7, 31, 40), (17, 8, 255), (3, 16, 9), (33, 1, 32), (2, 40, 1),
                                 (16, 2, 33), (31, 128, 31)):
        x, w = cases.numbers(rows, depth), cases.numbers(depth, columns)
        cases.add([x], lambda v, w=w: relax.matmul(v, cases.net.weight(w)), np.matmul(*wide(x, w)))
        cases.add([x, w], relax.matmul, np.matmul(*wide(x, w)))
    x, w = cases.numbers(3, 9, 32), cases.numbers(3, 32, 48)
    cases.add([x, w], relax.matmul, np.matmul(*wide(x, w)))
    x, w = cases.numbers(9, 32), cases.numbers(50, 32)
    cases.add([x, w], lambda a, b: relax.matmul(a, relax.permute_dims(b, [1, 0])), np.matmul(*wide(x, w.T)))
    cases.add([x], lambda a: relax.matmul(a, relax.permute_dims(cases.net.weight(w), [1, 0])), np.matmul(*wide(x, w.T)))
    cases.check()


@pytest.mark.parametrize("element", SPACING)
@pytest.mark.parametrize("rows", [7, *thorough([0, 1, 40])])
def test_symbolic_rows(rows, element):
    cases = HalfCases(CPUS[-1], element)
    for depth, columns in ((64, 96), (33, 40), (5, 7)):
        x, w, b = cases.numbers(rows, depth), cases.numbers(depth, columns), cases.numbers(columns)
        y = np.matmul(*wide(x, w)).astype(DTYPES[element])      # rounded before the bias is added, as the graph says
        cases.add([x], lambda v, w=w, b=b: relax.add(relax.matmul(v, cases.net.weight(w)), cases.net.weight(b)), y.astype(np.float64) + b,
                  [("n", depth)])
    found = cases.net.run(*cases.arrays)
    for got, expected in zip(found, cases.expected, strict=True):
        np.testing.assert_allclose(got.astype(np.float64), expected, rtol=4 * SPACING[element], atol=8 * SPACING[element])


@pytest.mark.parametrize("element", first_of(SPACING))
@pytest.mark.parametrize("cpu_name", first_of(CPUS[::-1]))
def test_convolutions(cpu_name, element):
    cases = HalfCases(cpu_name, element)
    table = ((9, 16, 32, 3, 1, 1), (8, 3, 40, 3, 2, 1), (7, 16, 64, 1, 1, 0), (11, 5, 33, 5, 2, 2), (6, 8, 16, 3, 1, 0))
    for size, channels, filters, kernel, stride, pad in table:
        x, w = cases.numbers(2, size, size, channels), cases.numbers(kernel, kernel, channels, filters)
        padded = np.pad(x.astype(np.float64), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
        windows = sliding_window_view(padded, (kernel, kernel), (1, 2))[:, ::stride, ::stride]
        expected = np.einsum("nhwcij,ijcf->nhwf", windows, w.astype(np.float64))

        def build(v, w=w, stride=stride, pad=pad):
            return relax.conv2d(v, cases.net.weight(w), strides=[stride] * 2, padding=[pad] * 4, dilations=[1, 1], groups=1,
                                data_layout="NHWC", kernel_layout="HWIO")

        cases.add([x], build, expected)
    cases.check()


def convolved(x, w, stride, groups):
    """A convolution in f64, channels first, with one zero around the image."""
    rank = x.ndim - 2
    padded = np.pad(x, [(0, 0), (0, 0), *[(1, 1)] * rank])
    steps = (..., *[slice(None, None, stride)] * rank, *[slice(None)] * rank)
    windows = sliding_window_view(padded, w.shape[2:], tuple(range(2, 2 + rank)))[steps]
    taps = list(range(2 + rank, 2 + 2 * rank))
    parts = [np.tensordot(image, filters, ([1, *taps], [1, *range(2, 2 + rank)]))
             for image, filters in zip(np.split(windows, groups, 1), np.split(w, groups), strict=True)]
    return np.moveaxis(np.concatenate(parts, -1), -1, 1)


@pytest.mark.parametrize("element", first_of(SPACING))
@pytest.mark.parametrize("cpu_name", first_of(CPUS[::-1]))
def test_convolutions_of_groups_and_few_features(cpu_name, element):
    cases = HalfCases(cpu_name, element)
    for rank, size, channels, filters, groups, kernel, stride in ((2, 6, 12, 6, 3, 3, 1), (2, 9, 5, 5, 5, 3, 2), (1, 33, 24, 3, 1, 5, 1),
                                                                  (3, 5, 6, 16, 2, 3, 2), (3, 4, 3, 17, 1, 3, 1), (1, 21, 64, 20, 1, 3, 1)):
        x, w = cases.numbers(2, channels, *[size] * rank), cases.numbers(filters, channels // groups, *[kernel] * rank)
        attrs = {"strides": [stride] * rank, "padding": [1] * 2 * rank, "groups": groups}
        cases.add([x], lambda v, w=w, a=attrs, r=rank: relax.OPS[f"conv{r}d"].build(v, cases.net.weight(w), **a),
                  convolved(x.astype(np.float64), w.astype(np.float64), stride, groups))
    cases.check()


@pytest.mark.parametrize("element", SPACING)
def test_special_values(element):
    """Infinities, NaN, denormals and the largest numbers, each in a row of its own."""
    dtype = DTYPES[element]
    info = ml_dtypes.finfo(dtype)
    x = np.ones((6, 40), dtype)
    for row, value in enumerate((np.inf, -np.inf, np.nan, info.max, info.smallest_subnormal, -0.0)):
        x[row, 3] = value
    w = np.ones((40, 64), dtype)
    w[3, 5], w[3, 6] = 0, -1
    cases = HalfCases(CPUS[-1], element)
    cases.add([x], lambda v: relax.matmul(v, cases.net.weight(w)), None)
    with np.errstate(invalid="ignore", over="ignore"):
        expected = (x.astype(np.float32) @ w.astype(np.float32)).astype(dtype)
    np.testing.assert_array_equal(cases.net.run(x)[0].astype(np.float32), expected.astype(np.float32))


@pytest.mark.parametrize("element", SPACING)
def test_what_is_widened(element):
    """The single elements are widened once, before the loops; vectors of the weight are read as they are."""
    cases = HalfCases(CPUS[-1], element)
    w = cases.numbers(64, 96)
    cases.add([cases.numbers(8, 64)], lambda v: relax.matmul(v, cases.net.weight(w)), None)
    fused, scheduled = cases.net.lowered("fused"), cases.net.lowered("scheduled")
    product = find(fused.operation, "linalg.matmul")
    assert [str(v.type.element_type) for v in product[0].operands] == ["f32", element, "f32"]
    contracts = find(scheduled.operation, "vector.contract")
    assert contracts and all(len(v.type.shape) == 2 for op in contracts for v in op.operands)
