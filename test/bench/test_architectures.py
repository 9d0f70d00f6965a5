"""bench.architectures: what counts as wrong, and the page."""
import numpy as np
from onnx import TensorProto, helper, save

from bench.architectures.check import Result, check, error_of
from bench.architectures.page import page, results_in
from bench.architectures.ways import Way

VERSIONS = {"torch": "1", "transformers": "2", "onnxruntime": "3"}


def test_errors():
    a = np.array([1.0, -4.0], np.float32)
    assert error_of(a, a) == 0.0 and error_of(a[:0], a[:0]) == 0.0
    assert error_of(np.array([1.0, -4.4], np.float32), a) == np.float32(4.4) / 4 - 1
    for wrong in (a[:1], a.astype(np.float64), np.array([1.0, np.nan], np.float32), np.array([1.0, -np.inf], np.float32)):
        assert error_of(wrong, a) == float("inf")


def test_an_export_is_compiled_and_called_with_other_sizes(tmp_path):
    """A file as ``export`` writes it: sizes that onnxruntime does not take are left out, and one that torch refused is told apart."""
    folder = tmp_path / "models" / "tiny"
    folder.mkdir(parents=True)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Softmax", ["x"], ["y"])], "g", [x], [y])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), folder / "dynamo-batch.onnx")
    (folder / "dynamo-batch.json").write_text('{"failed": "", "attention": "eager", "seconds": 1.0}')
    (folder / "script-batch.json").write_text('{"failed": "ValueError: no", "attention": "default", "seconds": 1.0}')
    random = np.random.default_rng(0)
    sizes = {"static.0": (2, 4), "batch.0": (3, 4), "batch.1": (3, 5), "all.0": (4, 4)}
    given = {f"{label}/in/x": random.standard_normal(size).astype(np.float32) for label, size in sizes.items()}
    np.savez(folder / "arguments.npz", **given)
    check(folder, tmp_path / "results", (Way("dynamo", "batch"), Way("script", "batch")))
    ran, failed = results_in(tmp_path / "results")
    assert (ran.state, ran.calls, ran.attention) == ("runs", 2, "eager") and ran.error is not None and ran.error < 1e-6
    assert (failed.state, failed.reason) == ("exporter", "ValueError: no")
    text = page([ran, failed, Result("other", "dynamo-all", "refused", "a | b")], VERSIONS)
    assert "Of 3 exports of 2 architectures torch makes 2 models" in text and "Of these 1 (50.0 %) run, 1 are refused" in text
    assert "| tiny | not tried | " in text and "| other | dynamo-all | a \\| b |" in text
    assert "| tiny | script-batch | ValueError: no |" in text
