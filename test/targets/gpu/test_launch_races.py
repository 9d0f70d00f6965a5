"""Kernels with barriers between their threads, proved free of races by z3; with a barrier taken away they are not."""
import re

import pytest
import threads_kernels

import legato
from legato.core.ir_helpers import find
from legato.dialects.module import Module
from legato.script import parse

pytest.importorskip("z3")
from launch_races import Verdict, check_launch, launches
from test_random_threads import Kernel

KERNELS = {name: one for name, one in vars(threads_kernels).items() if type(one) is type(threads_kernels.add_one)}


# of which something is not modelled, and what: the number of places of a shift, atomic additions; conditions by sizes of the call
UNDECIDED = {"tree": "shrsi", "histogram": "atomic|depends on", "transposed": "depends on"}


def verdicts(module: Module) -> list[Verdict]:
    return [check_launch(launch) for launch in launches(module.module)]


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_no_races_and_each_barrier_is_needed(name):
    module = legato.lower(KERNELS[name], "nvvm", last="scheduled")
    found = verdicts(module)
    assert not any(one.races for one in found)
    if name in UNDECIDED:
        texts = [text for one in found for text in one.undecided]
        assert all(re.search(UNDECIDED[name], text) for text in texts)
        return
    assert not any(one.undecided for one in found) and all(one.proved for one in found)
    for number in range(len(find(module.operation, "gpu.barrier"))):
        seeded = module.clone()
        find(seeded.operation, "gpu.barrier")[number].erase()
        assert any(one.races for one in verdicts(seeded)), f"without the barrier {number}"


@pytest.mark.parametrize("seed", [0, 2])
def test_random_kernels_have_no_races(seed):
    for one in verdicts(legato.lower(parse(Kernel(seed).text), "nvvm", last="scheduled")):
        assert one.proved > 10 and not one.races and not one.undecided
