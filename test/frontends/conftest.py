"""Fixtures of the tests of frontends."""
import pytest


@pytest.fixture
def fresh_torch():
    """PyTorch with one seed, without gradients, and without what its compiler has made for other tests."""
    import torch  # pyright: ignore[reportMissingImports]

    torch.manual_seed(0)
    torch._dynamo.reset()
    with torch.no_grad():
        yield
    torch._dynamo.reset()
