"""A few programs of each fuzzer, by fixed seeds; `make fuzz` runs thousands."""
import pytest
from fuzzing import SUBJECTS, attempt, subject
from thoroughly import thorough

FIRST = {"sequences": 100}    # seed
LEAST = {"gpu": 0.4}   # of the programs are run; many steps of threads do not fit together
TOGETHER = 4


@pytest.mark.parametrize("name, count", [*((name, 4) for name in SUBJECTS), *thorough(((name, 8) for name in SUBJECTS), 2)])
def test_no_program_is_a_finding(name, count):
    kinds, seed = [], FIRST.get(name, 0)
    for first in range(seed, seed + count, TOGETHER):
        seeds = range(first, first + TOGETHER)
        outcomes = attempt([subject(name)(seed) for seed in seeds], first)
        for seed, outcome in zip(seeds, outcomes, strict=True):
            assert not outcome.finding, f"python test/fuzz/fuzz.py {name} --seed {seed} --count 1\n{outcome.text}"
        kinds += [outcome.kind for outcome in outcomes]
    assert kinds.count("ok") > LEAST.get(name, 0.8) * len(kinds)


def test_graphs_on_the_stand_in_for_the_cuda_driver():
    pytest.importorskip("llvmlite")
    outcomes = attempt([subject("graphs")(seed) for seed in range(5000, 5004)], 0, "nvvm{approx=true}")
    assert [outcome.kind for outcome in outcomes] == ["ok"] * 4, outcomes
