"""torch.nn.functional.embedding_bag by torch.compile(backend="legato") and from_torch, against PyTorch itself."""
from importlib import import_module

import pytest

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.usefixtures("fresh_torch")
backend = import_module("legato.torch_backend").torch_backend
embedding_bag = torch.nn.functional.embedding_bag


@pytest.mark.parametrize(("mode", "padding"), [("sum", 2), ("mean", 2), ("max", None), ("max", 2)])
def test_bags_that_offsets_tell(mode, padding):
    """Empty ones, and ones of padding alone."""
    weight = torch.randn(10, 4)

    def function(indices, offsets):
        return embedding_bag(indices, weight, offsets, mode=mode, include_last_offset=True, padding_idx=padding)

    compiled = torch.compile(function, backend=backend, dynamic=True)
    for indices, offsets in (([1, 2, 9, 2, 4], [0, 1, 1, 2, 5]), ([2, 3, 4, 0, 0, 2, 7], [0, 1, 4, 7])):
        args = torch.tensor(indices), torch.tensor(offsets)
        torch.testing.assert_close(compiled(*args), function(*args))


class Weighed(torch.nn.Module):
    """Bags of one size, weighed."""

    def __init__(self):
        super().__init__()
        self.sums, self.means = torch.nn.EmbeddingBag(10, 4, mode="sum"), torch.nn.EmbeddingBag(10, 4)

    def forward(self, indices, weights):
        """Bags are the rows."""
        return self.sums(indices, per_sample_weights=weights), self.means(indices)


def test_bags_that_are_rows():
    dim, model = torch.export.Dim.AUTO, Weighed().eval()
    shapes = {0: dim, 1: dim}
    compiled = legato.compile_torch(model, (torch.randint(10, (2, 3)), torch.randn(2, 3)), dynamic_shapes=(shapes, shapes))
    for sizes in ((2, 3), (5, 7)):
        args = torch.randint(10, sizes), torch.randn(sizes)
        for ours, theirs in zip(compiled(*args), model(*args), strict=True):
            torch.testing.assert_close(ours, theirs)
