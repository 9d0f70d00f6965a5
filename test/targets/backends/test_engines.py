"""Real models split over real engines and the host: against onnxruntime on the whole model; saved, and run in another process."""
import os
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest
from interpret import relative_error
from thoroughly import first_of, thorough

import legato
from bench import light
from legato.examples.minilm import model as minilm
from legato.runtime.engines import onednn
from legato.targets.backends.onednn import OneDnn
from legato.targets.backends.onnxruntime import OnnxRuntime
from legato.targets.backends.openvino import OpenVino

NEEDED = "LEGATO_TEST_ONEDNN"   # set where a missing library is a failure


def missing_onednn() -> str:
    """Why the parts of oneDNN do not run here; empty where they do."""
    try:
        onednn.Library()
    except legato.LegatoError as error:
        return str(error)
    return ""


@pytest.fixture(scope="module")
def resnet(tmp_path_factory):
    path = light.save("resnet50", tmp_path_factory.mktemp("models") / "resnet50.onnx")
    return path, light.image(light.shipped("resnet50"))


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "minilm.onnx"
    minilm.save(path, minilm.build(1, 16))
    random = np.random.default_rng(0)
    inputs = {"input_ids": random.integers(0, 1000, (1, 16)), "attention_mask": np.ones((1, 16), np.int64),
              "token_type_ids": np.zeros((1, 16), np.int64)}
    return path, inputs


def split(path, inputs, backends, tmp_path, least):
    session = onnxruntime.InferenceSession(str(path))
    inputs = {i.name: inputs[i.name] for i in session.get_inputs()}
    expected = session.run(None, inputs)
    executable = legato.compile(legato.from_onnx(path), backends=backends)
    taken = [r for r in executable.report.details["partition"] if r.function]
    assert {r.backend for r in taken} == {b.name for b in backends} and len(taken) >= least
    found = executable(**inputs)
    assert executable.report.kernels  # something is left to the host
    assert relative_error(np.asarray(found if not isinstance(found, tuple) else found[0]), expected[0]) < 1e-4
    executable.save(tmp_path / "model.legato")
    np.savez(tmp_path / "inputs.npz", **inputs)
    script = ("import numpy, legato; y = legato.load('model.legato')(**numpy.load('inputs.npz')); import sys; "
              "assert 'torch_mlir' not in sys.modules; numpy.save('y.npy', y if not isinstance(y, tuple) else y[0])")
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, timeout=300)
    assert relative_error(np.load(tmp_path / "y.npy"), expected[0]) < 1e-4


CONVOLUTIONS = ["conv2d", "add", "relu"]
POINTWISE = ["add", "relu", "multiply", "gelu", "softmax", "layer_norm", "max_pool2d", "mean"]


@pytest.mark.parametrize("backends", thorough([
    [OpenVino(CONVOLUTIONS), OnnxRuntime(["relu", "max_pool2d", "matmul"])],
    [OnnxRuntime(["conv2d"]), OpenVino(["relu", "add", "matmul"])],
]), ids=["openvino-first", "onnxruntime-first"])
def test_resnet50(resnet, backends, tmp_path):
    path, inputs = resnet
    split(path, inputs, backends, tmp_path, 100)


@pytest.mark.parametrize("backends", first_of([
    [OpenVino(["matmul", "add"]), OnnxRuntime(["layer_norm", "softmax", "gelu"])],
    [OnnxRuntime(["matmul", "add"]), OpenVino(["layer_norm", "softmax", "gelu"])],
]), ids=["openvino-first", "onnxruntime-first"])
def test_minilm(bert, backends, tmp_path):
    path, inputs = bert
    split(path, inputs, backends, tmp_path, 90)


@pytest.mark.skipif(bool(missing_onednn()) and NEEDED not in os.environ, reason=missing_onednn())
def test_resnet50_on_onednn(resnet, tmp_path):
    """A C library by its own symbols: convolutions, pooling and the matmul."""
    path, inputs = resnet
    split(path, inputs, [OneDnn()], tmp_path, 55)


def test_options():
    module = legato.from_onnx(light.shipped("squeezenet"))
    legato.partition(module, ["onnxruntime"], options={"onnxruntime": "threads=2"})
    with pytest.raises(legato.LegatoError, match="has no option 'thread'; did you mean 'threads'"):
        legato.partition(legato.from_onnx(light.shipped("squeezenet")), ["onnxruntime"], options={"onnxruntime": "thread=2"})
    with pytest.raises(legato.LegatoError, match="does not take 'conv2'; did you mean 'conv2d'"):
        OnnxRuntime(["conv2"])
