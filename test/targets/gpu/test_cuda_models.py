"""Whole models for NVIDIA's GPUs on the stand-in for the driver, beside onnxruntime: one in thorough runs, the others by
``make cuda-models``."""
import os
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from interpret import relative_error
from standin import PTX_OF, compiled, driver
from thoroughly import thorough

import legato
from bench import light
from legato.codegen.cubin import find_ptxas

pytest.importorskip("llvmlite")

ALL = "LEGATO_TEST_CUDA_MODELS"     # set where all models are to be tested, which takes minutes
ONE = "shufflenet"


@pytest.mark.parametrize("name", light.NAMES if ALL in os.environ else thorough([ONE]))
def test_light_models(name, tmp_path):
    before = driver().standin_live()
    path = light.save(name, tmp_path / f"{name}.onnx")
    inputs = light.image(light.shipped(name))
    exe = compiled(legato.from_onnx(path))
    (expected,) = onnxruntime.InferenceSession(str(path)).run(None, inputs)
    assert relative_error(exe(**inputs), np.asarray(expected)) < 1e-4
    check_ptx(tmp_path)
    del exe
    assert driver().standin_live() == before


@pytest.mark.skipif(ALL not in os.environ, reason="takes a minute")
def test_a_model_in_halves(tmp_path):
    """Its products are by matrix instructions, and its results no farther from those in f32 than onnxruntime's own halves."""
    path = light.save(ONE, tmp_path / "model.onnx")
    inputs = light.image(light.shipped(ONE))
    (expected,) = onnxruntime.InferenceSession(str(path)).run(None, inputs)
    halves = in_halves(onnx.load(path))
    given = {name: array.astype(np.float16) for name, array in inputs.items()}
    (other,) = onnxruntime.InferenceSession(halves.SerializeToString()).run(None, given)
    before = driver().standin_conflicts(), driver().standin_instructions(1)
    found = compiled(legato.from_onnx(halves))(**given)
    assert found.dtype == np.asarray(other).dtype == np.float16
    mine, theirs = (relative_error(np.asarray(array).astype(np.float32), np.asarray(expected)) for array in (found, other))
    assert mine <= theirs
    assert driver().standin_conflicts() == before[0] and driver().standin_instructions(1) > before[1] + 100_000
    check_ptx(tmp_path)


def in_halves(model):
    """A model whose floats are f16."""
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).astype(np.float16), tensor.name))
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    return model


def check_ptx(folder):
    """NVIDIA's assembler takes the PTX of the model that was compiled last, without spills, where it is installed."""
    assembler = find_ptxas()
    if assembler is None:
        return
    text = folder / "model.ptx"
    text.write_text(PTX_OF[-1])
    made = subprocess.run([assembler, "-arch=sm_80", "-v", str(text), "-o", str(folder / "model.cubin")], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    spills = {line.strip() for line in made.stderr.splitlines() if "spill" in line}
    assert spills and all("0 bytes spill stores, 0 bytes spill loads" in line for line in spills), spills
