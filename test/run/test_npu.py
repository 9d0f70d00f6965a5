"""The tutorial: docs/byoc.md and examples/npu, as they stand."""
import re
from pathlib import Path

import numpy as np
import onnxruntime
from interpret import relative_error

import legato
from bench import light
from examples.npu import simulator
from examples.npu.backend import NPU
from legato.frontends.script.language.source import remember_text

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


def test_the_text_runs(tmp_path, monkeypatch):
    """The Python in docs/byoc.md, block after block, in one namespace."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "byoc.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 5
    namespace = {"__name__": "docs_byoc"}
    for block in blocks:
        remember_text("docs/byoc.md", block)
        exec(compile(block, "docs/byoc.md", "exec"), namespace)
