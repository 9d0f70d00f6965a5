"""Every op through the whole pipeline: graph passes, rules, fusion, schedules, native code. Parts of the sweeps, many ops in one model."""

import numpy as np
import pytest
from generic_main import together
from one_op import difference
from test_generic_rules import FAMILIES

import legato

AT_ONCE = 40
TARGETS = ["llvm", "llvm{cpu=x86-64-v3}"]  # each takes other cases
EVERY = {"unary_cases": 6, "binary_cases": 6, "other_cases": 6, "reduction_cases": 5, "pool_cases": 4, "scatter_cases": 6}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("family", FAMILIES)
def test_semantics(family, target):
    every = EVERY.get(family.__name__, 3)
    cases = list(family())[TARGETS.index(target) :: every]
    wrong = []
    for start in range(0, len(cases), AT_ONCE):
        part = cases[start : start + AT_ONCE]
        module, inputs = together(part)
        results = legato.compile(module, target)(*inputs)
        for case, result in zip(part, results if len(part) > 1 else [results]):
            problem = difference(np.asarray(result), np.asarray(case.expected()))
            if problem:
                wrong.append(f"{case}: {problem[:400]}")
    assert wrong == []
