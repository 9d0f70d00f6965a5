"""legato.from_torch: sizes that only a call knows, as numbers beside tensors and as sizes of windows, against PyTorch itself."""
import math

import pytest
from torch_functions import module_of

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
functional = torch.nn.functional
AUTO = torch.export.Dim.AUTO


def executable(function, *args):
    """Compiled for any sizes of all arguments."""
    dynamic = (tuple(dict.fromkeys(range(x.dim()), AUTO) for x in args),)
    return legato.compile(legato.from_torch(module_of(function), args, dynamic_shapes=dynamic))


BESIDE = {
    "remainder": lambda x, i: i % x.shape[1], "power": lambda x, i: (x ** x.shape[1], i ** x.shape[0]), "and": lambda x, i: i & x.shape[1],
    "or": lambda x, i: i | x.shape[1], "xor": lambda x, i: i ^ x.shape[1], "place": lambda x, i: torch.gather(x, 1, i[:, :1] % x.shape[1]),
    "fraction": lambda x, i: (x.abs() ** (x.shape[1] * 0.1), i.abs() ** (x.shape[1] * 0.1), i * (x.shape[1] * 0.1), i - x.shape[1] * 0.1,
                              i // (x.shape[1] * 0.1)),
    "rounded": lambda x, i: (i * round(x.shape[1] * 0.3), x * round(x.shape[1] * 0.31, 1), torch.zeros(round(x.shape[1] * 0.5))),
    "root": lambda x, i: (x * torch.sym_sqrt(x.shape[1]), i * torch.sym_sqrt(x.shape[0] * 0.7)),
    "attention": lambda x, i: functional.scaled_dot_product_attention(x[None], x[None] + 1, x[None]),
    "bounds": lambda x, i: (x.clamp(0.5, x.shape[1] - 5), i.clamp(1, x.shape[1] - 5), i.clamp(max=x.shape[1] - 5)),
}


@pytest.mark.parametrize("name", BESIDE)
def test_sizes_beside_tensors(name):
    given = [(torch.randn(rows, columns), torch.randint(-40, 40, (rows, 5))) for rows, columns in ((3, 7), (5, 6), (2, 9))]
    exe = executable(BESIDE[name], *given[0])
    for args in given:
        wanted = BESIDE[name](*args)
        found = exe(*args)
        for ours, theirs in zip(*[one if isinstance(one, tuple) else (one,) for one in (found, wanted)], strict=True):
            torch.testing.assert_close(torch.as_tensor(ours), theirs)


def test_statistics_of_batches_of_any_size():
    def function(x):
        mean, variance = x[0, :, 0] * 0, x[0, :, 1] * 0
        return functional.batch_norm(x, mean, variance, training=True), mean, variance

    exe = executable(function, torch.randn(2, 3, 7))
    for shape in ((2, 3, 7), (4, 5, 6)):
        x = torch.randn(shape)
        for ours, theirs in zip(exe(x), function(x), strict=True):
            torch.testing.assert_close(ours, theirs)


FRACTIONS = {     # of sizes: 100 * 0.57 is less than 57, and 57 as a float of 32 bits
    "floor": lambda x: torch.zeros(math.floor(x.shape[2] * 0.57)), "ceil": lambda x: torch.zeros(math.ceil(x.shape[2] * 0.07)),
    "nearest": lambda x: functional.interpolate(x, scale_factor=0.57),
    "linear": lambda x: functional.interpolate(x, scale_factor=0.57, mode="linear"),
    "beside": lambda x: (x * (x.shape[2] * 0.1), x.half() * (x.shape[2] * 0.1), x.shape[2] * 0.1 - x, torch.full((3,), x.shape[2] * 0.3)),
    "where": lambda x: (torch.where(x > x.shape[2] * 0.001, x, x.shape[2] * 0.3), x.clamp(max=x.shape[2] * 0.01), x * x.shape[2] ** -0.5),
    "doubles": lambda x: (x.double() * (x.shape[2] * 0.1), x.double() / ((x.shape[2] * 0.1 + 1) / (x.shape[2] - 0.5))),
    "itself": lambda x: (x.shape[2] * 0.1, x), "element": lambda x: x * (x[0, 0, 0].item() * 0.7 + x.shape[2] * 0.1),
}


@pytest.mark.parametrize("name", FRACTIONS)
def test_numbers_computed_from_sizes(name):
    exe = executable(FRACTIONS[name], torch.randn(1, 2, 20))
    for columns in (20, 100, 200, 28):
        x = torch.randn(1, 2, columns)
        found, wanted = exe(x), FRACTIONS[name](x)
        for ours, theirs in zip(*[one if isinstance(one, tuple) else (one,) for one in (found, wanted)], strict=True):
            exactly = {"rtol": 1e-14, "atol": 1e-14} if torch.as_tensor(theirs).dtype == torch.float64 else {}
            torch.testing.assert_close(torch.as_tensor(ours), torch.as_tensor(theirs), **exactly)


SHIFTS = {
    "tensors": lambda i: (i << i.shape[1], i >> i.shape[1], i.int() << i.shape[1], i.to(torch.int8) >> i.shape[0]),
    "bytes": lambda i: (i.to(torch.uint8) << i.shape[0], i.to(torch.uint8) >> i.shape[0]),
    "sizes": lambda i: (i + (i.shape[1] << 2), torch.zeros(i.shape[1] >> 1), i[:, : i.shape[1] >> 1]),
    "masks": lambda i: (torch.zeros(i.shape[1] + 7 & ~7), i + (i.shape[1] & 3), i * (3 & i.shape[0])),
}


@pytest.mark.parametrize("name", SHIFTS)
def test_shifts_of_and_by_sizes(name):
    exe = executable(SHIFTS[name], torch.randint(-50, 50, (3, 7)))
    for shape in ((3, 7), (5, 6), (2, 33), (7, 70)):
        args = torch.randint(-50, 50, shape)
        for ours, theirs in zip(exe(args), SHIFTS[name](args), strict=True):
            torch.testing.assert_close(torch.as_tensor(ours), theirs, rtol=0, atol=0)


def test_shifts_of_numbers_by_sizes():
    def function(i):
        rows, columns = i.shape
        return i + (1 << columns), i * (rows << columns), i + (999 >> columns), torch.zeros(1 << rows), i[:, : 8 >> rows]

    exe = executable(function, torch.randint(-50, 50, (3, 7)))
    for shape in ((3, 7), (5, 6), (2, 1), (1, 62)):
        args = torch.randint(-50, 50, shape)
        for ours, theirs in zip(exe(args), function(args), strict=True):
            torch.testing.assert_close(torch.as_tensor(ours), theirs, rtol=0, atol=0)


def test_operators_of_sizes_that_are_refused():
    with pytest.raises(legato.LegatoError, match="masks of a power of two"):
        executable(lambda i: i + (i.shape[1] & 5), torch.randint(9, (3, 7)))
    with pytest.raises(legato.LegatoError, match=r"only known numbers for 'elu' \(aten.elu.default\), and mul\w* is computed from sizes"):
        executable(lambda x: functional.elu(x, x.shape[1] * 0.1), torch.randn(3, 7))
    with pytest.raises(legato.LegatoError, match=r"linalg_inv_ex.default\), and Legato's does not cover it for float32\[\w+, \w+, \w+\]"):
        executable(torch.linalg.inv, torch.eye(5).expand(2, 5, 5))


def test_parts_of_an_axis_that_a_slice_fixes():
    def function(x):
        first, _, last = x[..., -3:].unbind(-1)
        return first.unfold(1, 2, 1), last.transpose(0, 1)

    exe = executable(function, torch.randn(2, 5, 7))
    for shape in ((2, 5, 7), (4, 3, 3), (1, 2, 9)):
        x = torch.randn(shape)
        for ours, theirs in zip(exe(x), function(x), strict=True):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("columns", [7, 12, 3, 2])
def test_places_from_the_end_that_are_fractions_of_an_axis(columns):
    def function(x):
        return x[:, -(x.shape[1] // 2):], x[:, :-(x.shape[1] // 2)] * 2, x[:, -(x.shape[1] // 3) - 1:].sum(1)

    exe = executable(function, torch.randn(2, 9))
    x = torch.randn(4, columns)
    for ours, theirs in zip(exe(x), function(x), strict=True):
        torch.testing.assert_close(ours, theirs)


POOLS = {
    "two": lambda x: functional.adaptive_avg_pool2d(x, (2, 3)), "one_axis": lambda x: functional.adaptive_avg_pool1d(x[:, :, 0], 4),
    "seven": lambda x: functional.adaptive_avg_pool2d(x, 7), "unequal": lambda x: functional.adaptive_avg_pool2d(x, (1, 5)),
    "max": lambda x: functional.adaptive_max_pool2d(x, (2, 3)),
}


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (2, 3, 4, 6)], ids=str)
@pytest.mark.parametrize("name", POOLS)
def test_windows_of_any_image(name, shape):
    """Those of the example may all have one size, or not: the image of a call is another."""
    exe = executable(POOLS[name], torch.randn(shape))
    for sizes in ((2, 3, 5, 7), (2, 3, 4, 6), (1, 3, 9, 2), (3, 3, 2, 8), (1, 3, 14, 21)):
        x = torch.randn(sizes)
        torch.testing.assert_close(exe(x), POOLS[name](x), rtol=1e-5, atol=1e-5)


NUMBERS = {
    "half": (lambda x, y: functional.interpolate(x, scale_factor=0.5, mode="area")),
    "as_many": (lambda x, y: functional.interpolate(x, size=y.shape[2:], mode="area")),
    "volume": (lambda x, y: functional.adaptive_avg_pool3d(x[:, :, None].expand(-1, -1, 5, -1, -1), (2, *y.shape[2:]))),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_windows_of_any_number(name):
    """Those of the example are of one size, since their number divides the image's; a call has others."""
    exe = executable(NUMBERS[name], torch.randn(2, 3, 8, 12), torch.randn(2, 3, 4, 6))
    for sizes in ((8, 12, 4, 6), (7, 9, 5, 2), (5, 14, 9, 7), (2, 3, 1, 1)):
        x, y = torch.randn(2, 3, *sizes[:2]), torch.randn(2, 3, *sizes[2:])
        torch.testing.assert_close(exe(x, y), NUMBERS[name](x, y), rtol=1e-5, atol=1e-5)


REPEATED = {
    "rows": lambda x, y: x.repeat_interleave(y.shape[0] // 2, 0), "axes": lambda x, y: x.repeat_interleave(y.shape[0], -2),
    "last": lambda x, y: x.repeat_interleave(y.shape[0], -1), "all": lambda x, y: x.repeat_interleave(y.shape[0]),
}


@pytest.mark.parametrize("name", REPEATED)
def test_elements_repeated_by_a_size(name):
    """The number of rows that a call has may be that of the example, for which another axis would be repeated without an error."""
    exe = executable(REPEATED[name], torch.randn(2, 3, 4), torch.randn(4))
    for args in (torch.randn(2, 3, 4), torch.randn(4)), (torch.randn(3, 5, 4), torch.randn(7)):
        torch.testing.assert_close(torch.as_tensor(exe(*args)), REPEATED[name](*args), rtol=0, atol=0)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_any_number_of_heads(causal):
    def function(q, k, v):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)

    def given(heads, groups):
        return [torch.randn(2, count, 5, 8) for count in (heads, groups, groups)]

    dynamic = (tuple({1: AUTO} for _ in range(3)),)
    exe = legato.compile(legato.from_torch(module_of(function), tuple(given(4, 2)), dynamic_shapes=dynamic))
    for args in (given(4, 2), given(6, 3), given(8, 2), given(4, 1)):
        torch.testing.assert_close(torch.as_tensor(exe(*args)), function(*args), rtol=1e-5, atol=1e-5)
