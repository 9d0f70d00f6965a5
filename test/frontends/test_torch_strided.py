"""``as_strided`` counts elements in memory: of a transposed tensor, others than in the order of its axes."""
import pytest
from torch_functions import module_of

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.usefixtures("fresh_torch")

X = torch.arange(24.0).reshape(4, 6)
WITHIN = {
    "plain": (lambda x: (x + 1).as_strided((3, 4), (6, 1)), X),
    "transposed": (lambda x: (x + 1).t().as_strided((3, 4), (6, 1)), X),
    "three axes": (lambda x: (x.reshape(2, 3, 4) + 1).permute(2, 0, 1).as_strided((3, 4, 2), (4, 1, 12), 0), X),
    "an offset": (lambda x: (x + 1).t().as_strided((3, 4), (6, 1), 2), X),
    "overlapping": (lambda x: (x + 1).t().as_strided((5, 4), (4, 1)), X),
    "an axis of one": (lambda x: (x[:1] + 1).t().as_strided((3,), (1,)), X),
    "nothing": (lambda x: (x[:0] + 1).t().as_strided((0, 3), (1, 1)), X),
    "an argument": (lambda x: x.as_strided((3, 4), (6, 1)) + 1, X.t()),
}
BESIDE = {
    "a slice": lambda x: (x + 1)[:, 1:].as_strided((3, 4), (6, 1)),
    "rows": lambda x: (x + 1)[:2].as_strided((3, 4), (6, 1)),
    "an expanded row": lambda x: (x[:1] + 1).expand(4, 6).as_strided((6,), (1,)),
}


@pytest.mark.parametrize("name", WITHIN)
def test_within_a_tensor(name):
    function, x = WITHIN[name]
    assert torch.equal(torch.compile(function, backend="legato")(x), function(x))
    assert torch.equal(legato.compile_torch(module_of(function), (x,))(x), function(x))


def test_sizes_that_change():
    def function(x):
        return (x + 1).t().as_strided((x.shape[0], 3), (6, 1))

    compiled = torch.compile(function, backend="legato", dynamic=True)
    for rows in (4, 2, 7):
        x = torch.arange(6.0 * rows).reshape(rows, 6)
        assert torch.equal(compiled(x), function(x))


@pytest.mark.parametrize("name", BESIDE)
def test_beside_a_tensor(name):
    """torch.compile computes such views of their base, a single module is refused."""
    assert torch.equal(torch.compile(BESIDE[name], backend="legato")(X), BESIDE[name](X))
    with pytest.raises(legato.LegatoError, match="Function cannot be imported: its as_strided reads memory beside the elements"):
        legato.compile_torch(module_of(BESIDE[name]), (X,))
