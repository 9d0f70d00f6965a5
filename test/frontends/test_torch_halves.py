"""Ops on halves that torch computes in f32 and rounds once: with PyTorch's error, beside its doubles."""
import pytest
from torch_functions import module_of

import legato

torch = pytest.importorskip("torch")
functional = torch.nn.functional
pytest.importorskip("onnxscript")

BINS = torch.arange(64) % 3
OPS = {     # of x [2, 8, 64], and y and z of the same shape
    "lerp": lambda x, y, z: torch.lerp(x, y, 0.7),
    "lerp_tensor": lambda x, y, z: torch.lerp(x, y, z[0, 0, 0].sigmoid()),
    "scatter_add": lambda x, y, z: y[..., :3].scatter_add(2, BINS.expand(x.shape), x),
    "scatter_sum": lambda x, y, z: y[..., :3].scatter_reduce(2, BINS.expand(x.shape), x, "sum", include_self=False),
    "scatter_mean": lambda x, y, z: y[..., :3].scatter_reduce(2, BINS.expand(x.shape), x, "mean"),
    "index_add": lambda x, y, z: y[..., :3].index_add(2, BINS, x),
    "group_norm": lambda x, y, z: functional.group_norm(x, 2, y[0, :, 0], z[0, :, 0]),
    "conv_transpose1d": lambda x, y, z: functional.conv_transpose1d(x[..., :4], y[0, :, :8].reshape(8, 4, 2), z[0, 0, :8], 3, 1, 1,
                                                                    groups=2),
    "conv_transpose3d": lambda x, y, z: functional.conv_transpose3d(x.reshape(2, 8, 4, 4, 4), y[..., :54].reshape(8, 4, 3, 3, 3),
                                                                    z[0, 0, :4], 2, 2, 1),
    "adaptive_avg_pool3d": lambda x, y, z: functional.adaptive_avg_pool3d(x.reshape(2, 8, 8, 4, 2), (5, 3, 2)),
    "logcumsumexp": lambda x, y, z: x.logcumsumexp(-1),
    "histc": lambda x, y, z: torch.histc(x * 4, min=0, max=10),
    "norm": lambda x, y, z: torch.linalg.vector_norm(x, 3, -1, dtype=x.dtype),
}
RESIZED = {     # of x [2, 8, 64]
    "linear": lambda x: functional.interpolate(x, 150, mode="linear"),
    "bilinear": lambda x: functional.interpolate(x.reshape(2, 2, 16, 16), (37, 21), mode="bilinear"),
    "bilinear_by_scales": lambda x: functional.interpolate(x.reshape(2, 2, 16, 16), scale_factor=(1.7, 0.7), mode="bilinear"),
    "bicubic": lambda x: functional.interpolate(x.reshape(2, 2, 16, 16), (37, 21), mode="bicubic"),
    "trilinear": lambda x: functional.interpolate(x.reshape(2, 2, 4, 8, 8), (9, 13, 5), mode="trilinear"),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", OPS)
def test_halves_are_rounded_once(name, dtype):
    generator = torch.Generator().manual_seed(1)
    given = [torch.randn(2, 8, 64, generator=generator).to(dtype) for _ in range(3)]
    as_exact(torch.compile(OPS[name], backend="legato")(*given), OPS[name], given)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", RESIZED)
def test_resized_halves_by_from_torch(name, dtype):
    given = torch.randn(2, 8, 64, generator=torch.Generator().manual_seed(1)).to(dtype)
    as_exact(legato.compile(legato.from_torch(module_of(RESIZED[name]), (given,)))(given), RESIZED[name], [given])


def as_exact(found, function, given):
    """Asserts that the result has about PyTorch's error."""
    exact, eager = function(*(x.double() for x in given)), function(*given)
    scale = exact.abs() + exact.abs().max() / 20
    errors = [float(((x.double() - exact).abs() / scale).max()) for x in (found, eager)]
    assert found.dtype == given[0].dtype and errors[0] <= 1.6 * errors[1] + torch.finfo(found.dtype).eps / 5
