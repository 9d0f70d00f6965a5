"""Modules printed as scripts parse to the same IR."""
import kernels
import numpy as np
import pytest
import test_modules

import legato
from legato.script import parse, print_script

PRINTED = ("vector_add", "vector_add_by_handles", "matmul", "matmul_relu", "matmul_tiled", "blockized_matmul", "conv2d", "softmax",
           "split_with_a_rest", "parallel_rows", "cross_thread_sum", "two_outputs", "extern_call", "integers", "embedding", "running_sum",
           "layer_norm", "by_macro", "threefry", "padded_conv1d")


REORDERED = ("layer_norm", "threefry")  # what is read twice gets a name first: the same values, computed in another order


def normal(module):
    """The text behind a clean-up; declarations of C functions may stand in another order."""
    module = module.clone()
    legato.Pipeline("func.func(canonicalize,cse)").run(module)
    return sorted(str(f) for f in module.functions())


@pytest.mark.parametrize("name", PRINTED)
def test_a_kernel_comes_back(name):
    module = getattr(kernels, name).module()
    text = print_script(module)
    again = parse(text)
    assert print_script(again) == text
    assert name in REORDERED or normal(again) == normal(module)
    exe, other = legato.compile(module), legato.compile(again)
    from test_kernels import arguments

    arrays = arguments(exe)
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (exe(*arrays), other(*arrays)))):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("module", [test_modules.Mlp, test_modules.Calls, test_modules.convolutional, test_modules.several_outputs],
                         ids=["Mlp", "Calls", "convolutional", "several_outputs"])
def test_a_module_comes_back(module):
    module = module if isinstance(module, legato.Module) else module.module()
    text = print_script(module)
    again = parse(text)
    assert print_script(again) == text


def test_a_structured_kernel_has_no_words():
    with pytest.raises(legato.LegatoError, match="@matmul cannot be written as a script: it has linalg"):
        print_script(legato.lower(kernels.matmul, last="legalized"))
