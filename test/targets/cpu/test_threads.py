"""Kernels cut among threads: the parts' loops run in parallel, and give what one thread gives."""

import numpy as np
import pytest
from harness import Net

from legato.runtime.threads import load_openmp, openmp_runtime
from legato.targets.cpu.machine import Machine

pytestmark = pytest.mark.skipif(openmp_runtime() is None, reason="no OpenMP runtime")


def values(shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def kernels(machine: Machine) -> Net:
    """Elementwise over one loop and over two, rows, columns, a transpose, a pooling; static, and of dynamic size."""
    net = Net(machine)
    x, rows, image, y = net.input((100_003,)), net.input((301, 500)), net.input((1, 40, 40, 64)), net.input(("n", "m"))
    net.output(
        net.op("relax.exp", [x], x.shape),
        net.op("relax.softmax", [rows], rows.shape, axis=1),
        net.op("relax.sum", [rows], (500,), axis=[0], keepdims=False),
        net.op("relax.sum", [rows], (301,), axis=[1], keepdims=False),
        net.op("relax.permute_dims", [rows], (500, 301), axes=[1, 0]),
        net.op(
            "relax.max_pool2d",
            [image],
            image.shape,
            kernel=[3, 3],
            strides=[1, 1],
            padding=[1] * 4,
            dilations=[1, 1],
            layout="NHWC",
            ceil_mode=False,
        ),
        net.op("relax.tanh", [y], y.shape),
        net.op("relax.softmax", [y], y.shape, axis=1),
    )
    return net


def test_parts_give_what_the_whole_gives():
    load_openmp("the test")
    arrays = [values((100_003,)), values((301, 500)), values((1, 40, 40, 64)), values((777, 130))]
    alone, together = kernels(Machine.host()), kernels(Machine.host(threads=2))
    right = alone.run(*arrays)
    for _ in range(20):
        for i, (found, expected) in enumerate(zip(together.run(*arrays), right, strict=True)):
            assert np.allclose(found, expected, rtol=1e-5, atol=1e-6), i
    assert together.tensors.count("scf.forall") >= alone.tensors.count("scf.forall") + 8


def test_small_kernels_stay_with_one_thread():
    net = Net(Machine.host(threads=2))
    net.output(net.op("relax.add", [net.input((1000,)), net.input((1000,))], (1000,)))
    net.compile()
    assert "scf.forall" not in net.tensors
