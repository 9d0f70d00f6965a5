"""Names in a script mean what they mean in Python where it is defined: local names of an enclosing function before globals, also those that
only annotations use, and the values that they have at the definition.
"""
# pyright: reportInvalidTypeForm=false
import numpy as np

import legato
from legato import relax
from legato.script import tir as T

dtype, size = "float16", 3  # not meant by the functions below

KERNELS = []
for count in (4, 8):
    @T.prim_func
    def filled(Y: T.Buffer((count,), "float32")):
        for i in range(count):  # noqa: B023  the test is about it
            Y[i] = T.float32(count)  # noqa: B023
    KERNELS.append(filled)


def doubled(dtype, size):
    @T.prim_func
    def kernel(X: T.Buffer((size,), dtype), Y: T.Buffer((size,), dtype)):
        for i in T.serial(X.shape[0]):
            Y[i] = X[i] + X[i]
    return kernel


def graph(size):
    @relax.function
    def main(x: relax.Tensor((size,), "float32")):
        with relax.dataflow():
            y = relax.add(x, x)
            relax.output(y)
        return y
    return main


def test_locals_come_before_globals():
    executable = legato.compile(doubled("float32", 5))
    x = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(np.from_dlpack(executable(x)), x + x)
    assert list(legato.compile(graph(6)).inputs[0].shape) == [6]


def test_definitions_in_a_loop_differ():
    for kernel, wanted in zip(KERNELS, (4, 8), strict=True):
        np.testing.assert_array_equal(np.from_dlpack(legato.compile(kernel)()), np.full(wanted, wanted, np.float32))
