"""Kernels that legalization makes of graph ops, printed as scripts: the loops compute the same. A part of the sweep over all cases."""
import numpy as np
import pytest
from one_op import difference, together
from test_generic_rules import FAMILIES
from thoroughly import sampled

import legato
from legato.script import parse, print_script

EVERY = 41
# no elements; loops on vectors; buffers of vectors
UNSAID = ("it has tensor.empty", "loop that carries values", "@kernel_matmul_quantized cannot be written as a script",
          "@kernel_topk cannot be written as a script", "@kernel_arg_max_pool",
          "it has vector.", "has elements of vector<")


def computed(case):
    """What the printed and parsed kernels of an op compute; None where the op's kernel is refused."""
    module, inputs = together([case])
    try:
        text = print_script(legato.lower(module, last="legalized"))
    except legato.LegatoError as error:
        assert any(reason in str(error) for reason in UNSAID), error
        return None
    exe = legato.compile(parse(text))
    arrays = [np.array(a, order="C") for a in inputs]
    return exe(*(a if a.dtype == p.dtype else a.view(p.dtype) for p, a in zip(exe.inputs, arrays)))


@pytest.mark.parametrize("family", sampled(FAMILIES, 2), ids=lambda f: f.__name__)
def test_the_loops_compute_the_same(family):
    wrong = []
    for case in list(family())[7::EVERY]:
        result, want = computed(case), np.asarray(case.expected())
        if result is None:
            continue
        result = np.asarray(result)
        problem = difference(result if result.dtype == want.dtype else result.view(want.dtype), want)
        if problem:
            wrong.append(f"{case}: {problem[:400]}")
    assert wrong == []
