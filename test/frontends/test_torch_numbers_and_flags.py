"""Ops of flags, of single numbers along an axis and of nothing, and writes that are combined with what is there, by torch.compile."""
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.usefixtures("fresh_torch")

FLAGS = torch.tensor([[True, False, False], [False, False, True], [True, True, True]])
X = torch.arange(12.0).reshape(3, 4) / 11
AT = torch.tensor([[0, 2, 1, 0], [1, 2, 0, 0]])
CASES = {
    "limits of flags": (lambda x: (torch.clamp_max(x, x[1]), torch.clamp_min(x, x[1])), FLAGS),
    "extreme flags": (lambda x: (*torch.max(x, 1), *torch.min(x, 0, keepdim=True)), FLAGS),
    "an outer product of flags": (lambda x: (torch.addr(x, x[0], x[1]), torch.addr(x, x[0], x[1], beta=0)), FLAGS),
    "powers of flags": (lambda x: (torch.square(x), torch.pow(x, 0), torch.pow(x, 0.5)), FLAGS),
    "angles of flags": (torch.angle, FLAGS),
    "a number's axis": (lambda x: (torch.all(x, 0), torch.any(x, 0, keepdim=True), torch.prod(x, 0)), torch.tensor(2.5)),
    "a number's variance": (lambda x: (*torch.var_mean(x, correction=0), *torch.std_mean(x, correction=0), x.var(correction=0),
                                       x.std(0, correction=0)), torch.tensor(2.5)),
    "a byte's axis": (lambda x: (torch.all(x, 0), torch.any(x, 0), torch.prod(x, 0)), torch.tensor(3, dtype=torch.uint8)),
    "medians of nothing": (lambda x: (torch.median(x[:0]), torch.nanmedian(x[:, :0])), X),
    "a histogram of nothing": (lambda x: torch.histc(x[:0], 5), X),
    "scattered sums": (lambda x: x.scatter(0, AT, x[:2], reduce="add"), X),
    "scattered products": (lambda x: x.scatter(0, AT, 2.5, reduce="multiply"), X),
    "a sum to a number": (lambda x: x[0, 1].scatter(0, torch.tensor(0), x[1, 1], reduce="add"), X),
    "logits of crossed bounds": (lambda x: torch.logit(x, 0.6), X),
    "whole steps": (lambda x: x[0, 0] + torch.arange(0.5, 5.0, 1.5, dtype=torch.int64), X),
}


@pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter")
@pytest.mark.parametrize("name", CASES)
def test_as_torch(name):
    function, x = CASES[name]
    found, wanted = torch.compile(function, backend="legato")(x), function(x)
    for ours, theirs in zip(*map(torch.utils._pytree.tree_leaves, (found, wanted)), strict=True):
        torch.testing.assert_close(ours, theirs, equal_nan=True)
