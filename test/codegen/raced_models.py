"""Models on several threads, to be run with libtsan by test_data_races.py: kernels of each kind, several callers, instances that end."""
import threading

import numpy as np
import pytest
from numpy.random import default_rng
from test_thread_orders import kernels

import legato
from bench import light
from legato import relax as R
from legato import tir as T

CALLS = 5


def test_kernels():
    alone, arrays = kernels(1)
    right = alone.run(*arrays)
    net, _ = kernels(3)
    for _ in range(CALLS):
        for number, (found, expected) in enumerate(zip(net.run(*arrays), right, strict=True)):
            assert found.tobytes() == expected.tobytes(), number


def test_callers_at_once():
    """One caller has the threads, the others none; arenas pass from call to call."""
    nets = [kernels(3) for _ in range(2)]
    right = [found.copy() for found in kernels(1)[0].run(*nets[0][1])]
    wrong = []

    def work(net, arrays):
        for _ in range(2):
            wrong.extend(number for number, (found, one) in enumerate(zip(net.run(*arrays), right, strict=True))
                         if found.tobytes() != one.tobytes())

    for net, _ in nets:
        assert net.executable     # compiled by one thread
    callers = [threading.Thread(target=work, args=nets[number % 2]) for number in range(4)]
    [one.start() for one in callers]
    [one.join() for one in callers]
    assert not wrong


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_a_model(name):
    model = light.shipped(name)
    inputs = light.image(model)
    alone, threads = (legato.compile(legato.from_onnx(model), f"llvm{{threads={number}}}")(**inputs) for number in (1, 3))
    assert np.asarray(threads).tobytes() == np.asarray(alone).tobytes()


@T.prim_func
def put(X: T.Buffer((40_000,), "float32"), I: T.Buffer((40_000,), "int64"), Y: T.Buffer((40_000,), "float32")):
    for i in T.parallel(40_000):
        Y[I[i]] = X[i]


def test_steps_that_write_one_element():
    @R.function
    def main(x: R.Tensor((40_000,), "float32"), i: R.Tensor((40_000,), "int64")):
        return R.call_tir(put, [x, i], R.Tensor((40_000,), "float32"))

    exe = legato.compile(main, target="llvm{threads=2}", cache=False)
    for _ in range(20):
        exe(default_rng(0).standard_normal(40_000, "float32"), np.zeros(40_000, "int64"))
