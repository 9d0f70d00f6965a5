"""Ops that torch's exporter lacks or takes for others, by torch.compile and by from_torch, against PyTorch itself: over NaN, infinities,
signed zeros, and sizes that only a call knows."""
import pytest
from torch_functions import module_of

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.usefixtures("fresh_torch")
functional = torch.nn.functional
nan, inf = float("nan"), float("inf")


def numbers(*shape):
    """Random numbers, of which some are special."""
    made = torch.randn(shape) * 3
    for place, value in enumerate((nan, inf, -inf, -0.0, 0.0, 1e-30)):
        made.view(-1)[(place * 7 + 3) % made.numel()] = value
    return made


def finite(*shape):
    return torch.randn(shape) * 3


def pairs(x):
    """Two operands in which each special number meets each other one."""
    special = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.1, 3.0, -2.5, 1e9, 1e-3])
    a, b = torch.cartesian_prod(special, special).T
    return torch.cat([a, x[0].reshape(-1)]), torch.cat([b, x[1].reshape(-1)])


def of_pairs(function):
    return lambda *x: function(*pairs(x))


ROWS = torch.arange(12.0)
VOLUME = torch.linspace(-1.33, 1.27, 90).reshape(1, 2, 3, 5, 3)
ELEMENTWISE = {
    "fmax": of_pairs(torch.fmax), "fmin": of_pairs(torch.fmin), "hypot": of_pairs(torch.hypot), "atan2": of_pairs(torch.atan2),
    "floor_divide": of_pairs(torch.floor_divide), "div_floor": of_pairs(lambda a, b: torch.div(a, b, rounding_mode="floor")),
    "remainder": of_pairs(torch.remainder), "remainder_number": lambda x, y: torch.remainder(x, -0.7) + (x // 0.1),
    "remainder_of_number": lambda x, y: torch.remainder(2.5, x), "heaviside": of_pairs(torch.heaviside),
    "copysign": lambda x, y: torch.copysign(x, torch.where(y.isnan(), 1.0, y)), "copysign_number": lambda x, y: torch.copysign(x, -0.0),
    "clamp_of_two_kinds": lambda x, y: (x.clamp(-1, 0.75), y.clamp(-0.5, 1), (y.nan_to_num(0, 9, -9) * 3).int().clamp(-2, 1.5)),
    "signbit": lambda x, y: torch.signbit(torch.where(x.isnan(), 1.0, x)), "frexp": lambda x, y: torch.frexp(x * y),
}
ALONG_AN_AXIS = {
    "logcumsumexp": lambda x: torch.logcumsumexp(torch.where(x > 0, x * 90, x), 1),
    "scatter_reduce": lambda x: x.scatter_reduce(1, torch.tensor([[0, 2, 0]] * 4), torch.full((4, 3), inf), "amin", include_self=False),
    "scatter_of_more": lambda x: x.scatter(1, torch.tensor([[3, 1]]), x) + x.scatter_add(0, torch.tensor([[2], [0]]), x),
    "cumprod": lambda x: torch.cumprod(x, 1), "cummax": lambda x: torch.cummax(x, 0), "cummin": lambda x: torch.cummin(x, -1),
    "cummax_integers": lambda x: torch.cummax(x.nan_to_num(0, 9, -9).to(torch.int32), 1),
    "median": lambda x: torch.median(x, 1), "median_of_all": torch.median, "nanmedian": lambda x: torch.nanmedian(x, 0),
    "kthvalue": lambda x: torch.kthvalue(x.nan_to_num(7, 8, 9) + torch.linspace(0, 1, x.shape[1]), 3).values,
    "diagonal": lambda x: x.diagonal(1), "diag": lambda x: torch.diag(x, -1), "trace": lambda x: torch.trace(x[:, 1:4]),
    "amax_of_all": torch.amax, "aminmax": torch.aminmax, "norm_of_number": lambda x: torch.linalg.vector_norm(x.sum()),
    "norms_of_all_that_keep_axes": lambda x: [torch.linalg.vector_norm(x.nan_to_num(1, 2, 3), n, keepdim=True) for n in (2, 0, 3, inf)],
    "sort_of_number": lambda x: torch.sort(x.sum()), "topk_of_number": lambda x: torch.topk(x.sum(), 1),
    "index_reduce": lambda x: x.index_reduce(1, torch.tensor([2, 0, 2]), x[:, :3].clone(), "mean"),
    "put": lambda x: x.put(torch.tensor([1, -2, 1]), x.reshape(-1)[:3].clone(), accumulate=True),
    "covariances": lambda x: (torch.cov(x), torch.cov(x.nan_to_num(1, 2, 3)), torch.cov(x[1]), torch.cov(x[:1], correction=0),
                              torch.cov(x.nan_to_num(1, 2, 3).long()), torch.cov(x[:, :1]), torch.corrcoef(x.nan_to_num(1, 2, 3)),
                              torch.corrcoef(x[0].nan_to_num())),
    "weighted_covariances": lambda x: tuple(
        torch.cov(x.nan_to_num(1, 2, 3), correction=n, fweights=often, aweights=weights) for n in (0, 1, 9)
        for often in (None, torch.tensor([1, 2, 0, 3, 1, 1])) for weights in (None, torch.linspace(0, 1, 6))),
    "take_a_number": lambda x: torch.take(x, torch.tensor(-2)) + torch.take(x, torch.tensor(1)),
    "view_behind_diagonal_scatter": lambda x: torch.diagonal_scatter(x[:, :4, None] * torch.ones(5), x[:4, :1].expand(4, 5).T * 2).view(-1)
    if x.shape[0] == 5 else x + 1,
    "diagonal_scatter": lambda x: torch.diagonal_scatter(x, x[0, :4].clone(), -1) if x.shape[0] == 5 else x + 1,
}
LARGE = torch.tensor([100_000_001, -16_777_217, 2**31 - 1, 2**30 + 1])     # which 24 bits do not hold
BYTES = torch.arange(250, 256, dtype=torch.uint8)
TYPES = {
    "any_of_nothing": lambda x: (x[:, :0].any(), x[:, :0].any(1), (x[:, :0] > 0).any(1, keepdim=True), (x > 0).any(), x.any((0, 1))),
    "nonzero_static": lambda x: (torch.nonzero_static(x > 0, size=9), torch.nonzero_static(x > 2, size=3, fill_value=5),
                                 torch.nonzero_static(x[:, :, None] < 1, size=200), torch.nonzero_static(x[:, :0], size=2)),
    "infinite_doubles": lambda x: tuple(of(x.double() * 1e308) for of in (torch.isinf, torch.isposinf, torch.isneginf, torch.isfinite))
    + (torch.nan_to_num(x.clamp(-4, 4).double() * 4e307), torch.nan_to_num(x.double() * 1e308, 1, 2, 3)),
    "decimals_of_halves": lambda x: tuple(
        (x.to(half) * 300).round(decimals=n) for half in (torch.float16, torch.bfloat16) for n in (2, -1)),
    "finite_integers": lambda x: (torch.isfinite(LARGE), torch.isfinite(BYTES), torch.isfinite(x > 0), torch.isfinite(x)),
    "angles_of_integers": lambda x: (torch.angle(LARGE), torch.angle(LARGE.int()), torch.angle(BYTES), torch.angle(x > 0), x + 1),
    "squeeze_of_no_axes": lambda x: (torch.squeeze(x[:1], ()), torch.squeeze(x[:1], ()) + 1),
    "nonzero_of_numbers": lambda x: (torch.nonzero(x[0, 0] * 0 + 1), torch.nonzero(x[0, 1] > 1e9), x + 1),
    "bincount_of_weights": lambda x: tuple(torch.bincount(BYTES % 7, weights, most) for most in (0, 9) for weights in (
        x[0, :6].nan_to_num(1, 2, 3), x[0, :6].nan_to_num(1, 2, 3).half(), BYTES, None)),
    "all_true": lambda x: (torch.ops.aten._is_all_true(x > -99), torch.ops.aten._is_any_true(x > 99)),
    "any_of_bytes": lambda x: (x > 0).to(torch.uint8).any(1),
    "all_of_bytes": lambda x: (BYTES.all(), (BYTES - 255).all(), BYTES[0].all(), (x > 0).to(torch.uint8).all(1), (x * 0 == 0).all(),
                               x[0, 0].all()),
    "copy_of_a_row": lambda x: (x * 2).copy_(x[0]) + x, "copy_of_a_number": lambda x: (x * 2).copy_(torch.tensor(3)) + x,
    "copy_to_integers": lambda x: torch.zeros(4, 6, dtype=torch.int64).copy_(torch.arange(6.0)) + x[:1, :6].nan_to_num(1, 2, 3),
    "stack_of_types": lambda x: torch.stack([x[0], torch.arange(x.shape[1])], 1),
    "rounded_quotients_of_integers": lambda x: tuple(
        torch.div(n + (x[0, :4] > 1e9), d, rounding_mode=mode) for n in (LARGE, LARGE.to(torch.int32)) for mode in ("floor", "trunc")
        for d in (3, -7, torch.tensor([2, -5, 9, -1], dtype=n.dtype))),
    "sum_of_flags": lambda x: (x > 0) + (x < 1), "powers_of_integers": lambda x: x[:, :1] * torch.arange(1, 5) ** -1.0,
    "close_integers": lambda x: tuple(torch.isclose(n, n + 1, **options) for n in (LARGE, LARGE.to(torch.int32) // 3, BYTES) for options in
                                      ({}, {"atol": 1.5}, {"rtol": 0.3}, {"rtol": 0, "atol": 0})) + (x + 1,),
    "close_flags": lambda x: (torch.isclose(x > 0, x > 1), torch.isclose(x > 0, x > 1, atol=1.0), x + 1),
    "shifts_of_bytes": lambda x: (BYTES >> 3, BYTES << 1, BYTES << BYTES % 4, BYTES >> BYTES % 4, x + 1),
}
PLACES = {
    "searchsorted": lambda x: torch.searchsorted(ROWS, x), "bucketize": lambda x: torch.bucketize(x, ROWS, right=True),
    "searchsorted_rows": lambda x: torch.searchsorted(x.nan_to_num(1, 2, 3).sort(1).values, x, side="right", out_int32=True),
    "searchsorted_number": lambda x: torch.searchsorted(ROWS, 3.0) + x, "isin": lambda x: torch.isin(x.nan_to_num(), ROWS),
    "isin_with_nan": lambda x: torch.isin(x, torch.cat([x.reshape(-1)[::2], torch.full((9,), torch.nan)])),
    "arange": lambda x: x.sum() + torch.arange(0.1, 1.1), "linspace": lambda x: torch.linspace(x[0, 1], x[1, 1], 7),
    "linspace_of_one": lambda x: torch.linspace(x[0, 1], x[1, 1], 1),
}
IMAGES = {
    "adaptive_avg_pool3d": lambda x: functional.adaptive_avg_pool3d(x, (2, 3, 5)),
    "adaptive_avg_pool3d_equal": lambda x: functional.adaptive_avg_pool3d(x, (2, 1, 1)),
    "adaptive_max_pool2d": lambda x: functional.adaptive_max_pool2d(x[:, 0], (3, 4), return_indices=True),
    "adaptive_max_pool3d": lambda x: functional.adaptive_max_pool3d(x, (3, 2, 4), return_indices=True),
    "adaptive_max_pool1d": lambda x: functional.adaptive_max_pool1d(x[:, 0, 0], 5),
    "max_pools_with_nan": lambda x: [pool(x[:, 0].masked_fill(x[:, 0] > 0, torch.nan), size, return_indices=True) for pool, size in (
        (functional.max_pool2d, 2), (functional.max_pool2d, 3), (functional.adaptive_max_pool2d, 3))],
    "avg_pool2d_divisor": lambda x: functional.avg_pool2d(x[:, 0], 3, 2, 1, divisor_override=4),
    "pad_beside_a_crop": lambda x: tuple(functional.pad(x[:, 0], pads, mode) for mode, pads in (
        ("replicate", (-9, 1, 2, -1)), ("replicate", (3, -11, -2, -4, 1, 0)), ("reflect", (8, -7, -3, 6)), ("reflect", (2, -1, -1, -2)))),
    "grid_sample": lambda x: [functional.grid_sample(x.nan_to_num(1, 2, 3), VOLUME.expand(len(x), -1, -1, -1, -1), mode, padding, aligned)
                              for mode, padding, aligned in (("bilinear", "zeros", False), ("bilinear", "border", True),
                                                             ("nearest", "reflection", False))],
    "interpolate_area": lambda x: functional.interpolate(x, (3, 4, 2), mode="area"),
}
PRODUCTS = {
    **{f"cdist_{p}": lambda x, p=p: torch.cdist(x, x[:3] + 0.5, p) for p in (0.0, 1.0, 2.0, 3.5, inf)},
    "pdist": lambda x: [functional.pdist(x, p) for p in (0.0, 1.0, 2.0, 3.5, inf)],
    "bilinear": lambda x: functional.bilinear(x, x.flip(0), torch.linspace(-1, 1, 50).reshape(2, 5, 5), torch.ones(2)),
}


def same(given, expected):
    for ours, theirs in zip(torch.utils._pytree.tree_leaves(given), torch.utils._pytree.tree_leaves(expected), strict=True):
        bound = 0 if isinstance(theirs, torch.Tensor) and not (theirs.is_floating_point() or theirs.is_complex()) else 2e-5
        torch.testing.assert_close(ours, theirs, rtol=bound, atol=bound, equal_nan=True)


def compare(function, sizes, make):
    """By torch.compile, for each of the sizes, with sizes as symbols from the second on; and by from_torch, for the first."""
    compiled = torch.compile(function, backend="legato")
    for shapes in sizes:
        given = [make(*shape) for shape in shapes]
        same(compiled(*given), function(*given))

    given = [make(*shape) for shape in sizes[0]]
    exe = legato.compile(legato.from_torch(module_of(function), tuple(given)))
    same(exe(*given), function(*given))


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    compare(ELEMENTWISE[name], [[(6, 7)] * 2, [(3, 9)] * 2, [(5, 4)] * 2], numbers)


@pytest.mark.parametrize("name", ALONG_AN_AXIS)
def test_along_an_axis(name):
    compare(ALONG_AN_AXIS[name], [[(5, 6)], [(7, 6)], [(4, 6)]], numbers)


@pytest.mark.parametrize("name", ("cumprod", "cummax", "cummin", "median", "nanmedian", "cummax_integers", "logcumsumexp"))
def test_along_an_axis_of_any_size(name):
    compare(ALONG_AN_AXIS[name], [[(5, 6)], [(7, 9)], [(4, 5)]], numbers)


@pytest.mark.parametrize("name", TYPES)
def test_types(name):
    compare(TYPES[name], [[(5, 6)], [(7, 6)], [(4, 6)]], numbers)


@pytest.mark.parametrize("name", PLACES)
def test_places(name):
    compare(PLACES[name], [[(5, 6)], [(7, 6)], [(4, 6)]], numbers)


@pytest.mark.parametrize("name", IMAGES)
def test_images(name):
    compare(IMAGES[name], [[(1, 2, 6, 7, 9)], [(2, 2, 6, 7, 9)], [(3, 2, 6, 7, 9)]], numbers)


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    compare(PRODUCTS[name], [[(4, 5)], [(6, 5)], [(8, 5)]], finite)
