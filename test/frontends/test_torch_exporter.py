"""Ops that torch's ONNX exporter writes as something else: by torch.compile as torch computes them, and errors of from_torch."""
import math

import pytest

import legato
from legato.frontends.torch.checks import name_of

torch = pytest.importorskip("torch")
functional = torch.nn.functional
X = torch.randn(2, 4, 9, 10, generator=torch.Generator().manual_seed(0))
Z = torch.complex(X[0, 0], X[1, 1])


@pytest.fixture(autouse=True)
def fresh():     # gradients stay on: with them, torch takes other attentions
    torch._dynamo.reset()


def same(function, *arguments, **how):
    """torch.compile gives what torch gives, in the results and in what is written to."""
    expected, found = ([one.clone() for one in arguments] for _ in range(2))
    with torch.no_grad():
        wanted, made = function(*expected), torch.compile(function, backend="legato", **how)(*found)
    torch.testing.assert_close([made, found], [wanted, expected], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm(training):
    mean, variance, weight = torch.randn(4), torch.rand(4), torch.randn(4)
    same(lambda x, m, v, w: functional.batch_norm(x, m, v, w, None, training, 0.3, 0.2), X, mean, variance, weight)
    model = torch.nn.Sequential(torch.nn.Conv2d(4, 5, 3), torch.nn.BatchNorm2d(5)).train(training)
    same(lambda x: model(x), X)


@pytest.mark.parametrize("arguments", [
    (3, None, 0, False, True, 4), ((3, 3), (1, 1), (1, 1), True, False, 2), ((2, 3), (2, 2), (1, 1), True, True, 5),
    ((3, 3), (2, 2), (0, 0), False, False, -3), ((4, 4), (3, 3), (2, 2), True, False, 1), (3, 2, 1, True, False, None)])
def test_divisors_of_average_pools(arguments):
    same(lambda x: functional.avg_pool2d(x, *arguments), X)
    same(lambda x: functional.avg_pool3d(x, *(value[:1] * 3 if isinstance(value, tuple) else value for value in arguments)), X)


@pytest.mark.parametrize("size", [9, 10, 11])
def test_divisors_of_pools_of_any_size(size):
    same(lambda x: functional.avg_pool2d(x, 3, 2, 1, True, False, 3), torch.randn(1, 2, size, size + 1), dynamic=True)


@pytest.mark.parametrize("itself", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_means_of_scattered_elements(dtype, itself):
    x, source = (torch.arange(-9, 11).reshape(5, 4) * step for step in (3, 7))
    index = torch.tensor([[0, 1, 2, 0], [1, 1, 1, 1], [0, 1, 4, 4]])
    same(lambda x, i, s: x.scatter_reduce(0, i, s, "mean", include_self=itself), x.to(dtype), index, source[:3].to(dtype))
    same(lambda x, i, s: x.scatter_reduce(0, i, s, "amax", include_self=itself), x.to(dtype), index, source[:3].to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.int8])
def test_rounding_of_integers(dtype):
    x = (X[0, 0] * 9).to(dtype)
    same(lambda x: (x.ceil(), x.floor() + 1, x.trunc(), x.round(), x.isnan(), torch.where(x.isnan(), 0, x)), x)


@pytest.mark.parametrize("number", [1.0, 0.1, 3])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.float32])
def test_numbers_less_tensors(dtype, number):
    same(lambda x: number - x, torch.arange(-5, 5).to(dtype))


def test_complex_numbers():
    """Pairs of numbers in ONNX: as arguments, in between, and as results."""
    same(lambda z: z * z + z / (2 + z.abs()), Z)
    same(lambda x: torch.view_as_real(torch.complex(x, -x) * torch.polar(x, x)), X)
    same(lambda z: (z.t(), z[1:, ::2], z.conj().resolve_conj(), z.real), Z)
    same(lambda z: z * z, Z.conj())
    same(lambda z: z.sum(0), Z, dynamic=True)


def test_results_of_other_sizes_are_errors():
    attend = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    with pytest.raises(legato.LegatoError, match=r"makes torch.float32\[1, 3, 32\] of 'getitem_1', which is torch.float32\[1, 4, 3\]"):
        same(lambda x: attend(x, x, x)[1], torch.randn(1, 4, 3, 16))


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("function", [
    lambda x: functional.avg_pool2d(x, 3, divisor_override=4),
    lambda x: x.scatter_reduce(0, torch.zeros(1, 4, 9, 10, dtype=torch.int64), x, "mean"), lambda x: x // 0.1])
def test_from_torch(function):
    exe = legato.compile(legato.from_torch(Function(function).eval(), (X,)))
    torch.testing.assert_close(exe(X), function(X), rtol=1e-5, atol=1e-5)


def test_errors_of_from_torch():
    resize = Function(lambda x: functional.interpolate(x, size=(5, 5), mode="bilinear", align_corners=True, antialias=True))
    with pytest.raises(legato.LegatoError, match="torch's exporter to ONNX drops align_corners=True"):
        legato.from_torch(resize.eval(), (X,))
    scaled = Function(lambda x: torch.ops.aten._upsample_bilinear2d_aa(x, [5, 6], False, 0.5, 0.6))    # of 9 x 10: only 0.6 is of the sizes
    with pytest.raises(legato.LegatoError, match=r"torch's exporter to ONNX drops scales_h=0\.5"):
        legato.from_torch(scaled.eval(), (X,))


def test_names_of_programs():
    """torch's own mark of what no module computes is no name."""
    made = Function(lambda x: torch.zeros(math.ceil(x.shape[0] * 0.1))).eval()
    program = torch.export.export(made, (torch.randn(20, 3),), dynamic_shapes=({0: torch.export.Dim("n")},), strict=True)
    assert any("_empty_nn_module_stack" in str(node.meta.get("nn_module_stack")) for node in program.graph.nodes)
    assert name_of(program) == "the program of Function"


class LearnedBias(torch.nn.Module):
    """Attention with a bias that is a parameter, as relative positions are, and its result as rows."""

    def __init__(self, copies: bool):
        super().__init__()
        self.copies = copies
        self.parts = torch.nn.Linear(16, 48)
        self.bias = torch.nn.Parameter(torch.randn(1, 2, 1, 6))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, 2, 8).transpose(1, 2) for part in self.parts(x).chunk(3, -1))
        bias = torch.zeros(batch, 2, length, length) + self.bias
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2)
        return y.contiguous().view(batch, length, 16) if self.copies else y.reshape(batch, length, 16)


@pytest.mark.parametrize("copies", [False, True])
def test_learned_biases_of_attention(copies):
    """Of which torch takes another attention where gradients are asked for, with results in another order in memory: it refused views."""
    model, x = LearnedBias(copies).eval(), torch.randn(2, 6, 16)
    with torch.no_grad():
        wanted = model(x)
    for module in (legato.from_torch(model, (x,)), legato.from_torch(torch.export.export(model, (x,)))):
        torch.testing.assert_close(torch.from_dlpack(legato.compile(module)(x)), wanted, rtol=1e-5, atol=1e-5)
    same(model, x)


class Squeezes(torch.nn.Module):
    """Axes that are named to squeeze and are of another size than 1."""

    def forward(self, x):
        """x: [a, b, c]"""
        return x.squeeze(1), x.squeeze((0, 1)), x[:, :1].squeeze((0, -2, 2)), x[0, 0, 0].squeeze(0) * 2, x.squeeze()


@pytest.mark.parametrize("dim", [None, torch.export.Dim.AUTO])
def test_squeezes_of_other_sizes_than_one(dim):
    x, model = torch.randn(2, 5, 3), Squeezes().eval()
    compiled = legato.compile_torch(model, (x,), dynamic_shapes=dim and (dict.fromkeys(range(3), dim),))
    for given in (x, torch.randn(4, 7, 6)) if dim else (x,):
        torch.testing.assert_close(compiled(given), model(given), rtol=0, atol=0)
