"""The graph passes on real networks: the light models with random weights, before and after, and how long it takes."""
import time

import numpy as np
import pytest
from graphs import apply, names
from interpret import interpret, relative_error
from thoroughly import first_of

import legato
from bench import light
from legato.passes.graph.canonicalize.canonicalize import Canonicalize
from legato.passes.graph.fold_constants import FoldConstants
from legato.passes.graph.infer_shapes import InferShapes
from legato.passes.graph.layout.convert_layout import ConvertLayout

PASSES = (InferShapes(), FoldConstants(), Canonicalize(), ConvertLayout(), Canonicalize(), FoldConstants())
# What is permuted in the end: the input, and what the network itself permutes; flattened feature maps.
PERMUTATIONS = {"densenet121": 1, "inception_v1": 1, "inception_v2": 1, "resnet50": 1, "shufflenet": 17, "squeezenet": 1}


@pytest.mark.parametrize("name", first_of(["squeezenet", *(name for name in PERMUTATIONS if name != "squeezenet")]))
def test_light_models(name, tmp_path):
    path = light.save(name, tmp_path / "model.onnx")
    (image,) = light.image(light.shipped(name)).values()
    module = legato.from_onnx(path)
    (expected,) = interpret(module, [image])
    assert expected.max() > 10 * np.median(expected)  # the random weights say something
    for one in PASSES:
        started = time.process_time()
        apply(module, [one])
        assert time.process_time() - started < 1.5, one
    (result,) = interpret(module, [image])
    assert relative_error(result, expected) < 1e-5
    assert names(module).count("permute_dims") == PERMUTATIONS[name]
    assert "batch_norm" not in names(module)
