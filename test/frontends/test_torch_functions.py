"""Bessel functions, zeta and its kin, greatest common divisors, modes and histograms, and halves whose powers overflow, by torch.compile,
against PyTorch's doubles."""
import pytest
from torch_functions import module_of

import legato

torch = pytest.importorskip("torch")
functional = torch.nn.functional
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.usefixtures("fresh_torch")
special = torch.special
nan, inf = float("nan"), float("inf")
NUMBERS = torch.cat([torch.linspace(-20, 20, 81, dtype=torch.float64), torch.tensor([0.0, -0.0, nan, 1e-8, 60.0, -60.0])])
SHARES = torch.cat([torch.linspace(-0.1, 1.1, 61, dtype=torch.float64), torch.tensor([0.0, 1.0, 1e-3, 1e-10, 1e-30, 0.5, nan])])
FUNCTIONS = {
    "i0": (torch.i0, NUMBERS), "i0e": (special.i0e, NUMBERS), "i1": (special.i1, NUMBERS), "i1e": (special.i1e, NUMBERS),
    "ndtri": (special.ndtri, SHARES), "polygamma_2": (lambda x: torch.polygamma(2, x), NUMBERS),
    "polygamma_3": (lambda x: torch.polygamma(3, x), NUMBERS), "zeta": (lambda x: special.zeta(x, 1.3), NUMBERS),
    "zeta_of_places": (lambda x: special.zeta(3.0, x), NUMBERS), "zeta_of_a_fraction": (lambda x: special.zeta(2.5, x), NUMBERS),
}
WHOLE = torch.tensor([0, 1, -1, 12, -18, 100, 7, 91, -120, 64])
OTHERS = {
    "gcd": lambda x: (torch.gcd(WHOLE, WHOLE.flip(0)), torch.gcd(WHOLE[:, None].to(torch.int8), WHOLE.to(torch.int8)) + x[:1].long()),
    "lcm": lambda x: torch.lcm(WHOLE, WHOLE.flip(0)) + x[:1].long(), "mode": lambda x: x.reshape(5, 8).mode(1).values,
    "mode_of_rows": lambda x: (x > 2).reshape(5, 8).mode(0).values, "histogram": lambda x: (torch.histc(x, 7), torch.histc(x, 3, 1, 4)),
    "sorted_flags": lambda x: torch.sort((x > 2).reshape(5, 8), 1).values, "window": lambda x: x * torch.kaiser_window(40, False, 8.0),
    "numbers": lambda x: (x[0].flip(0), x[0].scatter(0, torch.tensor(0), 5.0), x[0].scatter_add(0, torch.tensor(0), x[1])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    function, x = FUNCTIONS[name]
    for dtype, bound in ((torch.float64, 2e-14), (torch.float32, 3e-6)):
        given = x.to(dtype)
        found, wanted = torch.compile(function, backend="legato")(given), function(given)
        torch.testing.assert_close(found, wanted, rtol=bound, atol=0 if dtype == torch.float64 else 1e-30, equal_nan=True)


@pytest.mark.parametrize("name", OTHERS)
def test_others(name):
    x = (torch.arange(40) * 7 % 5).to(torch.float32)
    for ours, theirs in zip(*[torch.utils._pytree.tree_leaves(f(x)) for f in (torch.compile(OTHERS[name], backend="legato"), OTHERS[name])],
                            strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("function", [torch.logaddexp, torch.logaddexp2], ids=["base_e", "base_2"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_logarithms_of_sums_of_powers(function, dtype):
    """The powers are beyond the largest float, or below the least."""
    x = torch.tensor([3.0, 1000, -1000, 1000, 0, inf, -inf, -inf, inf, nan, 2.5], dtype=dtype)
    y = torch.tensor([3.0, 1000, -1000, -1000, 700, inf, -inf, 5, -inf, 1, inf], dtype=dtype)
    torch.testing.assert_close(torch.compile(function, backend="legato")(x, y), function(x, y), equal_nan=True)


WIDE = {    # of numbers up to 1000: squares and products are beyond what f16 holds, results are not
    "instance_norm": lambda x, w: functional.instance_norm(x),
    "instance_norm_with_weights": lambda x, w: functional.instance_norm(x, weight=w[0, :, 0, 0], bias=w[1, :, 0, 0]),
    "batch_norm": lambda x, w: functional.batch_norm(x, None, None, training=True),
    "addmm": lambda x, w: torch.addmm(x[0, 0], x[0, 1], w[0, 0], beta=0.5, alpha=1e-3),
    "addmm_without_sum": lambda x, w: torch.addmm(x[0, 0], x[0, 1], w[0, 0], beta=0, alpha=1e-3),
    "baddbmm": lambda x, w: torch.baddbmm(x[0], x[1], w[0], beta=0.5, alpha=1e-3),
    "norm_2": lambda x, w: torch.linalg.vector_norm(x / 8), "norm_3": lambda x, w: torch.linalg.vector_norm(x, 3, dim=(1, 3)),
    "norm_inf": lambda x, w: torch.linalg.vector_norm(x, inf, dim=2),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", WIDE)
def test_halves_whose_powers_overflow(name, dtype):
    x, w = ((torch.randn(2, 3, 8, 8) * 300).to(dtype) for _ in range(2))
    exact = WIDE[name](x.double(), w.double())
    found = torch.compile(WIDE[name], backend="legato")(x, w)
    bound = {torch.float16: 1e-3, torch.bfloat16: 1e-2}[dtype] * exact.abs().max()
    assert found.dtype == dtype and (found - exact).abs().max() < bound


@pytest.mark.parametrize("function", [torch.hstack, torch.vstack, torch.dstack, torch.column_stack, torch.atleast_2d])
def test_tensors_beside_each_other_by_from_torch(function):
    """The exporter maps a sequence."""
    for x in (torch.tensor(2.0, dtype=torch.bfloat16), torch.arange(3), torch.arange(6.0).reshape(2, 3)):
        model = module_of(lambda *given: function(given))
        for ours, theirs in zip(*[torch.utils._pytree.tree_leaves(f(x, x + 1)) for f in (legato.compile_torch(model, (x, x + 1)), model)]):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", ["divide", "multiply", "subtract", "greater", "greater_equal", "less", "less_equal", "not_equal"])
def test_other_names_of_ops_promote_their_operands(name):
    """As masked.var divides by a number of elements."""
    model, x = module_of(getattr(torch, name)), (torch.arange(-3.0, 3.0), torch.arange(6) - 2)
    torch.testing.assert_close(legato.compile_torch(model, x)(*x), model(*x))


def test_one_tensor_for_several_arguments():
    """They are several arguments of the compiled model, and so is one that is a buffer, too."""
    model, x, y = module_of(lambda a, b, c: a - 2 * b["of"] + 3 * c), torch.arange(6.0), torch.arange(6.0) * 7 % 5
    exe = legato.compile_torch(model, (x, {"of": x}, x))
    for given in ((x, y, x), (y, x, x), (x, x, y)):
        torch.testing.assert_close(exe(given[0], {"of": given[1]}, given[2]), model(given[0], {"of": given[1]}, given[2]))
    model = module_of(lambda a: a - 2 * model.kept)
    model.register_buffer("kept", x)
    torch.testing.assert_close(legato.compile_torch(model, (x,))(y), y - 2 * x)
