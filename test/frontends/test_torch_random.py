"""from_torch and torch.compile: modules that draw random numbers, by their distributions, which PyTorch's own draws have as well."""
import numpy as np
import pytest
from torch_functions import module_of

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
torch_backend = pytest.importorskip("legato.torch_backend")
functional = torch.nn.functional
X = torch.linspace(0.01, 1, 20_000).reshape(200, 100)
WEIGHTS = torch.tensor([[0.0, 1.0, 2.0, 5.0, 0.0]]).repeat(200, 1)

# what draws the numbers, their mean and standard deviation, and their range
CONTINUOUS = {
    "rand": (lambda x: torch.rand(200, 100), 0.5, 1 / 12**0.5, 0, 1),
    "rand_like": (torch.rand_like, 0.5, 1 / 12**0.5, 0, 1),
    "double": (lambda x: torch.rand(200, 100, dtype=torch.float64), 0.5, 1 / 12**0.5, 0, 1),
    "randn": (lambda x: torch.randn(200, 100), 0, 1, -6, 6),
    "randn_like": (torch.randn_like, 0, 1, -6, 6),
    "generator": (lambda x: torch.randn((200, 100), generator=None), 0, 1, -6, 6),
    "half": (lambda x: torch.randn(200, 100, dtype=torch.float16), 0, 1, -6, 6),
    "normal": (lambda x: torch.normal(3.0, 2.0, (200, 100)), 3, 2, -9, 15),
    "means": (lambda x: torch.normal(x, 2.0) - x, 0, 2, -12, 12),
    "deviations": (lambda x: (torch.normal(3.0, x) - 3) / x, 0, 1, -6, 6),
    "both": (lambda x: (torch.normal(x, x) - x) / x, 0, 1, -6, 6),
    "normal_": (lambda x: torch.empty_like(x).normal_(3, 2), 3, 2, -9, 15),
    "uniform_": (lambda x: torch.empty_like(x).uniform_(2, 5), 3.5, 3 / 12**0.5, 2, 5),
    "exponential_": (lambda x: torch.empty_like(x).exponential_(2.0), 0.5, 0.5, 0, 12),
    "rrelu": (lambda x: functional.rrelu(-x, 0.2, 0.4, training=True) / -x, 0.3, 0.2 / 12**0.5, 0.2 - 1e-6, 0.4 + 1e-6),
}
DISCRETE = {
    "randint": (lambda x: torch.randint(-3, 7, (200, 100)), 1.5, 8.25**0.5, -3, 6),
    "of many": (lambda x: torch.randint(1 << 40, (200, 100)) / (1 << 40), 0.5, 1 / 12**0.5, 0, 1),
    "randint_like": (lambda x: torch.randint_like(x, 10), 4.5, 8.25**0.5, 0, 9),
    "random_": (lambda x: torch.empty_like(x).random_(10), 4.5, 8.25**0.5, 0, 9),
    "bernoulli": (lambda x: torch.bernoulli(torch.full_like(x, 0.3)), 0.3, 0.21**0.5, 0, 1),
    "chance": (lambda x: torch.empty_like(x).bernoulli_(0.3), 0.3, 0.21**0.5, 0, 1),
    "dropout": (lambda x: functional.dropout(x, 0.2, training=True) / x, 1, 0.5, 0, 1.25001),
    "multinomial": (lambda x: torch.multinomial(WEIGHTS, 100, replacement=True), 2.5, 0.5**0.5, 1, 3),
    "one class": (lambda x: torch.multinomial(WEIGHTS.repeat(100, 1), 1), 2.5, 0.5**0.5, 1, 3),
}
CASES = CONTINUOUS | DISCRETE


@pytest.fixture(scope="module")
def drawn():
    """What all cases draw for two seeds, and PyTorch's own draws, from one compile."""
    def all_of(x):
        return [draw(x) for draw, *_ in CASES.values()]

    exe = legato.compile(legato.from_torch(module_of(all_of), (X,)))
    return [dict(zip(CASES, found)) for found in (exe(X), exe(X, random_seed=1), all_of(X))]


@pytest.mark.parametrize("name", CASES)
def test_distributions(name, drawn):
    _, mean, deviation, least, most = CASES[name]
    ours, other, theirs = ([*drawn][number][name] for number in range(3))
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    for one in (ours, other, theirs):     # within 5 standard errors
        numbers = one.double().flatten()
        assert abs(numbers.mean() - mean) < 5 * deviation / numbers.numel() ** 0.5
        assert abs(numbers.std() / deviation - 1) < 0.05 and least <= numbers.min() and numbers.max() <= most
    assert (ours == other).double().mean() < (0.05 if name in CONTINUOUS or name == "of many" else 0.75)


def test_draws_are_independent(drawn):
    columns = np.stack([drawn[0][name].double().flatten() for name in CASES if drawn[0][name].numel() == X.numel()])
    found = np.corrcoef(columns) - np.eye(len(columns))
    assert len(columns) > 20 and np.abs(found).max() < 5 / X.numel() ** 0.5


def test_classes_are_drawn_once_without_replacement():
    weights = torch.rand(50, 30)
    weights[:, 20:] = 0
    exe = legato.compile(legato.from_torch(module_of(lambda p: (torch.multinomial(p, 20), torch.randperm(40))), (weights,)))
    classes, order = exe(weights)
    assert all(sorted(row) == list(range(20)) for row in classes.tolist()) and classes.dtype == torch.int64
    assert sorted(order.tolist()) == list(range(40)) != order.tolist()
    heavy = torch.zeros(20_000, 3) + torch.tensor([6.0, 3.0, 1.0])
    first = legato.compile(legato.from_torch(module_of(lambda p: torch.multinomial(p, 2)), (heavy,)))(heavy)[:, 0]
    np.testing.assert_allclose(torch.bincount(first) / 20_000, [0.6, 0.3, 0.1], atol=0.0175)


def test_sizes_at_run_time():
    exe = legato.compile(legato.from_torch(module_of(lambda x: (torch.randn(x.shape[0], 3), torch.randint(9, x.shape), torch.rand_like(x))),
                                           (X[:5],), dynamic_shapes=(({0: "rows"},),)))
    for rows in (2, 7):
        assert [tuple(one.shape) for one in exe(X[:rows])] == [(rows, 3), (rows, 100), (rows, 100)]


def test_compile_torch_takes_the_seed():
    class Own(torch.nn.Module):
        def forward(self, x, random_seed=3):
            return functional.dropout(x, 0.5, training=True) * random_seed

    plain = legato.compile_torch(module_of(torch.rand_like), (X,))
    torch.testing.assert_close(plain(X), plain(X, random_seed=0), rtol=0, atol=0)
    assert (plain(X) == plain(X, random_seed=5)).double().mean() < 0.01
    own = legato.compile_torch(Own().eval(), (X,), {"random_seed": 3})
    assert set(own(X, random_seed=3).div(X).round().unique().tolist()) == {0, 6}
    with pytest.raises(legato.LegatoError, match=r"random_seed.*is 5, and the import has fixed it to 3"):
        own(X, random_seed=5)


def test_attention_with_dropout_is_refused():
    x = torch.rand(1, 2, 4, 8)
    with pytest.raises(legato.LegatoError, match=r"exporter to ONNX drops dropout_p=0\.2"):
        legato.from_torch(module_of(lambda x: functional.scaled_dot_product_attention(x, x, x, dropout_p=0.2)), (x,))


def test_torch_compile_draws_by_torchs_generator(fresh_torch):
    compiled = torch.compile(lambda x: x + torch.rand_like(x), backend=torch_backend.torch_backend)
    x = torch.zeros(100, 10)
    first, second = compiled(x), compiled(x)
    assert 0 <= first.min() and first.max() < 1 and (first == second).double().mean() < 0.01
    torch.manual_seed(4)
    third = compiled(x)
    torch.manual_seed(4)
    torch.testing.assert_close(compiled(x), third, rtol=0, atol=0)
