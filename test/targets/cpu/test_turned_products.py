"""Products of rows by the rows of a matrix of the run, against numpy in f64."""
import numpy as np
import pytest
from harness import Net

from legato.core.cpu import missing_features

RNG = np.random.default_rng(37)
CPUS = [cpu for cpu in ("x86-64-v3", "x86-64-v4") if not missing_features(cpu, "")]
ERROR = 2.0**-21        # over the sum of the magnitudes of a result's products
# rows that fill tiles or do not, depths around vectors, columns around a panel; several blocks of rows
SHAPES = ((2, 4, 3), (5, 16, 16), (6, 64, 17), (7, 100, 33), (12, 33, 101), (13, 700, 15), (30, 129, 64), (30, 40000, 5))


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def check(target, shapes, symbols=False):
    """Each product, with a bias and a relu behind it, of as many kernels in tiles as there are shapes."""
    net, arrays, wanted = Net(target, first=None), [], []
    for number, (rows, depth, columns) in enumerate(shapes):
        x, w, bias = numbers(rows, depth), numbers(columns, depth), numbers(columns)
        turned = net.op("relax.permute_dims", [net.input((columns, depth))], axes=[1, 0])
        product = net.op("relax.matmul", [net.input((f"m{number}" if symbols else rows, depth)), turned])
        net.output(net.op("relax.relu", [net.op("relax.add", [product, net.weight(bias)])]))
        arrays += [w, x]
        exact = x.astype(np.float64) @ w.astype(np.float64).T + bias
        sums = np.abs(x).astype(np.float64) @ np.abs(w).T + np.abs(bias)
        wanted.append((np.maximum(exact, 0), sums))
    assert net.products_in_loops() == len(shapes)
    for result, (exact, sums) in zip(net.run(*arrays), wanted, strict=True):
        assert (np.abs(result - exact) <= ERROR * sums).all()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cpu", CPUS)
def test_products(cpu, threads):
    check(f"llvm{{cpu={cpu} threads={threads}}}", [*SHAPES, (24, 1024, 100)])


@pytest.mark.parametrize("cpu", CPUS)
def test_rows_of_unknown_number(cpu):
    check(f"llvm{{cpu={cpu} threads=2}}", ((1, 256, 40), (6, 256, 16), (20, 300, 33), (700, 257, 20)), symbols=True)


@pytest.mark.parametrize("cpu, threads", [(CPUS[-1], 1), (CPUS[0], 2)])
@pytest.mark.parametrize("symbols", [False, True])
def test_batches(cpu, threads, symbols):
    """Batches of the same sizes, and of many rows by one matrix, of unknown columns, too."""
    net, arrays, wanted = Net(f"llvm{{cpu={cpu} threads={threads}}}", first=None), [], []
    cases = (((3, 4, 40), (3, 21, 40)), ((2, 3, 2, 33), (2, 3, 17, 33)), ((4, 5, 64), (7, 64)), ((2, 8, 320), (2, 300, 320)))
    for number, (left, right) in enumerate(cases):
        x, w = numbers(*left), numbers(*right)
        matrix = net.input((*right[:-2], f"n{number}" if symbols else right[-2], right[-1]))
        turned = net.op("relax.permute_dims", [matrix], axes=[*range(len(right) - 2), len(right) - 1, len(right) - 2])
        net.output(net.op("relax.matmul", [net.input(left), turned]))
        arrays += [w, x]
        w = w.astype(np.float64).swapaxes(-1, -2)
        wanted.append((x.astype(np.float64) @ w, np.abs(x).astype(np.float64) @ np.abs(w)))
    assert net.products_in_loops() == len(cases)
    for result, (exact, sums) in zip(net.run(*arrays), wanted, strict=True):
        assert result.shape == exact.shape and (np.abs(result - exact) <= ERROR * sums).all()


@pytest.mark.parametrize("cpu", CPUS)
def test_nan_and_infinity_stay_in_their_results(cpu):
    net = Net(f"llvm{{cpu={cpu}}}", first=None)
    turned = net.op("relax.permute_dims", [net.input((9, 40))], axes=[1, 0])
    net.output(net.op("relax.matmul", [net.input((8, 40)), turned]))
    w, x = numbers(9, 40), numbers(8, 40)
    w[8, 39], x[7, 39], x[3, 0] = np.nan, np.inf, -np.inf
    (found,) = net.run(w, x)
    with np.errstate(invalid="ignore"):
        exact = x.astype(np.float64) @ w.astype(np.float64).T
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    np.testing.assert_array_equal(found[~np.isfinite(exact)], exact[~np.isfinite(exact)])
    assert np.isnan(found[:, 8]).all() and np.isinf(found[3, :8]).all() and np.isinf(found[7, :8]).all()
