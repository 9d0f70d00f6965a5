"""Products of one row by a large matrix of the run, against numpy in f64."""
import numpy as np
import pytest
from harness import Net

from legato.core.cpu import missing_features

RNG = np.random.default_rng(43)
CPUS = [cpu for cpu in ("x86-64-v3", "x86-64-v4") if not missing_features(cpu, "")]
ERROR = 2.0**-20        # over the sum of the magnitudes of a result's products
SHAPES = ((5, 20000), (64, 1030), (301, 2048), (200, 4097), (1000, 256))


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cpu", CPUS)
def test_products(cpu, threads):
    """Rows, and vectors; of two threads, whose parts end inside of a vector; with a bias behind the product, and a relu."""
    net, arrays, wanted = Net(f"llvm{{cpu={cpu} threads={threads}}}", first=None), [], []
    for number, (depth, columns) in enumerate(SHAPES):
        x, w, bias = numbers(*((1, depth) if number % 2 else (depth,))), numbers(depth, columns), numbers(columns)
        product = net.op("relax.matmul", [net.input(x.shape), net.input(w.shape)])
        net.output(net.op("relax.relu", [net.op("relax.add", [product, net.input(bias.shape)])]))
        arrays += [x, w, bias]
        wanted.append((np.maximum(x.astype(np.float64) @ w + bias, 0), np.abs(x).astype(np.float64) @ np.abs(w) + np.abs(bias)))
    assert net.products_in_loops() == len(SHAPES)
    for result, (exact, sums) in zip(net.run(*arrays), wanted, strict=True):
        assert result.shape == exact.shape and (np.abs(result - exact) <= ERROR * sums).all()


def test_an_infinity_is_in_its_column():
    net, x, w = Net("llvm", first=None), numbers(300), numbers(300, 1001)
    net.output(net.op("relax.matmul", [net.input(x.shape), net.input(w.shape)]))
    w[7, 1000], w[299, 3] = np.inf, np.nan
    (found,) = net.run(x, w)
    assert np.flatnonzero(~np.isfinite(found)).tolist() == [3, 1000]
