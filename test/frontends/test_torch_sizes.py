"""torch.compile(backend="legato"): symbolic sizes that torch guards, against PyTorch itself."""
from importlib import import_module

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.usefixtures("fresh_torch")
torch_backend = import_module("legato.torch_backend")


@pytest.fixture
def modules(monkeypatch):
    """The texts of the modules that the backend has imported."""
    found = []
    real = torch_backend.import_model

    def kept(source, **options):
        module = real(source, **options)
        found.append(str(module))
        return module

    monkeypatch.setattr(torch_backend, "import_model", kept)
    return found


def test_operands_of_symbolic_sizes_are_equal(modules):
    """As in the steps of an associative scan, whose sizes would otherwise be expressions of two sizes of the step before."""
    def function(x):
        for _ in range(4):
            x = x[1::2] * 2 + x[2::2]       # of n // 2 and (n - 1) // 2 rows, equal where n is odd
        return x

    compiled = torch.compile(function, backend=torch_backend.torch_backend, dynamic=True)
    for size in (63, 95):
        x = torch.randn(size, 3)
        torch.testing.assert_close(compiled(x), function(x))
    assert len(modules) == 1 and "broadcast" not in modules[0]


def test_a_scan_of_a_symbolic_length():
    scan = import_module("torch._higher_order_ops.associative_scan").associative_scan

    def function(a, b):
        return scan(lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1]), (a, b), dim=1, combine_mode="generic")[1]

    compiled = torch.compile(function, backend=torch_backend.torch_backend, dynamic=True)
    for size in (33, 37):
        a, b = torch.rand(2, size, 3), torch.randn(2, size, 3)
        torch.testing.assert_close(compiled(a, b), function(a, b), rtol=1e-5, atol=1e-5)
