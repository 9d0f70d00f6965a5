"""torch.compile(backend="legato"): hand-written modules and functions against PyTorch itself, with what it keeps of them."""
import copy
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.usefixtures("fresh_torch")
nn = torch.nn
torch_backend = import_module("legato.torch_backend")
leaves = torch.utils._pytree.tree_leaves


@pytest.fixture
def compiles(monkeypatch):
    """The executables that the backend has compiled."""
    made = []

    def compile(*args, **options):
        made.append(legato.compile(*args, **options))
        return made[-1]

    monkeypatch.setattr(torch_backend, "compile", compile)
    return made


def compare(compiled, eager, *args):
    """One call of both: results and what they leave in their arguments are the same, in the same strides."""
    expected_args = copy.deepcopy(args)
    given, expected = compiled(*args), eager(*expected_args)
    for ours, theirs in zip(leaves((given, args)), leaves((expected, expected_args)), strict=True):
        if isinstance(theirs, torch.Tensor):
            assert ours.stride() == theirs.stride()
            tolerance = 2e-2 if theirs.dtype == torch.bfloat16 else 1e-5 if theirs.is_floating_point() or theirs.is_complex() else 0
            torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)
        else:
            assert ours == theirs


def both(module, **options):
    """The module compiled, and an eager copy with memory of its own."""
    eager = copy.deepcopy(module.eval())
    return torch.compile(module, backend=torch_backend.torch_backend, **options), eager


class Counting(nn.Module):
    """A cache that each call writes to, at a position that it counts."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(1, 8, 4))
        self.register_buffer("position", torch.zeros((), dtype=torch.int64))
        self.project = nn.Linear(4, 4)

    def forward(self, x):
        self.cache.index_copy_(1, self.position.view(1), self.project(x))
        self.position += 1
        return self.cache.sum(1)


def test_an_encoder_layer_and_sizes_that_change(compiles):
    compiled, eager = both(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True))
    for batch, length in ((2, 5), (3, 7), (4, 9), (5, 11)):
        compare(compiled, eager, torch.randn(batch, length, 32))
    assert len(compiles) == 2   # for the first sizes, and for all others
    assert len(compiles[1].inputs) == 1 and compiles[1].signature.symbols
    assert "layer_norm" in str(compiles[1].explain())


def test_buffers_that_a_call_writes():
    compiled, eager = both(Counting())
    for _ in range(3):
        compare(compiled, eager, torch.randn(1, 1, 4))
    torch.testing.assert_close(compiled.cache, eager.cache)
    assert int(compiled.position) == 3


def test_buffers_that_nothing_writes_are_constants(compiles):
    compiled, eager = both(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)))
    compare(compiled, eager, torch.randn(2, 3, 8, 8))
    assert len(compiles[0].inputs) == 1


def test_weights_that_change(compiles):
    module = nn.Linear(40, 30)
    compiled, eager = both(module)
    x = torch.randn(2, 40)
    compare(compiled, eager, x)
    for model in (module, eager):
        model.weight.mul_(2)
        model.bias.data = torch.ones(30)
    compare(compiled, eager, x)
    for step in range(torch_backend.SETS_OF_WEIGHTS + 2):
        for model in (module, eager):
            model.weight.add_(step)
        compare(compiled, eager, x)
    assert len(compiles) == torch_backend.SETS_OF_WEIGHTS + 1 and len(compiles[-1].inputs) == 3


def in_place(x):
    x.add_(1)
    part = x[:, ::2]
    part.mul_(2)
    return x.t(), part


def broken(x, n):
    y = x * 2
    if y.sum() > 0:
        y = y + n
    return y.view(-1).sum() + n


def numbers(x, n):
    return torch.cat([x, torch.zeros(n, 3)]), n * 2


def views(x):
    return x.transpose(0, 1), x.expand(2, *x.shape), x[0], (x * 2).transpose(0, 1), x


@pytest.mark.parametrize(("function", "calls"), [
    (in_place, [(torch.randn(4, 6),), (torch.randn(4, 6),)]),
    (broken, [(torch.ones(4, 6), 1), (-torch.ones(4, 6), 1), (torch.ones(4, 6), 7), (torch.ones(4, 6), 9)]),
    (numbers, [(torch.randn(4, 3), 2), (torch.randn(5, 3), 3), (torch.randn(6, 3), 7)]),
    (views, [(torch.randn(4, 3),), (torch.randn(4, 6)[:, ::2],)]),
], ids=lambda value: getattr(value, "__name__", ""))
def test_functions(function, calls):
    compiled = torch.compile(function, backend=torch_backend.torch_backend)
    for args in calls:
        compare(compiled, function, *args)


def constants(x):
    """Constants of several element types, an empty one, numbers, some read twice; one is a view, one written, one a result."""
    row, mask = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([True, False, True])
    written = torch.tensor([1.0, 2.0, 3.0])
    written[0] = 7
    table = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    joined = torch.cat([x.flatten(), torch.tensor([])])
    return (x * row + row, row, x.masked_fill(mask, 9.0), x[:, torch.tensor([2, 0])], joined, x.long() + torch.tensor(3), x @ table,
            table.t()[1] * x, x * written, x.half() * torch.tensor([0.5, 1.0, 2.0], dtype=torch.float16), x * torch.tensor(2.5),
            x.bfloat16() * torch.tensor([0.5, 1.0, 2.0], dtype=torch.bfloat16), x * x.new_tensor([1.0, 2.0, 3.0]) + x.shape[0])


def test_constants_of_a_function(compiles):
    """Of fixed sizes, then of any: the constants are in the models, which have one input."""
    compiled = torch.compile(constants, backend=torch_backend.torch_backend)
    for rows in (4, 5, 7):
        compare(compiled, constants, torch.randn(rows, 3))
    assert [len(made.inputs) for made in compiles] == [1, 1]


def test_constants_on_both_sides_of_a_graph_break(compiles):
    def function(x):
        factor = torch.tensor([1.0, 2.0, 3.0])
        y = x * factor
        if y.sum() > 0:
            y = y + torch.tensor(4.0)
        return y @ factor

    compiled = torch.compile(function, backend=torch_backend.torch_backend)
    for sign in (1, -1):
        x = sign * torch.ones(4, 3)
        torch._dynamo.mark_dynamic(x, 0)
        compare(compiled, function, x)
    assert len(compiles) > 1


class Tied(nn.Module):
    """Two layers of one weight, one of its transpose, a constant beside each call, and a tensor that no module registers."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.turned = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3, bias=False)
        self.second.weight = self.first.weight
        self.turned.weight = nn.Parameter(self.first.weight.data.t())
        self.column = self.first.weight.data[:, 1]

    def forward(self, x):
        for layer in (self.first, self.first, self.second):
            x = layer(x) * torch.tensor([1.0, 2.0, 3.0])
        return self.turned(x) + self.column


def test_constants_beside_shared_weights():
    compiled, eager = both(Tied())
    for rows in (4, 5, 6):
        compare(compiled, eager, torch.randn(rows, 3))


def test_a_graph_without_inputs_gives_tensors():
    def function():
        return torch.arange(3) * 2, torch.tensor([1.0, 2.0], dtype=torch.bfloat16) + 1, torch.tensor([True]) & torch.tensor([False])

    compare(torch.compile(function, backend=torch_backend.torch_backend), function)


def test_a_part_of_an_op_as_result():
    """The result of layer_norm, whose op has three, behind an op of two results that torch's exporter decomposes."""
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(6, 6))
    compiled, eager = both(nn.Sequential(layer, nn.LayerNorm(6)))
    compare(compiled, eager, torch.randn(4, 6))


def test_views_that_overlap_and_views_of_results_in_any_sizes(compiles):
    def function(x):
        y = x * 2
        rows = x.shape[0]
        return x.unsqueeze(0).expand(3, rows, 4), x.split(2, 1), x[1:], y[:, ::2], y.t()[1:], y.unsqueeze(1).expand(rows, 2, 4), y

    compiled = torch.compile(function, backend=torch_backend.torch_backend, dynamic=True)
    for rows in (5, 6, 7):
        compare(compiled, function, torch.randn(rows, 4))
    x = torch.randn(5, 4)
    results = leaves(compiled(x))
    assert results[0].data_ptr() == x.data_ptr() and results[-2].data_ptr() == results[-1].data_ptr()
    assert [len(made.outputs) for made in compiles] == [1]   # the product, of which torch makes the views


def test_a_diagonal_shares_memory_with_its_result():
    """The exporter gets it in terms of other ops, which are no view."""
    def function(x):
        y = x * 2
        d = y.diagonal(1)
        d.zero_()
        return y, d

    compiled = torch.compile(function, backend=torch_backend.torch_backend)
    compare(compiled, function, torch.randn(3, 4))
    y, d = compiled(torch.randn(3, 4))
    d.fill_(7)
    assert y[0, 1] == y[1, 2] == 7


@pytest.mark.parametrize("turn", [lambda y: y.mT, lambda y: y.movedim(0, 1)[1:], lambda y: y.t().unsqueeze(0)])
def test_a_result_written_through_a_transposed_view(turn):
    """What is computed is turned in memory, once, and both results are views of it."""
    def function(x):
        y = x * 2
        z = turn(y)
        z.add_(1)
        return y, z

    compiled = torch.compile(function, backend=torch_backend.torch_backend)
    compare(compiled, function, torch.randn(3, 4))
    y, z = compiled(torch.randn(3, 4))
    z.fill_(7)
    assert (y == 7).sum() == z.numel()


def test_memory_formats_and_halves():
    compiled, eager = both(nn.Conv2d(3, 4, 3))
    compare(compiled, eager, torch.randn(2, 8, 8, 3).permute(0, 3, 1, 2))
    compiled, eager = both(nn.Linear(8, 8).bfloat16())
    compare(compiled, eager, torch.randn(2, 8, dtype=torch.bfloat16))


def test_dynamic_from_the_first_call(compiles):
    def function(x):
        return x.softmax(-1).cumsum(0)

    compiled = torch.compile(function, backend=torch_backend.torch_backend, dynamic=True)
    for rows in (3, 5, 8):
        compare(compiled, function, torch.randn(rows, 4))
    assert len(compiles) == 1


def test_refusals():
    x = torch.randn(2, 3)
    module = nn.Linear(3, 3)
    with torch.enable_grad(), pytest.raises(Exception, match="gradients are asked for: call the model under"):
        torch.compile(module, backend=torch_backend.torch_backend)(x)
    with pytest.raises(Exception, match="has no option 'fast', only target and cache"):
        torch.compile(module, backend=torch_backend.torch_backend, options={"fast": True})(x)


def test_torch_finds_the_backend():
    project = Path(__file__).parents[2] / "pyproject.toml"
    (value,) = tomllib.loads(project.read_text())["project"]["entry-points"]["torch_dynamo_backends"].values()
    module, _, name = value.partition(":")
    assert getattr(import_module(module), name) is torch_backend.torch_backend
