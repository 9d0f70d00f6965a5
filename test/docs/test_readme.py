"""README.md: its examples run, and the IR that it shows is what legato-opt prints."""
import re
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save
from test_architecture_page import differs

import legato
from legato.frontends.script.language.source import remember_text
from legato.targets.catalog import Catalog

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the model of the examples: a product of 512 x 512, called /layer1/MatMul."""
    monkeypatch.chdir(tmp_path)
    weight = np.random.default_rng(0).standard_normal((512, 512), np.float32)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [512, 512]) for name in "xy"]
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="/layer1/MatMul")
    graph = helper.make_graph([node], "g", ends[:1], ends[1:], [numpy_helper.from_array(weight, "w")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), tmp_path / "model.onnx")
    return tmp_path


def test_the_examples_run(folder, capsys):
    example, _, kernel = blocks("python")
    x = np.random.default_rng(1).standard_normal((512, 512), np.float32)
    names = {"__name__": "readme", "x": x}
    for number, code in enumerate((example, kernel)):
        remember_text(f"README.md[{number}]", code)
        exec(compile(code, f"README.md[{number}]", "exec"), names)
    assert (folder / "model.legato").is_file() and "sch_reorder" in capsys.readouterr().out
    replaced = legato.compile(names["model"])
    np.testing.assert_allclose(replaced(x), names["y"], rtol=1e-4, atol=1e-4)
    assert "@matmul" in str(legato.lower(names["model"], last="fused"))


def test_the_ir_is_what_passes_make():
    graph, shown = blocks("mlir")
    module = legato.Module.parse(graph)
    legato.Pipeline("relax-legalize{target=generic},tir-fuse").run(module)
    joined = re.sub(r"\n\s+\{relax", " {relax", shown)       # a call that is broken in two lines
    main = joined.split("func.func private")[0]
    assert differs(main, str(module)) is None
    kernel = str(module).split("func.func private @fused_matmul_add_relu")[1]
    assert [kernel.count(op) for op in ("linalg.fill", "linalg.matmul", "linalg.generic")] == [1, 1, 2]


def test_the_stages_that_it_names():
    (listed,) = re.findall(r"--emit (relax\|[\w|]+)", README)
    stages = listed.split("|")
    assert stages[:-1] == [name for name, _ in Catalog().resolve("llvm").pipeline()] and stages[-1] == "ll"
