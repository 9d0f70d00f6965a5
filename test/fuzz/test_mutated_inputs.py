"""A few mutated inputs, in thorough runs of each kind, by fixed seeds, in child processes; `make fuzz-inputs` runs thousands."""
import mutated_inputs
import pytest
from thoroughly import thorough


@pytest.mark.parametrize(("kinds", "count"), [
    (["onnx", "options"], 12),
    *thorough([(["onnx", "text", "pipeline", "saved", "options"], 200), (["valid"], 100)], 2)])
def test_no_mutated_input_is_a_finding(kinds, count):
    results = mutated_inputs.run(count=count, seed=2, minutes=None, kinds=kinds, quiet=True)
    assert results.findings == [] and sum(results.cases.values()) > count * 0.8
