"""Default schedules of kernels of unknown sizes: one launch, and numpy's results on Vulkan and on the stand-in for CUDA's driver."""
import logging

import numpy as np
import pytest
from standin import compiled
from vulkan_driver import FOUND

import legato
from legato.core.ir_helpers import find

pytestmark = pytest.mark.usefixtures("nothing_is_left")
HEADS = 'tensor<?x3x?x?xf32, #relax.dims<["b", 3, "s", "m"]>>'


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


# name: the type of %x, the op, the type of the result, numpy's form in double precision, shapes of x
GRAPHS = {
    "rows along several axes": (HEADS, '"relax.softmax"(%x) {axis = 3}', HEADS, lambda x: softmax(x, 3),
                                ((2, 3, 5, 70), (1, 3, 1, 1), (2, 3, 2, 300), (2, 3, 0, 4))),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_one_launch_and_the_results(name, caplog):
    given, op, result, expected, shapes = GRAPHS[name]
    module = legato.Module.parse(f'func.func @main(%x: {given} {{relax.name = "x"}}) -> {result} {{\n'
                                 f"%0 = {op} : ({given}) -> {result}\nreturn %0 : {result} }}")
    with caplog.at_level(logging.WARNING, "legato"):
        lowered = legato.lower(module, "nvvm", last="outlined")
    assert not caplog.records and [kernel.schedule for kernel in legato.explain(module, "nvvm").kernels] == ["rows"]
    assert len(find(lowered.operation, "gpu.launch_func")) == 1
    for exe in [compiled(module), *([legato.compile(module, "vulkan")] if FOUND is None else [])]:
        for shape in shapes:
            x = np.random.default_rng(0).standard_normal(shape, np.float32)
            np.testing.assert_allclose(exe(x), expected(x.astype(np.float64)), rtol=1e-5, atol=1e-6)
