"""bench.sweep: its random layers are valid models, always the same for a seed; a layer is measured, compared and named if it is slow."""
import numpy as np
import onnx
import pytest
from thoroughly import thorough

from bench import peers, sweep
from bench.draw import TYPES
from bench.random_layers import kinds, layer


@pytest.mark.parametrize("precision", thorough(TYPES))
def test_layers_are_valid_models(precision):
    labels = set()
    for kind in kinds(precision):
        for seed in range(12):
            drawn = layer(kind, seed, precision)
            onnx.checker.check_model(drawn.model)
            again = layer(kind, seed, precision)
            assert again.model.SerializeToString() == drawn.model.SerializeToString(), drawn.label
            assert all(np.array_equal(again.inputs[name], array) for name, array in drawn.inputs.items())
            labels.add((kind, drawn.label))
    assert len(labels) > 11 * len(kinds(precision))    # seeds differ


def test_a_sweep(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "BLOCK", 0.01)
    assert sweep.main(["--kinds", "conv1d,pool", "--count", "2", "--seconds", "0.02", "--keep", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in ("conv1d:0", "pool:1"):
        row = next(line for line in lines if name in line).split()
        assert float(row[0]) > 0 and float(row[row.index(name) - 1]) < 1e-4     # the time, the difference
    assert {path.name for path in tmp_path.iterdir()} == {"conv1d-0.onnx", "conv1d-0.npz", "pool-1.onnx", "pool-1.npz"}
    assert "2 layers: median" in "\n".join(lines)


def test_a_wrong_result_is_told():
    runs = {"legato": lambda: [np.full((1, 2), np.nan, np.float32)], "onnxruntime": lambda: [np.ones((1, 2), np.float32)]}
    assert sweep.difference(runs) == np.inf


@pytest.mark.parametrize("arguments, message", [
    (["--kinds", "conv2d,convolution"], "there is no kind 'convolution'"),
    (["--only", "conv2d"], "names no layer: give KIND:SEED"),
])
def test_bad_options(arguments, message, capsys):
    with pytest.raises(SystemExit):
        sweep.main(arguments)
    assert message in capsys.readouterr().err
