"""The check of whole models, ``make whole-models``, on a small one: what it says of a right and of a wrong result."""
import re

import numpy as np
import onnx
import pytest
import quantized_layers
import whole_models
from onnx import helper
from onnx_check import model, value
from thoroughly import first_of
from vulkan_driver import needs_vulkan

import legato
from legato.core.ir_helpers import find

pytest.importorskip("llvmlite")


def saved(folder, name):
    """A model of two products in a folder, with its inputs."""
    random = np.random.default_rng(0)
    x = random.standard_normal((20, 48), np.float32)
    constants = {"w": random.standard_normal((48, 40), np.float32), "v": random.standard_normal((40, 8), np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("MatMul", ["r", "v"], ["y"])]
    path = folder / f"{name}.onnx"
    path.write_bytes(model(nodes, [value("x", x)], ["y"], 17, constants).SerializeToString())
    np.savez(path.with_suffix(".npz"), x=x)
    return path


@pytest.mark.parametrize("target", [pytest.param("vulkan", marks=needs_vulkan), *whole_models.TARGETS[1:]])
def test_a_model_is_right(target, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STANDIN_CHIP", "80")
    saved(tmp_path, "small")
    assert whole_models.main([str(tmp_path), "--targets", target]) == 0
    line = capsys.readouterr().out
    assert re.search(r"small +\S.* error +\d\.\de[+-]\d\d  launches +2 / 2 ", line) and "WRONG" not in line


def test_one_branch_of_a_condition_counts():
    """A kernel of an unknown number of rows has forms, of which a run launches one."""
    x, out = (f'tensor<?x{columns}xf32, #relax.dims<["n", {columns}]>>' for columns in (64, 96))
    lowered = legato.lower(legato.Module.parse(f"""func.func @main(%x: {x}, %w: tensor<64x96xf32>) -> {out} {{
      %0 = "relax.matmul"(%x, %w) : ({x}, tensor<64x96xf32>) -> {out}
      return %0 : {out} }}"""), "nvvm", last="outlined")
    assert len(find(lowered.operation, "gpu.launch_func")) > 1 and whole_models.counts(lowered) == (1, 1)


@pytest.fixture
def quantized(tmp_path):
    """A product of bytes between floats, as QuantizeLinear and DequantizeLinear say it, and a softmax of it in bytes."""
    random = np.random.default_rng(0)
    x, w = random.standard_normal((20, 48), np.float32), random.integers(-127, 127, (48, 40), np.int8)
    constants = {"s": np.float32(0.02), "z": np.uint8(128), "w": w, "t": np.float32(0.01), "i": np.int8(0), "u": np.float32(0.25),
                 "p": np.float32(1 / 256), "o": np.uint8(0)}
    nodes = [helper.make_node(kind, operands, [result]) for kind, operands, result in (
        ("QuantizeLinear", ["x", "s", "z"], "xq"), ("DequantizeLinear", ["xq", "s", "z"], "xd"),
        ("DequantizeLinear", ["w", "t", "i"], "wd"), ("MatMul", ["xd", "wd"], "h"),
        ("QuantizeLinear", ["h", "u", "z"], "hq"), ("DequantizeLinear", ["hq", "u", "z"], "hd"),
        ("Softmax", ["hd"], "e"), ("QuantizeLinear", ["e", "p", "o"], "eq"), ("DequantizeLinear", ["eq", "p", "o"], "y"))]
    path = tmp_path / "small-int8.onnx"
    path.write_bytes(model(nodes, [value("x", x)], ["y"], 17, constants).SerializeToString())
    np.savez(path.with_suffix(".npz"), x=x)
    return path


@pytest.mark.parametrize("target", [*first_of(whole_models.TARGETS[1:]),
                                    pytest.param("vulkan", marks=[needs_vulkan, pytest.mark.thorough])])
def test_layers_are_compared_one_by_one(target, quantized, monkeypatch, capsys):
    monkeypatch.setenv("STANDIN_CHIP", "80")
    monkeypatch.setattr(whole_models, "distance", lambda found, expected: 1e-5)
    assert whole_models.main([str(quantized.parent), "--targets", target]) == 0
    assert "other steps 0.0e+00" in capsys.readouterr().out
    layers = quantized_layers.taken_apart(onnx.load(quantized), dict(np.load(quantized.with_suffix(".npz"))))
    assert list(layers.inputs) == ["x", "xq_given", "hq_given", "eq_given"] and len(layers.expected) == 3
    monkeypatch.setattr(whole_models, "steps_apart", lambda found, others: (1e-5, 1))
    assert not whole_models.run(quantized, target).is_right
    monkeypatch.setattr(whole_models, "steps_apart", lambda found, others: (1e-9, 2))
    assert not whole_models.run(quantized, target).is_right


def test_steps_that_are_other():
    found, others = [np.uint8([0, 255]), np.int8([-128, 5])], [np.uint8([255, 255]), np.int8([-128, 4])]
    assert quantized_layers.steps_apart(found, others) == (0.5, 255) and quantized_layers.steps_apart(others, others) == (0, 0)


def test_a_model_whose_results_say_nothing_is_refused(tmp_path):
    path = saved(tmp_path, "small")
    np.savez(path.with_suffix(".npz"), x=np.zeros((20, 48), np.float32))
    with pytest.raises(ValueError, match=r"small\.onnx: all elements of a result are equal"):
        whole_models.run(path, "vulkan")


def test_what_is_wrong_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STANDIN_CHIP", "80")
    saved(tmp_path, "small")
    monkeypatch.setattr(whole_models, "distance", lambda found, expected: 1e-3)
    assert whole_models.main([str(tmp_path), "small", "--targets", "nvvm{approx=true}"]) == 1
    assert "error  1.0e-03" in (line := capsys.readouterr().out) and line.endswith("WRONG\n")
    with pytest.raises(SystemExit):
        whole_models.main([str(tmp_path / "empty")])
    assert "python -m bench.whole" in capsys.readouterr().err
