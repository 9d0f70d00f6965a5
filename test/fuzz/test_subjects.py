"""A few cases of each fuzzer, by fixed seeds; `make fuzz` runs thousands."""
import pytest
from fuzzing import SUBJECTS, attempt, subject

SEEDS = {"kernels": range(24)}


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_case_is_a_finding(name):
    kinds = []
    for seed in SEEDS[name]:
        outcome = attempt(subject(name)(seed))
        assert not outcome.finding, f"python test/fuzz/fuzz.py {name} --seed {seed} --count 1\n{outcome.text}"
        kinds.append(outcome.kind)
    assert kinds.count("ok") > 0.8 * len(kinds)
