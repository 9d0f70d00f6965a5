"""Products of f32 by Strassen's algorithm, against numpy in f64."""
import numpy as np
import pytest
from harness import Net

from legato.core.cpu import missing_features
from legato.passes.cpu.strassen import tiles

RNG = np.random.default_rng(31)
CPUS = [cpu for cpu in ("x86-64-v3", "znver4") if not missing_features(cpu, "")]
ERROR = 2.0**-19        # over the sum of the magnitudes of a row's products, where rows are as great as each other
# pairs of tiles alone, with rows behind them, in several chunks, panels that are halved, a last panel of few columns, depths in blocks,
# and those whose half is no whole number of vectors
SHAPES = ((120, 384, 384), (197, 768, 512), (1100, 256, 128), (300, 480, 128), (260, 512, 1016), (512, 1024, 256), (150, 2048, 1536),
          (32, 784, 512), (75, 786, 128), (33, 3090, 200), (90, 3072, 72))


@pytest.fixture
def always(monkeypatch):
    """Products of all sizes take this form, also where it does not pay."""
    for name in ("PAYS", "PAYS_LATER"):
        monkeypatch.setattr(tiles, name, 9)


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def in_sums(net):
    """The kernels whose products are loops after the stage "fused", those for many rows included."""
    kernels = str(net.lowered("fused")).split("func.func ")
    return sum("linalg.matmul" not in kernel and "math.fma" in kernel for kernel in kernels)


def products(target, shapes, change=None):
    """Each product, with a bias and a relu: what the model computes, its f64 counterpart, and the greatest sum of magnitudes in a row."""
    net, arrays, wanted = Net(target, first=None), [], []
    for count, depth, columns in shapes:
        x, w, bias = numbers(count, depth), numbers(depth, columns), numbers(columns)
        if change:
            change(x)
        product = net.op("relax.matmul", [net.input((count, depth)), net.weight(w)])
        net.output(net.op("relax.relu", [net.op("relax.add", [product, net.weight(bias)])]))
        arrays.append(x)
        with np.errstate(invalid="ignore"):
            exact = x.astype(np.float64) @ w.astype(np.float64) + bias
            sums = (np.abs(x).astype(np.float64) @ np.abs(w) + np.abs(bias)).max(axis=1, keepdims=True)
        wanted.append((np.where(exact < 0, 0, exact), sums))
    assert in_sums(net) == len(shapes)
    return net, arrays, wanted


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cpu", CPUS)
def test_products(always, cpu, threads):
    net, arrays, wanted = products(f"llvm{{cpu={cpu} threads={threads}}}", SHAPES)
    for found, (exact, sums) in zip(net.run(*arrays), wanted, strict=True):
        assert (np.abs(found - exact) <= ERROR * sums).all()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("cpu", CPUS)
def test_unknown_rows(always, cpu, threads):
    """One kernel for any number of rows has both forms."""
    net = Net(f"llvm{{cpu={cpu} threads={threads}}}", first=None)
    w = numbers(768, 1536)
    net.output(net.op("relax.matmul", [net.input(("n", 768)), net.weight(w)]))
    assert in_sums(net) == 1 and "tir.form_of" in str(net.lowered("fused"))
    for rows in (0, 1, 37, 255, 256, 257, 500, 519, 520, 1030):
        x = numbers(rows, 768)
        found, = net.run(x)
        sums = np.abs(x).astype(np.float64) @ np.abs(w)
        assert (np.abs(found - x.astype(np.float64) @ w) <= ERROR * sums.max(axis=1, keepdims=True, initial=0)).all()


@pytest.mark.parametrize("depth", [512, 3072])
@pytest.mark.parametrize("cpu", CPUS)
def test_rows_keep_to_themselves(always, cpu, depth):
    """An infinity, a NaN, zeros or great numbers in a row are not seen in others; each row is as precise as its own numbers. The first
    pair of tiles of rows is multiplied plainly, so that the sums of columns are those of later ones."""
    def change(x):
        x[3, 5], x[40, 0], x[77], x[101] = np.inf, np.nan, 0, x[101] * 1e6
        x[120:140] *= np.float32(2.0**-100)
        x[150, 9] = 2.0**100

    net, arrays, wanted = products(f"llvm{{cpu={cpu}}}", [(200, depth, 512)], change)
    (found,), ((exact, sums),) = net.run(*arrays), wanted
    special = [3, 40]
    np.testing.assert_array_equal(found[special], exact[special].astype(np.float32))
    others = np.delete(np.arange(200), special)
    assert (np.abs(found[others] - exact[others]) <= ERROR * sums[others]).all()


@pytest.mark.parametrize("ratio", [4, 15])
def test_uneven_rows(always, ratio):
    """The error of a row grows by what the row beside it is greater, which is bounded."""
    def change(x):
        x[::2] *= ratio
        x[10:20] *= ratio

    net, arrays, wanted = products(f"llvm{{cpu={CPUS[0]}}}", [(240, 512, 512)], change)
    for found, (exact, sums) in zip(net.run(*arrays), wanted, strict=True):
        assert (np.abs(found - exact) <= 16 * ERROR * sums).all()


@pytest.mark.parametrize("change", ["a column of zeros", "a great column", "a great row", "an infinity", "a NaN",
                                    "numbers near the greatest"])
def test_uneven_weights_are_multiplied_plainly(change):
    w = numbers(512, 512)
    if change == "numbers near the greatest":
        w *= np.float32(1e36)
    else:
        place = (slice(None), 7) if "column" in change else 7 if "row" in change else (300, 7)
        w[place] = {"a column of zeros": 0, "an infinity": np.inf, "a NaN": np.nan}.get(change, 100 * w[place])
    net = Net(f"llvm{{cpu={CPUS[0]}}}", first=None)
    net.output(net.op("relax.matmul", [net.input((240, 512)), net.weight(w)]))
    assert in_sums(net) == 0


@pytest.mark.parametrize(("great", "count"), [(256, 0), (512, 1)])
def test_blocks_of_weights(great, count):
    """The halves of a block of the depth are added to each other, not those of the whole depth."""
    w = numbers(3072, 768)
    w[:great] *= 100
    net = Net("llvm{cpu=znver4}", first=None)
    net.output(net.op("relax.matmul", [net.input((240, 3072)), net.weight(w)]))
    assert in_sums(net) == count


def test_a_residual_that_dies_is_added_once(always):
    """Results may be written where another operand of the kernel was."""
    net = Net(f"llvm{{cpu={CPUS[0]} threads=2}}", first=None)
    w, x = [numbers(384, 384) / np.float32(20) for _ in range(3)], numbers(203, 384)
    value = net.op("relax.relu", [net.input(x.shape)])
    for weight in w:
        value = net.op("relax.add", [value, net.op("relax.matmul", [value, net.weight(weight)])])
    net.output(value)
    assert in_sums(net) == 1
    exact = np.maximum(x, 0).astype(np.float64)
    for weight in w:
        exact = exact + exact @ weight
    for _ in range(2):
        found, = net.run(x)
        assert np.abs(found - exact).max() <= 1e-5 * np.abs(exact).max()


@pytest.mark.parametrize(("options", "count"), [
    ("cpu=znver4", 1), ("cpu=znver4 strassen=false", 0), ("cpu=znver4 matmul-precision=bf16", 0), ("cpu=znver5", 0),
    ("cpu=icelake-server", 0), ("cpu=x86-64-v2", 0)])
def test_where(options, count):
    """CPUs that multiply twice as much in a cycle would wait for sums, and those without fused multiply-adds gain little."""
    net = Net(f"llvm{{{options}}}", first=None)
    net.output(net.op("relax.matmul", [net.input((512, 768)), net.weight(numbers(768, 768))]))
    assert in_sums(net) == count


@pytest.mark.parametrize("shape", [(16, 768, 3072), (512, 64, 64), (512, 101, 512), (31, 3072, 768)])
def test_small_products_are_plain(shape):
    rows, depth, columns = shape
    net = Net("llvm{cpu=znver4}", first=None)
    net.output(net.op("relax.matmul", [net.input((rows, depth)), net.weight(numbers(depth, columns))]))
    assert in_sums(net) == 0


def test_a_transposed_weight(always):
    """As of a language model whose embeddings are its last weight, too."""
    x, w = numbers(120, 256), numbers(1024, 256)
    net = Net(f"llvm{{cpu={CPUS[0]}}}", first=None)
    net.output(net.op("relax.matmul", [net.input(x.shape), net.op("relax.permute_dims", [net.weight(w)], axes=[1, 0])]))
    assert in_sums(net) == 1
    exact = x.astype(np.float64) @ w.T
    assert np.abs(net.run(x)[0] - exact).max() <= 1e-5 * np.abs(exact).max()
