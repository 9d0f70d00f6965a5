"""The nine light models of the onnx package, from ONNX to native code: right beside onnxruntime, and from compiled code."""
import numpy as np
import onnxruntime
import pytest
from interpret import relative_error
from thoroughly import thorough

import legato
from bench import light
from legato.dialects import relax

# vgg19 (575 MB of weights) and zfnet512 (349 MB) are measured by bench/models.py: they take the time of all others together
NAMES = [name for name in light.NAMES if name not in ("vgg19", "zfnet512")]
SLOW = ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SLOW] + thorough(SLOW))
def test_random_weights(name, tmp_path):
    path = light.save(name, tmp_path / f"{name}.onnx")
    executable = legato.compile(legato.from_onnx(path))
    inputs = light.image(light.shipped(name))
    (expected,) = onnxruntime.InferenceSession(str(path)).run(None, inputs)
    expected = np.asarray(expected)
    assert np.ptp(expected) > 1e-3 * abs(expected).max()  # the classes differ: the model is alive
    assert relative_error(executable(**inputs), expected) < 1e-4


def test_as_shipped():
    model = light.shipped("squeezenet")
    inputs = light.image(model)
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)
    assert relative_error(legato.compile(legato.from_onnx(model))(**inputs), expected) < 1e-4


def test_results_come_from_compiled_code(monkeypatch):
    model = light.shipped("squeezenet")
    executable = legato.compile(legato.from_onnx(model))
    before = executable(**light.image(model))

    def raises(*_, **__):
        raise AssertionError("the numpy semantics were called")

    for name in list(relax.semantics):
        monkeypatch.setitem(relax.semantics, name, raises)
    np.testing.assert_array_equal(executable(**light.image(model)), before)
    with pytest.raises(legato.LegatoError, match="semantics were called"):  # folding does use them
        legato.compile(legato.from_onnx(model))
