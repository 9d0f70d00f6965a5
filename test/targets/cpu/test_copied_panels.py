"""Products of many rows by a large matrix of the run, against numpy in f64."""
import numpy as np
import pytest
from harness import Net

from legato.core.cpu import missing_features

RNG = np.random.default_rng(41)
CPUS = [cpu for cpu in ("x86-64-v3", "x86-64-v4") if not missing_features(cpu, "")]
ERROR = 2.0**-20        # over the sum of the magnitudes of a result's products


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def check(target, shapes, turned=False, symbols=False):
    """Each product, with a bias of a row and a relu behind it."""
    net, arrays, wanted = Net(target, first=None), [], []
    for number, (rows, depth, columns) in enumerate(shapes):
        x, bias = numbers(rows, depth), numbers(rows, 1)
        w = numbers(columns, depth) if turned else numbers(depth, columns)
        size = f"m{number}" if symbols else rows
        right = net.input(w.shape)
        right = net.op("relax.permute_dims", [right], axes=[1, 0]) if turned else right
        product = net.op("relax.matmul", [net.input((size, depth)), right])
        net.output(net.op("relax.relu", [net.op("relax.add", [product, net.input((size, 1))])]))
        arrays += [w, x, bias]
        w = w.T if turned else w
        exact = x.astype(np.float64) @ w.astype(np.float64) + bias
        wanted.append((np.maximum(exact, 0), np.abs(x).astype(np.float64) @ np.abs(w) + np.abs(bias)))
    assert net.products_in_loops() == len(shapes)
    for result, (exact, sums) in zip(net.run(*arrays), wanted, strict=True):
        assert result.shape == exact.shape and (np.abs(result - exact) <= ERROR * sums).all()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cpu", CPUS)
def test_products(cpu, threads):
    check(f"llvm{{cpu={cpu} threads={threads}}}", [(64, 2, 1024), (67, 33, 1024), (100, 300, 2048), (90, 2050, 1031)])


@pytest.mark.parametrize("cpu", CPUS)
def test_turned_matrices(cpu):
    check(f"llvm{{cpu={cpu} threads=2}}", [(518, 700, 1025), (1050, 8, 40000)], turned=True)


@pytest.mark.parametrize("cpu", CPUS)
def test_rows_of_unknown_number(cpu):
    check(f"llvm{{cpu={cpu}}}", [(1, 40, 1024), (63, 40, 2048), (64, 65, 1024), (203, 33, 3072)], symbols=True)


def test_constant_matrices_are_packed():
    net = Net("llvm{cpu=x86-64-v4}", first=None)
    net.output(net.op("relax.matmul", [net.input((100, 64)), net.weight(numbers(64, 1024))]))
    assert net.products_in_loops() == 0
