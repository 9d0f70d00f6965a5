"""Factors, solutions and exponentials of matrices, mixtures of experts, masked attention, complex numbers and images of integers by
torch.compile and by from_torch, against PyTorch itself."""
import pytest
from torch_functions import module_of

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.usefixtures("fresh_torch")
functional, linalg = torch.nn.functional, torch.linalg
attend = functional.scaled_dot_product_attention
nan, inf = float("nan"), float("inf")


def same(given, expected):
    leaves = torch.utils._pytree.tree_leaves
    for ours, theirs in zip(leaves(given), leaves(expected), strict=True):
        bound = 1e-4 if theirs.is_floating_point() or theirs.is_complex() else 0
        torch.testing.assert_close(ours, theirs, rtol=bound, atol=bound, equal_nan=True)


def compare(function, *calls, imported=True, dynamic=None):
    """By torch.compile, for each of the calls; and by from_torch, for the first."""
    compiled = torch.compile(function, backend="legato", dynamic=dynamic)
    for given in calls:
        same(compiled(*given), function(*given))
    if imported:
        same(legato.compile(legato.from_torch(module_of(function), calls[0]))(*calls[0]), function(*calls[0]))


def matrices(*shape):
    return torch.randn(shape) + 2 * torch.eye(shape[-1])


def definite(x):
    return x @ x.mT + torch.eye(x.shape[-1])


SOLVED = {
    "inverse": linalg.inv, "solve": lambda x: linalg.solve(x, x[..., :2] + 1), "solve_vector": lambda x: linalg.solve(x, x[..., 0]),
    "solve_left": lambda x: linalg.solve(x, x[..., :2, :] + 1, left=False),
    "lu_factor": linalg.lu_factor, "lu": linalg.lu, "lu_solve": lambda x: linalg.lu_solve(*linalg.lu_factor(x), x + 1),
    "lu_unpack": lambda x: torch.lu_unpack(*linalg.lu_factor(x)),
    "det": linalg.det, "slogdet": linalg.slogdet, "cholesky": lambda x: linalg.cholesky(definite(x)),
    "cholesky_upper": lambda x: linalg.cholesky(definite(x), upper=True),
    "cholesky_solve": lambda x: torch.cholesky_solve(x, linalg.cholesky(definite(x))),
    "cholesky_inverse": lambda x: torch.cholesky_inverse(linalg.cholesky(definite(x))),
    "triangular": lambda x: linalg.solve_triangular(x.tril(), x + 1, upper=False),
    "triangular_upper": lambda x: linalg.solve_triangular(x.triu(), x + 1, upper=True, left=False),
    "triangular_unit": lambda x: linalg.solve_triangular(x.tril(-1), x + 1, upper=False, unitriangular=True),
    "exponential": torch.matrix_exp, "exponential_of_great_numbers": lambda x: torch.matrix_exp((x - x.mT) * 30),
}


@pytest.mark.parametrize("name", SOLVED)
def test_matrices(name):
    compare(SOLVED[name], (matrices(4, 4),), (matrices(2, 3, 5, 5),), dynamic=False)


def test_matrices_without_rows():
    def solved(x):
        return {name: function(x) for name, function in SOLVED.items() if name != "solve_vector"}

    compare(solved, (torch.empty(0, 0),), (torch.empty(2, 0, 0),), imported=False, dynamic=False)


@pytest.mark.parametrize("upper", [False, True])
def test_triangles_by_blocks(upper):
    """Of more rows than one block has; the right side has no batch."""
    compare(lambda x, b: linalg.solve_triangular(x, b, upper=upper, unitriangular=not upper),
            (torch.randn(2, 44, 44) / 8 + 2 * torch.eye(44), torch.randn(44, 3)), imported=False)


def test_a_matrix_of_many_columns_is_refused():
    with pytest.raises(Exception, match="linalg_inv_ex"):
        torch.compile(linalg.inv_ex, backend="legato")(matrices(40, 40))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_experts(dtype):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("transformers.integrations.moe")
    config = transformers.MixtralConfig(vocab_size=99, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
                                        intermediate_size=40, num_local_experts=4, head_dim=8, max_position_embeddings=64)
    model = transformers.MixtralModel(config).eval().to(dtype)
    compiled = torch.compile(lambda ids: model(ids, use_cache=False).last_hidden_state, backend="legato")
    for length in (5, 9, 1):
        ids = torch.randint(99, (2, length))
        bound = 1e-4 if dtype == torch.float32 else 6e-2
        torch.testing.assert_close(compiled(ids), model(ids, use_cache=False).last_hidden_state, rtol=bound, atol=bound)


def heads(count, length):
    return torch.randn(2, count, length, 8)


def lower(length, *rows):
    """A mask whose given rows are masked as a whole."""
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    mask[list(rows)] = False
    return mask


ATTENTIONS = {
    "masked_rows": lambda q, k, v: attend(q, k, v, attn_mask=lower(q.shape[2], 0, 2)),
    "masked_rows_of_numbers": lambda q, k, v: attend(q, k, v, attn_mask=torch.where(lower(q.shape[2], 1), 0.5, -inf)),
    "groups": lambda q, k, v: attend(q, k[:, :2], v[:, :2], enable_gqa=True),
    "causal_groups": lambda q, k, v: attend(q, k[:, :2], v[:, :2], enable_gqa=True, is_causal=True, scale=0.2),
    "masked_groups": lambda q, k, v: attend(q, k[:, :1], v[:, :1], enable_gqa=True, attn_mask=lower(q.shape[2], 3)),
    "masked_matrices": lambda q, k, v: attend(q[0, 0], k[0, 0], v[0, 0], attn_mask=lower(q.shape[2], 0)),
    "matrices": lambda q, k, v: (attend(q[0, 0], k[0, 0], v[0, 0]), attend(q[0], k[0], v[0], is_causal=True)),
    "batches_of_batches": lambda q, k, v: attend(q[None], k[None], v[None]),
    "views_of_results": lambda q, k, v: attend(*(x.reshape(2, -1, 4, 8).transpose(1, 2) for x in (q, k, v)), attn_mask=lower(q.shape[2], 1)
                                               ).transpose(1, 2).contiguous().view(2, -1, 32),
    "negative_scale": lambda q, k, v: attend(q, k, v, scale=-0.5),
    "masked_negative_scale": lambda q, k, v: attend(q, k, v, attn_mask=lower(q.shape[2], 1), scale=-0.5),
    "no_scale": lambda q, k, v: (attend(q, k, v, scale=0.0), attend(q[0], k[0], v[0], scale=0.0)),
}


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention(name):
    compare(ATTENTIONS[name], *[tuple(heads(4, length) for _ in range(3)) for length in (5, 7, 9)])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", [1, 30, 300])
@pytest.mark.parametrize("masked", [{}, {"is_causal": True}, {"attn_mask": lower(7, 2)}, {"attn_mask": lower(7, 1).expand(2, 1, 7, 7)},
                                    {"attn_mask": lower(7, 3)[None, None]}])
def test_attention_of_halves(dtype, scale, masked):
    """Scores beyond what f16 holds, and such as would be equal where they were rounded."""
    parts = [(heads(4, 7) * scale).to(dtype) for _ in range(3)]
    exact = attend(*(part.double() for part in parts), **masked)
    found = torch.compile(lambda q, k, v: attend(q, k, v, **masked), backend="legato")(*parts)
    bound = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}[dtype] * exact.abs().max()
    assert found.dtype == dtype and (found - exact).abs().max() < bound


COMPLEX = {
    "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt, "sin": torch.sin, "cos": torch.cos, "sinh": torch.sinh, "cosh": torch.cosh,
    "tanh": torch.tanh, "sigmoid": torch.sigmoid, "square": lambda x: x ** 2, "power": lambda x: x ** (0.5 + 1j),
    "product": lambda x: x @ x.T, "batched_product": lambda x: x[None] @ x.T[None],
    "equal": lambda x: (x == x.conj(), x != x + 1), "sum": lambda x: x.cumsum(0), "norm": lambda x: linalg.vector_norm(x, dim=1),
    "sgn": torch.sgn, "pad": lambda x: functional.pad(x, (1, 2)), "rows": lambda x: (x[1], x[None], x[:, [2, 0]], x.tril()),
    "outer": lambda x: torch.outer(x[0], x[1]), "zeros": lambda x: torch.zeros_like(x) + x, "isnan": lambda x: torch.isnan(x * nan),
    "quotients": lambda x: (x / x.T[:4, :4].flip(0)[:1], x / x.real, x.real / x, 2 / x, x / (3 - 4j)),
    "quotients_by_0": lambda x: (x / 0, x / torch.zeros_like(x), 1 / (x * 0)),
    "large_quotients": lambda x: (x * 1e30 / (x.conj() * 1e30), x / 1e30 / (x.flip(0) / 1e30), (x * 1e25).reciprocal() * 1e25),
    "of_real_numbers": lambda x: (1j * x.real, torch.exp(-2j * x.imag), (x.real > 0).int() * (1 - 2j), x.real.double() * 1j),
    "variance": lambda x: x.var(0), "gather": lambda x: x.gather(1, torch.zeros(x.shape[0], 1, dtype=torch.int64)),
}




def written(x):
    """Numbers, rows and other real values written to places of complex ones."""
    y = x.clone()
    y[0], y[:, 1], y[2:, 2] = x[1], 2.5, 3 - 1j
    y[y.real > 1] = 0
    z = torch.zeros(5, 6, dtype=torch.complex64)
    z[:, 1:5] = y
    return z, y.masked_fill(y.imag > 0, 1.5), y.scatter(1, torch.tensor([[0]] * 5), 2.0), y.scatter_add(1, torch.zeros(5, 4).long(), y)


COMPLEX |= {
    "einsums": lambda x: (torch.einsum("ij,kj->ik", x, x), torch.einsum("ij,kj,k->i", x, x.conj(), x[:, 0]),
                          torch.einsum("ij->ji", x), torch.einsum("ii->i", x[:4]), torch.einsum("ij,kj->ik", x.conj(), x)),
    "conjugates": lambda x: (x.conj().T @ x, x.mH[None] @ x[None], x.conj()[0] * 1, x.conj().imag),
    "products": lambda x: (functional.linear(x, x, x[:, 0]), x @ x[0], torch.dot(x[0], x[1]), torch.vdot(x[0], x[1]),
                           torch.addmm(x[:, :1], x, x.T, beta=0.5, alpha=2j),
                           torch.baddbmm(x[None, :, :1] * nan, x[None], x.T[None], beta=0)),
    "solved": lambda x: (linalg.inv(x[:4]), linalg.solve(x[:4], x[:4, :2]), linalg.solve(x[:4], x[:4, 0]),
                         linalg.solve(x[:4], x[:2], left=False)),
    "choices": lambda x: (torch.where(x.real > 0, torch.arange(4), x), torch.where(x.real > 0, x, 2), torch.where(x.real > 0, 2 - 1j, x)),
    "pads_of_a_value": lambda x: (torch.constant_pad_nd(x, (1, 2), 1.5), torch.constant_pad_nd(x, (0, 0, 2, 0), 3 - 1j)),
    "pads_of_elements": lambda x: (functional.pad(x[None], (1, 2), "circular"), functional.pad(x[None], (1, 2), "reflect"),
                                    functional.pad(x[None, None], (1, 2, 0, 1), "replicate")),
    "written": written,
    "made": lambda x: (torch.full((2, 4), 1 - 2j) + x[:2], torch.ones(4, dtype=torch.complex64) * x, x.new_zeros(2, 4) + x[:2],
                       torch.eye(4, dtype=torch.complex64) + x[:4], torch.full_like(x, 2.5) - x),
    "moved": lambda x: (*x.split(2, 1), *x.unbind(1), *x.split([1, 3], 1), x.repeat_interleave(2, 1), x.tile(2), x.unfold(1, 2, 1),
                        functional.embedding(torch.tensor([0, 2]), x), torch.diag_embed(x[0]),
                        torch.zeros(3, 4, dtype=x.dtype).index_add(0, torch.tensor([0, 1, 2, 1, 0]), x)),
    "functions": lambda x: (2 ** x, x ** -2.0, x ** x, torch.tan(x), torch.log10(x), torch.log2(x), torch.rsqrt(x), torch.expm1(x * 1e-3),
                            torch.sinc(x), functional.silu(x), torch.lerp(x, x.conj(), 0.3), torch.addcmul(x, x, x, value=0.5),
                            torch.addcdiv(x, x, x + 3, value=0.5), x.prod(1), torch.isfinite(x / 0), torch.isinf(x / 0), ~x.bool(),
                            torch.conj_physical(x), x.to(torch.complex128).abs()),
    "inverse_functions": lambda x: [function(y) for y in (x, x * 1e-3, x / x.abs(), x * 1e3) for function in (
        torch.asin, torch.acos, torch.atan, torch.asinh, torch.acosh, torch.atanh, torch.log1p)],
    "inverse_functions_near_0": lambda x: [function(x * 1e-4) * 1e4 for function in (torch.asin, torch.atan, torch.asinh, torch.atanh,
                                                                                  torch.log1p)],
    "determinants": lambda x: (linalg.det(x[:4]), linalg.slogdet(x[:4]), linalg.det(torch.stack([x[:4], x[1:]])), linalg.det(x[:1, :1])),
    "cross_products": lambda x: (linalg.cross(x[:, :3], x[:, 1:]), torch.cross(x[:3], x[2:], 0),
                                 linalg.cross(x[:, :3], x[:, 1:].real + 0j)),
    "near_others": lambda x: (torch.isclose(x, x * (1 + 1e-6)), torch.isclose(x, x + 1e-3j, rtol=0, atol=2e-3),
                              torch.isclose(x / 0, x / 0), torch.isclose(x * nan, x * nan, equal_nan=True), torch.isclose(x, x + 1)),
    "places_of_some": lambda x: torch.nonzero(torch.where(x.real > 0, x, 0)),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers(name):
    compare(COMPLEX[name], (torch.randn(5, 4, dtype=torch.complex64),), imported=False)


def test_complex_functions_by_from_torch():
    """An exported program keeps ops of which torch.compile sees what they are made of."""
    def function(a, b):
        x = torch.complex(a, b)
        return (torch.asin(x).abs(), linalg.det(x[:4]).abs(), linalg.slogdet(x[:4])[1], linalg.cross(x[:, :3], x[:, 1:]).imag,
                torch.isclose(x, x * (1 + 1e-6)), torch.nonzero(torch.where(a > 0, x, 0)))

    given = torch.randn(5, 4), torch.randn(5, 4)
    same(legato.compile(legato.from_torch(module_of(function), given))(*given), function(*given))


class FourierLayer(torch.nn.Module):
    """Products of the lowest frequencies by complex weights, as in Fourier neural operators."""
    def __init__(self):
        super().__init__()
        self.weights = torch.nn.ParameterList(torch.rand(2, 3, 3, 3, dtype=torch.complex64) for _ in range(2))

    def forward(self, x):
        spectrum = torch.fft.rfft2(x)
        made = torch.zeros(x.shape[0], 3, x.size(-2), x.size(-1) // 2 + 1, dtype=torch.complex64)
        made[:, :, :3, :3] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :3, :3], self.weights[0])
        made[:, :, -3:, :3] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, -3:, :3], self.weights[1])
        return torch.fft.irfft2(made, s=(x.size(-2), x.size(-1)))


def test_fourier_layers():
    layer, free = FourierLayer().eval(), torch.export.Dim.AUTO
    exe = legato.compile(legato.from_torch(layer, (torch.randn(2, 2, 8, 10),), dynamic_shapes=({0: free, 2: free, 3: free},)))
    for sizes in ((2, 2, 8, 10), (3, 2, 12, 9)):
        x = torch.randn(sizes)
        same(exe(x), layer(x))


def whole(*shape, dtype):
    return torch.randint(-99, 99, shape).to(dtype)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8])
def test_images_of_integers(dtype):
    image, filters = whole(2, 4, 9, 8, dtype=dtype), whole(6, 2, 3, 2, dtype=dtype)

    apart = (1, 2) if dtype == torch.int64 else 1     # PyTorch has dilated ones of 64 bits alone

    def convolve(x, w):
        return (functional.conv2d(x, w, stride=(2, 1), padding=(1, 2), dilation=apart, groups=2),
                functional.conv1d(x[:, :, 0], w[:, :, 0].contiguous(), groups=2), functional.conv2d(x, w, w[:, 0, 0, 0], groups=2))

    compare(convolve, (image, filters), imported=False)
    if dtype == torch.int64:
        compare(lambda x: functional.avg_pool2d(x, (3, 2), 2, (1, 0)), (image,), imported=False)


def test_whole_results_without_elements():
    empty = torch.empty(0, 4, 4, 4)
    compare(lambda x: (functional.unfold(x, 2), functional.group_norm(x, 2), functional.pixel_shuffle(x, 2),
                       torch.tril_indices(0, 3), torch.triu_indices(3, 4, 9)), (empty,), imported=False)


def test_parts_and_repetitions_without_elements():
    """Exported, they had parts that were missing, and sizes of their own."""
    empty, counts = torch.empty(3, 0), torch.empty(0, dtype=torch.int64)
    compare(lambda x, n: (x.split(1, -1)[0], x.split(0, -1)[0], x.mT.split(2)[0], x.repeat_interleave(2), x.repeat_interleave(2, 0),
                          x.repeat_interleave(3, 1), x[:0].repeat_interleave(2, 0), x.repeat_interleave(n, 1), x[0].repeat_interleave(n),
                          torch.cat([n, x[0], n]), torch.gather(torch.arange(9), 0, x.to(torch.int64)),
                          torch.ones(4, 5).scatter(0, n[None], x), torch.ones(4, 5).index_put((torch.arange(3)[:, None], n), x)),
            (empty, counts), dynamic=False)


def test_pixels_without_elements():
    """PyTorch's own pixel_unshuffle leaves their shape as it was, by any factor; its documentation, and torch.export, do not."""
    x, y, z = torch.empty(1, 4, 0, 2), torch.empty(0, 4, 2), torch.empty(2, 0, 4, 4, 2)
    compare(lambda x, y, z: (*(functional.pixel_shuffle(one, 2) for one in (x, y, z)), functional.pixel_unshuffle(x, 1)), (x, y, z),
            dynamic=False)
    assert legato.compile(legato.from_torch(module_of(lambda x: functional.pixel_unshuffle(x, 2)), (x,)))(x).shape == (1, 16, 0, 1)


@pytest.mark.parametrize("sizes", ["0 2 3 4 5 6", "2 0 3 4 5 6", "2 2 0 4 5 6", "2 2 3 0 5 6", "2 2 3 4 0 6", "2 2 3 4 5 0"])
def test_attention_without_elements(sizes):
    """No batch, heads, queries, keys, and features of these or of the values."""
    batch, heads, queries, keys, features, values = map(int, sizes.split())
    mask = torch.randn(queries, keys)
    x = (torch.randn(batch, heads, queries, features), torch.randn(batch, heads, keys, features), torch.randn(batch, heads, keys, values))

    def attended(*x):
        halves = [attend(*(one.half() for one in x))] if features else []   # weights are rounded, one by one
        return attend(*x), attend(*x, is_causal=True), attend(*x, attn_mask=mask), attend(*(one[:, :1] for one in x)), *halves

    compare(attended, x, dynamic=False)


def test_a_negative_number_that_changes_is_an_error_with_advice():
    compiled = torch.compile(lambda x, number: x * number, backend="legato")
    compiled(torch.ones(3), -3)
    with pytest.raises(Exception, match="only numbers from 0 on"):
        compiled(torch.ones(3), -4)


def test_rolls_by_sizes():
    compare(lambda x: (x.roll(x.shape[0] // 2, 0), x.roll((1, x.shape[0] - 2), (1, 0)), torch.fft.fftshift(x), x.roll(x.shape[0])),
            (torch.randn(5, 4),), (torch.randn(6, 4),), (torch.randn(9, 4),))
