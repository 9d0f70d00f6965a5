"""torch.compile(backend="legato"): sizes and numbers that only data gives, writes counted in memory, against PyTorch itself."""
from importlib import import_module

import pytest

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
backend = import_module("legato.torch_backend").torch_backend


@pytest.fixture(autouse=True)
def captured():
    torch._dynamo.reset()
    with torch.no_grad(), torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True):
        yield
    torch._dynamo.reset()


def check(function, *calls):
    """Compiled and eager calls on arguments that are made twice, of sizes that change."""
    compiled = torch.compile(function, backend=backend, dynamic=True, fullgraph=True)
    for seed, make in enumerate(calls):
        given, expected = [(torch.manual_seed(seed), make())[1] for _ in range(2)]
        leaves = zip(*(torch.utils._pytree.tree_leaves((made(*args), args)) for made, args in ((compiled, given), (function, expected))))
        for ours, theirs in leaves:
            assert type(ours) is type(theirs)
            torch.testing.assert_close(ours, theirs)


def test_results_of_sizes_that_data_gives():
    check(lambda x: (x[x > 0], x[x > 0] * 2, torch.nonzero(x > 0), x.masked_select(x < 0)),
          lambda: (torch.randn(4, 6),), lambda: (torch.randn(5, 7),), lambda: (-torch.ones(2, 2),))


def test_each_nan_is_a_distinct_element():
    numbers = torch.tensor([1, torch.nan, 2, torch.nan, 1])
    function = torch.nn.Module()
    function.forward = lambda x: torch.unique(x, return_inverse=True, return_counts=True)
    ours = legato.compile(legato.from_torch(function.eval(), (numbers,)))(numbers)
    for one, expected in zip(ours, function(numbers), strict=True):
        torch.testing.assert_close(torch.as_tensor(one), expected, equal_nan=True)


def test_numbers_that_data_gives_are_results():
    def function(x):
        count = (x > 0).sum().item()
        return count, count + x.shape[0], count > 3, x.max().item(), x.masked_select(x > 0).shape[0] * 2

    check(function, lambda: (torch.randn(4, 6),), lambda: (torch.randn(5, 7),))


def test_views_at_places_that_data_gives():
    def function(x, first, last):
        first, last = first.item(), last.item()
        torch._check(first >= 0)
        torch._check(last >= first)
        torch._check(last <= x.shape[0])
        doubled = x * 2
        return x[first:], x.narrow(0, first, last - first), doubled[first:last], doubled, doubled.t()

    check(function, lambda: (torch.randn(10, 3), torch.tensor(2), torch.tensor(5)),
          lambda: (torch.randn(12, 4), torch.tensor(0), torch.tensor(12)))


def test_an_element_at_a_place_that_data_gives():
    check(lambda x, at: (x[at.item()], x[at.item():]),
          lambda: (torch.randn(10), torch.tensor(-2)), lambda: (torch.randn(12), torch.tensor(3)))


def test_writes_where_a_mask_holds():
    def function(x, mask):
        x[mask] = x[mask].softmax(-1)
        return x.masked_scatter(x > 0.5, x * 2).sum(0)

    check(function, lambda: (torch.randn(4, 6), torch.rand(4) > 0.5), lambda: (torch.randn(5, 7), torch.rand(5) > 0.5))


@pytest.mark.parametrize("views", [lambda x: (x[:3], x[2:]), lambda x: (x, x.t()), lambda x: (x[::2, 1:], x.t())])
def test_arguments_that_share_memory(views):
    def function(x, y):
        x.mul_(3)
        y.add_(1)
        return x.sum(0), y * 2

    check(function, lambda: views(torch.randn(6, 4)), lambda: views(torch.randn(9, 5)))


def test_writes_to_places_counted_in_memory():
    def function(x):
        y = x.t().clone()
        y.as_strided((2, 2), (3, 1), 1).add_(1)
        y.fill_diagonal_(3)
        return y

    check(function, lambda: (torch.randn(6, 6),), lambda: (torch.randn(8, 8),))
