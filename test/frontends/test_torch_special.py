"""Special functions and models of doubles by from_torch, against PyTorch itself and, where its own last places are lost, mpmath."""
import math

import pytest
from torch_functions import module_of

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
functional, special = torch.nn.functional, torch.special
nan, inf = float("nan"), float("inf")
DOUBLES = [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 0.5, -2.5, 1e-10, -1e-10, 1e-4, -1e-4, 0.1, 0.7, 0.999, 1.001, 1.999, 7.3, 12.2, 20.0, 27.0,
           55.0, 300.0, 4000.0, -3.7, -6.2, -9.9, -17.0, -30.5, -300.1, inf, -inf, nan]
WHOLE = [0, 1, -1, 2, 3, 5, -7, 12, 33, 100, -90]
FUNCTIONS = {
    "lgamma": torch.lgamma, "digamma": torch.digamma, "erfinv": torch.erfinv, "erfcx": special.erfcx, "log1p": torch.log1p,
    "expm1": torch.expm1, "erfc": torch.erfc, "log2": torch.log2, "log10": torch.log10, "sinc": torch.sinc,
    "log_ndtr": special.log_ndtr, "angle": torch.angle,
    "logit": lambda x: torch.logit(x, 0.2),
    "polygamma": lambda x: torch.polygamma(0, x), "sgn": torch.sgn,
    "deg2rad": torch.deg2rad, "mvlgamma": lambda x: torch.mvlgamma(x.abs() + 3, 3),
}
OF_FLOATS = {
    "trunc": torch.trunc, "frac": lambda x: torch.frac(torch.where(x.isinf(), 0.5, x)), "sign": torch.sign, "gelu": functional.gelu,
    "silu": functional.silu, "softplus": lambda x: functional.softplus(x, 1.3, 15.1), "elu": lambda x: functional.elu(x, 0.3),
    "celu": lambda x: functional.celu(x, 0.7), "selu": functional.selu, "logsigmoid": functional.logsigmoid,
    "leaky_relu": lambda x: functional.leaky_relu(x, 0.1), "hardsigmoid": functional.hardsigmoid, "hardswish": functional.hardswish,
}
NO_HALVES = ("erfcx", "log_ndtr")      # in PyTorch itself
BOUNDS = {torch.float64: 1e-14, torch.float32: 2e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}


def compiled(function, *arguments):
    return legato.compile(legato.from_torch(module_of(function), arguments), "llvm")(*arguments)


def same(functions, x):
    """The same as PyTorch's, of functions by name in one model: NaN, infinities and zeros where it has them, other numbers but for some
    last places; and of its types."""
    found = compiled(lambda x: tuple(function(x) for function in functions.values()), x)
    for (name, function), one in zip(functions.items(), found, strict=True):
        with torch.backends.mkldnn.flags(enabled=False):     # whose gelu of infinity is NaN
            wanted = function(x)
        bound = BOUNDS.get(wanted.dtype, 0)
        torch.testing.assert_close(one, wanted, rtol=bound, atol=bound * 1e-3, equal_nan=True,
                                   msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_functions_of_floats(dtype):
    left_out = NO_HALVES if dtype.itemsize == 2 else ()
    functions = {name: function for name, function in {**FUNCTIONS, **OF_FLOATS}.items() if name not in left_out}
    same(functions, torch.tensor(DOUBLES, dtype=torch.float64).to(dtype))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_functions_of_integers(dtype):
    same({name: function for name, function in FUNCTIONS.items() if name != "mvlgamma"}, torch.tensor(WHOLE).to(dtype))


EXACT = {
    "erfc": (torch.erfc, (-5, 26)), "lgamma": (torch.lgamma, (0.01, 40)), "erfinv": (torch.erfinv, (-0.999999, 0.999999)),
    "erfcx": (special.erfcx, (-9, 30)), "digamma": (torch.digamma, (1.7, 40)),
    "trigamma": (lambda x: torch.polygamma(1, x), (-4.51, 40)),
}


@pytest.mark.parametrize("name", EXACT)
def test_functions_are_right_in_all_places(name):
    mpmath = pytest.importorskip("mpmath")
    function, (first, last) = EXACT[name]
    right = {"trigamma": lambda x: mpmath.psi(1, x), "lgamma": lambda x: mpmath.loggamma(x).real,
             "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x)}
    with mpmath.workdps(40):
        for dtype, ulps in ((torch.float64, 8), (torch.float32, 4)):
            x = torch.linspace(first, 9 if name == "erfc" and dtype == torch.float32 else last, 301, dtype=dtype)
            for given, found in zip(x.tolist(), compiled(function, x).tolist()):
                wanted = (right[name] if name in right else getattr(mpmath, name))(mpmath.mpf(given))
                scale = max(abs(wanted), 1) if name in ("lgamma", "digamma") else abs(wanted) + torch.finfo(dtype).tiny
                assert abs(found - wanted) <= ulps * torch.finfo(dtype).eps * scale, (dtype, given, found, float(wanted))


X = torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
NUMBERS = {
    "add": lambda x: x + 0.1, "add_alpha": lambda x: torch.add(x, x[0], alpha=0.3), "where": lambda x: torch.where(x > 0.1, x, 0.7),
    "full": lambda x: x + torch.full((4,), 1 / 3, dtype=torch.float64), "clamp": lambda x: x.clamp(-0.3, 0.7),
    "pow": lambda x: x.abs() ** 0.3, "addmm": lambda x: torch.addmm(x[:, :3], x, x.T, beta=0.2, alpha=0.6),
    "addmv": lambda x: torch.addmv(x[:, 0], x, x[0], beta=0.2, alpha=0.6),
    "layer_norm": lambda x: functional.layer_norm(x * 1e-3, (4,), eps=1e-5), "lerp": lambda x: torch.lerp(x, x.flip(0), 0.3),
    "arange": lambda x: x + torch.arange(0.1, 4.1, dtype=torch.float64), "softshrink": lambda x: functional.softshrink(x, 0.3),
    "std": lambda x: x.std(1) * math.pi, "nan_to_num": lambda x: torch.where(x > 0, nan, x).nan_to_num(0.1),
    "pad": lambda x: functional.pad(x, (1, 2), value=0.1),
}


def test_numbers_of_models_of_doubles():
    same(NUMBERS, X)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("align", [False, True])
def test_images_of_given_scales(mode, align):
    def resize(x):
        return functional.interpolate(x, scale_factor=(0.6, 1.7), mode=mode, align_corners=align)

    image = X.reshape(1, 1, 3, 4)
    torch.testing.assert_close(compiled(resize, image), resize(image), rtol=1e-13, atol=1e-13)
    image = image.to(torch.float32)
    torch.testing.assert_close(compiled(resize, image), resize(image), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sizes", [None, ({2: "h", 3: "w"},)])
def test_images_of_scales_that_32_bits_do_not_hold(sizes):
    """0.7 of 10 is 7, and 6 by the next float; nearest places that are whole numbers are rounded in 32 bits."""
    class Resized(torch.nn.Module):
        def forward(self, x):
            return [*(functional.interpolate(x, scale_factor=(0.7, 0.3), mode=mode) for mode in ("nearest", "nearest-exact", "bilinear")),
                    *(functional.interpolate(x, scale_factor=(0.35, 1.3), mode=mode, antialias=True) for mode in ("bilinear", "bicubic"))]

    image, model = torch.rand(1, 2, 10, 30), Resized().eval()
    run = legato.compile(legato.from_torch(model, (image,), dynamic_shapes=sizes), "llvm")
    for given in [image] if sizes is None else [image, torch.rand(1, 2, 23, 20)]:
        for ours, expected in zip(run(given), model(given), strict=True):
            torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("sizes", [None, ({2: "w"},)])
def test_neighbours_that_are_infinite_or_far_apart(sizes):
    """Means by weights: a part of the difference of neighbours is NaN beside an infinity, and infinite where they are far apart."""
    class Resized(torch.nn.Module):
        def forward(self, x):
            image = x.reshape(1, 1, 3, -1)
            return [functional.interpolate(x, size=5, mode="linear"), functional.interpolate(x, scale_factor=1.7, mode="linear"),
                    functional.interpolate(x, scale_factor=2.0, mode="linear"),
                    functional.interpolate(image, scale_factor=(1.7, 0.6), mode="bilinear"),
                    functional.interpolate(image[..., None], scale_factor=(1.7, 0.6, 2.3), mode="trilinear")]

    inf, far = float("inf"), 3e38
    signals, model = torch.tensor([[[1.0, -inf, 2, 3], [inf, 1, 2, far], [far, -far, 1, 1]]]), Resized().eval()
    run = legato.compile(legato.from_torch(model, (signals,), dynamic_shapes=sizes), "llvm")
    for given in [signals] if sizes is None else [signals, signals.repeat(1, 1, 2)]:
        for ours, expected in zip(run(given), model(given), strict=True):
            known = ~expected.isnan()   # torch multiplies neighbours of weight 0, too
            assert (expected.isinf() | (expected.abs() > 1e38)).any()
            torch.testing.assert_close(ours[known], expected[known])


@pytest.mark.parametrize("sizes", [None, ({2: "h", 3: "w"},)])
def test_nearest_elements_by_sizes_and_short_scales(sizes):
    """Element 1 of 7 out of 49 is element 7, and 2 of 4 out of 30 is 15: torch multiplies places by the inverse of the scale."""
    class Resized(torch.nn.Module):
        def forward(self, x):
            return [*(functional.interpolate(x, to, mode=mode) for mode in ("nearest", "nearest-exact") for to in ((7, 4), (14, 64))),
                    functional.interpolate(x, (x.shape[2] * 3, x.shape[3] // 2), mode="nearest"),
                    *(functional.interpolate(x, scale_factor=to, mode="nearest") for to in ((1.5, 2.625), (49.0, 3.0)))]

    image, model = torch.rand(1, 2, 49, 30), Resized().eval()
    run = legato.compile(legato.from_torch(model, (image,), dynamic_shapes=sizes), "llvm")
    for given in [image] if sizes is None else [image, torch.rand(1, 2, 224, 31), torch.rand(1, 2, 5, 49)]:
        for ours, expected in zip(run(given), model(given), strict=True):
            torch.testing.assert_close(ours, expected, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float16])
def test_softmax_of_another_type(dtype):
    same({"softmax": lambda x: torch.softmax(x, 1, torch.float32), "log_softmax": lambda x: torch.log_softmax(x, 0, torch.float64)},
         (X * 9).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_reductions_of_halves(dtype):
    same({"sum": torch.sum, "sum_of_axis": lambda x: x.sum(1), "mean": torch.mean, "mean_of_axis": lambda x: x.mean(0),
          "addcmul": lambda x: torch.addcmul(x, x, x, value=-0.99), "addcdiv": lambda x: torch.addcdiv(x, x, x - 0.1, value=0.3),
          "prod": lambda x: x.prod(1), "cumsum": lambda x: x.cumsum(0), "float_sum": lambda x: x.sum(0, dtype=torch.float32)}, X.to(dtype))
