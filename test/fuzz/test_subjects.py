"""A few programs of each fuzzer, by fixed seeds; `make fuzz` runs thousands."""
import pytest
from fuzzing import SUBJECTS, attempt, subject

SEEDS = {"contrib": range(8), "gpu": range(8), "graphs": range(8), "kernels": range(8), "misfits": range(8), "partitions": range(8),
         "rare": range(8), "regions": range(8), "schedules": range(8), "sequences": range(100, 108), "typed": range(8)}
LEAST = {"gpu": 0.4}   # of the programs are run; many steps of threads do not fit together
TOGETHER = 8


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_program_is_a_finding(name):
    kinds = []
    for first in SEEDS[name][::TOGETHER]:
        seeds = range(first, first + TOGETHER)
        outcomes = attempt([subject(name)(seed) for seed in seeds], first)
        for seed, outcome in zip(seeds, outcomes, strict=True):
            assert not outcome.finding, f"python test/fuzz/fuzz.py {name} --seed {seed} --count 1\n{outcome.text}"
        kinds += [outcome.kind for outcome in outcomes]
    assert kinds.count("ok") > LEAST.get(name, 0.8) * len(kinds)


def test_graphs_on_the_stand_in_for_the_cuda_driver():
    pytest.importorskip("llvmlite")
    outcomes = attempt([subject("graphs")(seed) for seed in range(5000, 5008)], 0, "nvvm{approx=true}")
    assert [outcome.kind for outcome in outcomes] == ["ok"] * 8, outcomes
