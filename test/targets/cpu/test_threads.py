"""Kernels cut among threads: the parts' loops run in parallel, and give what one thread gives."""

import numpy as np
import pytest
from harness import Net

from legato.runtime.threads import openmp_runtime

pytestmark = pytest.mark.skipif(openmp_runtime() is None, reason="no OpenMP runtime")


def values(shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def kernels(threads: int) -> Net:
    """Elementwise over one loop and over two, rows, columns, a transpose, a pooling; static, and of dynamic size."""
    net = Net(f"llvm{{threads={threads}}}")
    x, rows, image, y = net.input((100_003,)), net.input((301, 500)), net.input((1, 40, 40, 64)), net.input(("n", "m"))
    net.output(
        net.op("relax.exp", [x]),
        net.op("relax.softmax", [rows], axis=1),
        net.op("relax.sum", [rows], axis=[0]),
        net.op("relax.sum", [rows], axis=[1]),
        net.op("relax.permute_dims", [rows], axes=[1, 0]),
        net.op("relax.max_pool2d", [image], kernel=[3, 3], padding=[1] * 4, layout="NHWC"),
        net.op("relax.tanh", [y]),
        net.op("relax.softmax", [y], axis=1),
    )
    return net


def test_parts_give_what_the_whole_gives():
    arrays = [values((100_003,)), values((301, 500)), values((1, 40, 40, 64)), values((777, 130))]
    alone, together = kernels(1), kernels(2)
    right = alone.run(*arrays)
    for _ in range(20):
        for i, (found, expected) in enumerate(zip(together.run(*arrays), right, strict=True)):
            assert np.allclose(found, expected, rtol=1e-5, atol=1e-6), i
    assert str(together.lowered("scheduled")).count("scf.forall") >= str(alone.lowered("scheduled")).count("scf.forall") + 8


def test_small_kernels_stay_with_one_thread():
    net = Net("llvm{threads=2}")
    net.output(net.op("relax.add", [net.input((1000,)), net.input((1000,))]))
    assert "scf.forall" not in str(net.lowered("scheduled"))
