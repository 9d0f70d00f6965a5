"""Random numbers on GPUs: the same as on CPUs, normal ones up to the error of the logarithm. The range's products are exact: nvvm rounds
none."""
import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_check import model, value
from standin import compiled
from vulkan_driver import needs_vulkan

import legato
from legato.script import parse

RUNS = {**{name: lambda module, name=name: legato.compile(module, name) for name in ("vulkan", "vulkan{int64=false}")}, "nvvm": compiled}
EACH = pytest.mark.parametrize("target", [*(pytest.param(name, marks=needs_vulkan) for name in list(RUNS)[:2]), "nvvm"])
BITS = '''@R.function
def main(seed: R.Tensor((), "uint64"), x: R.Tensor(("n", 5), "float32")):
    n = T.int64()
    return R.random_bits(seed, shape=(n, 5)), R.random_bits(seed, shape=(7, 9), dtype="uint64")
'''


def drawing():
    """A model of each kind of draw, and its inputs."""
    x, logits = np.linspace(0, 1, 130, dtype=np.float32).reshape(26, 5), np.float32([[0, 1, -np.inf], [3, 3, 3]])
    nodes = [helper.make_node("RandomUniformLike", ["x"], ["u"], low=-4.0, high=4.0), helper.make_node("RandomNormalLike", ["x"], ["z"]),
             helper.make_node("RandomNormal", [], ["half"], shape=[40], dtype=TensorProto.FLOAT16),
             helper.make_node("Bernoulli", ["x"], ["b"]), helper.make_node("Dropout", ["x", "ratio", "trains"], ["d", "mask"], seed=3),
             helper.make_node("Multinomial", ["logits"], ["m"], sample_size=50)]
    constants = {"ratio": np.float32(0.4), "trains": np.array(True)}
    inputs = [value("x", x, ["n", 5]), value("logits", logits)]
    return legato.from_onnx(model(nodes, inputs, ["u", "z", "half", "b", "d", "mask", "m"], constants=constants)), (x, logits)


@EACH
def test_draws_are_those_of_cpus(target):
    module, arguments = drawing()
    for found, wanted in zip(RUNS[target](module)(*arguments, np.array(-5)), legato.compile(module)(*arguments, -5), strict=True):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(np.asarray(found, np.float64), np.asarray(wanted, np.float64), rtol=2e-6)


@EACH
def test_bits_are_those_of_cpus(target):
    arguments = np.array(0x13198A2E03707344, np.uint64), np.zeros((11, 5), np.float32)
    for found, wanted in zip(RUNS[target](parse(BITS))(*arguments), legato.compile(parse(BITS))(*arguments), strict=True):
        np.testing.assert_array_equal(found, wanted, strict=True)
