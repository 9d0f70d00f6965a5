"""bench.peers: what it measures is run by every engine with the same result, and its table and page show it."""
import json

import numpy as np
import pytest

from bench import engines, page, peers


@pytest.mark.parametrize("precision", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("name", ["row", "conv1x1"])
def test_engines_agree(name, precision, tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "DIRECTORY", tmp_path)
    workload = peers.layer(name, precision)
    found = {}
    for engine, make in engines.ENGINES.items():
        run = make(workload.path, workload.inputs, 1, precision)
        if run is not None and (engine, precision) != ("openvino", "bf16"):    # its bf16 outputs have no numpy type
            result = run()
            value = next(iter(result.values())) if hasattr(result, "values") else result[0] if isinstance(result, list) else result
            found[engine] = np.asarray(value, np.float32)
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
