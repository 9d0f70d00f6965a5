"""bench.tokens: its models run in all ways, and give the same logits."""
import pytest
from thoroughly import thorough

from bench import tokens


@pytest.mark.parametrize("weights", ["4", *thorough(["8", "f16", "f32"])])
def test_a_small_model(monkeypatch, capsys, weights):
    monkeypatch.setitem(tokens.MODELS, "tiny", tokens.Sizes(2, 64, 4, 2, 96, 50))
    assert tokens.main(["--model", "tiny", "--weights", weights, "--tokens", "1,9", "--room", "16", "--seconds", "0.01"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [line[0] for line in lines] == ["1", "9"]
    for line in lines:
        assert all(float(one) > 0 for one in line[1:5]) and float(line[5]) < 1e-2, line
