"""TensorRT: its patterns and what it would be given, everywhere; its engine where it is installed, on a GPU."""
import importlib.util

import numpy as np
import onnx
import pytest
from interpret import relative_error

import legato
from bench import light
from legato.targets.backends.tensorrt import TensorRt

INSTALLED = importlib.util.find_spec("tensorrt") is not None and importlib.util.find_spec("cuda") is not None


def test_patterns_and_export():
    module = legato.from_onnx(light.shipped("squeezenet"))
    legato.partition(module, ["tensorrt"], codegen=False)
    text = str(module.function())
    assert "relax.conv2d" not in text and "call @tensorrt_part_0" in text
    blobs = []

    class Exported(TensorRt):
        requires = ()

        def codegen(self, module, options):
            blobs.extend(super().codegen(module, options))
            return blobs

    legato.partition(module, [Exported])
    model = onnx.load_from_string(blobs[0].data)
    assert sum(node.op_type == "Conv" for node in model.graph.node) == 26
    assert blobs[0].loader == "legato.runtime.engines.tensorrt:load"


@pytest.mark.skipif(INSTALLED, reason="tensorrt is installed")
def test_without_it_the_build_says_so():
    with pytest.raises(legato.LegatoError, match=r"needs tensorrt, cuda, which are not installed: pip install tensorrt cuda-python"):
        legato.compile(legato.from_onnx(light.shipped("squeezenet")), backends=["tensorrt"])


@pytest.mark.skipif(not INSTALLED, reason="needs tensorrt and an NVIDIA GPU")
def test_engine():
    model = light.shipped("squeezenet")
    module, inputs = legato.from_onnx(model), light.image(model)
    found = legato.compile(module, backends=["tensorrt"])(**inputs)
    assert relative_error(np.asarray(found), legato.compile(module)(**inputs)) < 1e-3
