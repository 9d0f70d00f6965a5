"""Whole models for NVIDIA's GPUs on the stand-in for the driver, beside onnxruntime: one always, the others by ``make cuda-models``."""
import os
import shutil
import subprocess

import numpy as np
import onnxruntime
import pytest
from interpret import relative_error
from standin import PTX_OF, compiled, driver

import legato
from bench import light

pytest.importorskip("llvmlite")

ALL = "LEGATO_TEST_CUDA_MODELS"     # set where all models are to be tested, which takes minutes
ALWAYS = "shufflenet"


@pytest.mark.parametrize("name", [name for name in light.NAMES if name == ALWAYS or ALL in os.environ])
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


def check_ptx(folder):
    """NVIDIA's assembler takes the PTX of the model that was compiled last, without spills, where it is installed."""
    if shutil.which("ptxas") is None:
        return
    text = folder / "model.ptx"
    text.write_text(PTX_OF[-1])
    made = subprocess.run(["ptxas", "-arch=sm_80", "-v", str(text), "-o", str(folder / "model.cubin")], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    spills = {line.strip() for line in made.stderr.splitlines() if "spill" in line}
    assert spills and all("0 bytes spill stores, 0 bytes spill loads" in line for line in spills), spills
