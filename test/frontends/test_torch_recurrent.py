"""legato.from_torch: LSTMs with projections, recurrent layers of free lengths, and convolutions of volumes, against PyTorch itself."""
import pytest

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
nn = torch.nn


class Recurrent(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, states=None):
        return self.layer(x, tuple(states) if isinstance(states, list) else states)


def check(layer, args, others=(), **how):
    """Compiled for ``args``, and right for these and for ``others``."""
    model = Recurrent(layer).eval()
    compiled = legato.compile_torch(model, args, **how)
    for given in (args, *others):
        torch.testing.assert_close(compiled(*given), model(*given), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("layers", [1, 2])
def test_projections(layers, bidirectional, bias):
    """The exporter drops the projection. States that are given are projected ones."""
    torch.manual_seed(0)
    count = layers * (2 if bidirectional else 1)
    layer = nn.LSTM(5, 7, layers, bias, batch_first=bias, bidirectional=bidirectional, proj_size=3)
    x = torch.randn(2, 6, 5) if bias else torch.randn(6, 2, 5)
    check(layer, (x, [torch.randn(count, 2, 3), torch.randn(count, 2, 7)]))
    check(layer, (x,))


def test_projections_of_free_lengths():
    layer = nn.LSTM(5, 7, 2, batch_first=True, bidirectional=True, proj_size=3)
    check(layer, (torch.randn(2, 6, 5),), [(torch.randn(n, length, 5),) for n, length in ((1, 1), (3, 9))],
          dynamic_shapes=({0: "n", 1: "length"},))


@pytest.mark.parametrize("how", [{}, {"num_layers": 2, "bidirectional": True, "batch_first": True},
                                 {"nonlinearity": "relu", "bias": False}], ids=["tanh", "two layers", "relu"])
def test_plain_layers_of_free_lengths(how):
    """The exporter unrolls the steps. States are given, or not."""
    torch.manual_seed(0)
    layer, count = nn.RNN(5, 7, **how), 4 if "num_layers" in how else 1
    first = "batch_first" in how
    given = [torch.randn(*((n, length) if first else (length, n)), 5) for n, length in ((2, 6), (1, 1), (3, 9))]
    axes = {0: "n", 1: "length"} if first else {0: "length", 1: "n"}
    check(layer, (given[0],), [(x,) for x in given[1:]], dynamic_shapes=(axes,))
    calls = [(x, torch.randn(count, x.shape[0 if first else 1], 7)) for x in given]
    check(layer, calls[0], calls[1:], dynamic_shapes=(axes, {1: "n"}))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_free_length_after_another_import(kind):
    """torch keeps the kernel that it has called first, which unrolls the steps."""
    layer = kind(5, 7, batch_first=True)
    check(layer, (torch.randn(2, 6, 5),))
    for _ in range(2):
        check(layer, (torch.randn(2, 6, 5),), [(torch.randn(2, 9, 5),)], dynamic_shapes=({1: "length"},))
    check(layer, (torch.randn(2, 6, 5),))


@pytest.mark.parametrize("how", [{}, {"padding": "same", "dilation": (1, 2, 1)}, {"stride": (2, 1, 1), "groups": 3, "padding": 1}])
def test_volumes_without_a_bias(how):
    """The exporter makes a bias of two axes."""
    model, x = nn.Conv3d(3, 6, 3, bias=False, **how).eval(), torch.randn(2, 3, 5, 6, 7)
    torch.testing.assert_close(legato.compile_torch(model, (x,))(x), model(x), rtol=1e-4, atol=1e-5)
