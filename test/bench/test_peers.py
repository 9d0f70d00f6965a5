"""bench.peers: what it measures is run by every engine with the same result, and its table and page show it."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from bench import engines, page, peers
from legato.targets.cpu.machine import Machine


def _first(results):
    """The first of an engine's results, each of which has its own form, as f32."""
    value = next(iter(results.values())) if hasattr(results, "values") else results[0] if isinstance(results, list) else results
    return np.asarray(value, np.float32)


@pytest.mark.parametrize("precision", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("name", ["row", "conv1x1"])
def test_engines_agree(name, precision, tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "DIRECTORY", tmp_path)
    workload = peers.layer(name, precision)
    found = {}
    for engine, make in engines.ENGINES.items():
        run = make(workload.path, workload.inputs, 1, precision)
        if run is not None and (engine, precision) != ("openvino", "bf16"):    # its bf16 outputs have no numpy type
            found[engine] = _first(run())
    assert "legato" in found and (precision == "bf16" or len(found) > 1)
    for value in found.values():
        np.testing.assert_allclose(value, found["legato"], rtol=2e-2, atol=2e-2 if precision != "f32" else 1e-4)


def test_a_measurement_and_its_files(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(peers, "DIRECTORY", tmp_path)
    monkeypatch.setattr(peers, "BLOCK", 0.01)
    files = [str(tmp_path / name) for name in ("r.json", "r.html")]
    wanted = ["row", "--precisions", "f32,bf16", "--threads", "1,2", "--seconds", "0.02"]
    assert peers.main([*wanted, "--json", files[0], "--html", files[1]]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["threads", "legato", "onnxruntime"] and len(lines) == 5
    data = json.loads((tmp_path / "r.json").read_text())
    first = data["results"][0]
    others = [ms for name, ms in first["milliseconds"].items() if name != "legato" and ms is not None]
    assert first["ratio"] == pytest.approx(first["milliseconds"]["legato"] / min(others)) and "legato" in data["machine"]
    assert [(row["precision"], row["threads"]) for row in data["results"]] == [("f32", 1), ("f32", 2), ("bf16", 1), ("bf16", 2)]
    assert (tmp_path / "r.html").read_text().count("class=\"bar legato\"") == 4


def _file(path, nodes, **initializers):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("b", TensorProto.FLOAT, [2, 3]), value("a", TensorProto.FLOAT, [2, 3])],
                              [value("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(array, name) for name, array in initializers.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    np.savez(path.with_suffix(".npz"), a=np.full((2, 3), 7, np.float32), b=np.full((2, 3), 5, np.float32))
    return str(path)


def test_files(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(peers, "BLOCK", 0.01)
    plain = _file(tmp_path / "plain.onnx", [helper.make_node("Sub", ["b", "a"], ["y"])])
    quantized = _file(tmp_path / "quantized.onnx", [
        helper.make_node("QuantizeLinear", ["b", "s"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s"], ["d"]),
        helper.make_node("Sub", ["d", "a"], ["y"])], s=np.float32(0.5))
    for path, precision in ((plain, "f32"), (quantized, "int8")):
        (workload,) = peers.workloads([path], ["f32", "int8"])
        assert workload.precision == precision
        for make in engines.ENGINES.values():     # arguments are in the model's order, whatever the file's is
            run = make(workload.path, workload.inputs, 1, precision)
            assert run is not None
            np.testing.assert_array_equal(_first(run()), np.full((2, 3), -2, np.float32))
    for cpu, found in (("x86-64-v4", ["f32"]), ("sapphirerapids", ["f32", "bf16"]), ("znver4", ["f32", "bf16"])):    # where bf16 is faster
        monkeypatch.setattr(peers.Machine, "host", lambda threads=1, cpu=cpu: Machine.named(cpu, threads))
        assert [workload.precision for workload in peers.workloads([plain, quantized], ["f32", "bf16"])] == found
    assert peers.main([plain, quantized, "--precisions", "int8", "--seconds", "0.02"]) == 0
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()[1:]] == [["quantized", "int8"]]


@pytest.mark.parametrize("name", ["rows", "missing.onnx"])
def test_a_name_that_is_none(name, capsys):
    with pytest.raises(SystemExit):
        peers.main([name])
    assert name in capsys.readouterr().err


def test_the_page():
    rows = [peers.Result("<a&b>", "f32", 1, {"legato": 2.0, "onnxruntime": 4.0, "openvino": None}),
            peers.Result("slow", "bf16", 2, {"legato": 3.0, "onnxruntime": None, "openvino": 1.0}),
            peers.Result("alone", "f16", 1, {"legato": 1.0, "onnxruntime": None, "openvino": None})]
    assert [row.ratio for row in rows] == [0.5, 3.0, None]
    text = page.page(rows, {"cpu": "x"})
    assert "&lt;a&amp;b&gt;" in text and "<a&b>" not in text
    assert "<b>1.22</b> over 2 rows" in text and text.count("behind\">3.00") == 1
    assert "width:50.0%" in text
    assert page.table(rows).splitlines()[-1].split() == ["alone", "f16", "1", "1.000", "-", "-", "-"]
