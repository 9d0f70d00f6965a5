"""The accelerator of the tutorial docs/byoc.md, examples/npu, on a real model."""
from pathlib import Path

import numpy as np
import onnxruntime
from interpret import relative_error

import legato
from bench import light
from legato.examples.npu import simulator
from legato.examples.npu.backend import NPU

ROOT = Path(__file__).resolve().parents[2]


def test_it_is_short():
    lines = [line for file in (ROOT / "examples/npu").glob("*.py") for line in file.read_text().splitlines()]
    assert 100 < len(lines) < 200 and max(map(len, lines)) <= 100


def test_packing():
    matrix = np.arange(20 * 35, dtype=np.float32).reshape(20, 35)
    tiles = simulator.pack(matrix)
    assert tiles.shape == (2, 3, 16, 16) and (simulator.unpack(tiles, 20, 35) == matrix).all()


def test_resnet50_runs_with_its_convolutions_on_the_accelerator(tmp_path):
    path = light.save("resnet50", tmp_path / "resnet50.onnx")
    inputs = light.image(light.shipped("resnet50"))
    (expected,) = onnxruntime.InferenceSession(str(path)).run(None, inputs)
    executable = legato.compile(legato.from_onnx(path), backends=[NPU])
    taken = [r for r in executable.report.details["partition"] if r.function]
    assert len(taken) == 53 and all("relax.conv2d" in r.ops[0] for r in taken)
    before = simulator.Device.count
    assert relative_error(executable(**inputs), expected) < 1e-4
    assert simulator.Device.count - before > 900_000  # tiles: all 4 billion multiply-adds went through the device
    saved = legato.load(executable.save(tmp_path / "resnet50.legato"))
    assert relative_error(saved(**inputs), expected) < 1e-4
