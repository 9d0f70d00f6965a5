"""What the tests of partitioning share: a model for two backends and the host, and what came of it."""
import numpy as np
from graphs import build
from interpret import interpret, relative_error

from legato.dialects import relax


def random(*shape):
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def network():
    """Convolution and relu, then a matmul, then what the host keeps. The weights are in the store."""
    def body(x):
        y = relax.relu(relax.conv2d(x, relax.weight("conv", np.float32, (16, 3, 3, 3))))
        y = relax.reshape(y, shape=[12, 48])
        y = relax.tanh(relax.matmul(y, relax.weight("dense", np.float32, (48, 16))))
        return relax.softmax(relax.add(y, y), axis=-1)

    module = build([(1, 3, 8, 8)], body)
    module.weights.add("conv", random(16, 3, 3, 3))
    module.weights.add("dense", random(48, 16) / 7)
    return module


def same(executable, module, *inputs):
    found = executable(*inputs)
    for ours, theirs in zip(found if isinstance(found, tuple) else (found,), interpret(module, inputs), strict=True):
        assert relative_error(ours, theirs) < 1e-5


def packed(module):
    """The packed functions that the host calls."""
    return [f.attributes["relax.packed"].value for f in module.functions() if "relax.packed" in f.attributes]


def kernel():
    return relax.constant(np.linspace(-1, 1, 108, dtype=np.float32).reshape(4, 3, 3, 3))
