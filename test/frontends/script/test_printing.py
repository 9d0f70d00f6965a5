"""Modules printed as scripts parse to the same IR."""
import kernels
import loop_kernels
import numpy as np
import pytest
import test_kernels
import test_modules
from same import described
from thoroughly import sampled

import legato
from legato.frontends.script import print_script as as_it_stands
from legato.script import parse, print_script
from legato.script import tir as T

KERNELS = {getattr(k, "__name__", "module"): k for k in (*test_kernels.REFERENCES, *loop_kernels.RAISED, *loop_kernels.KEPT)}


@pytest.mark.parametrize("name", sampled(KERNELS, 2))
def test_a_kernel_comes_back(name):
    module = KERNELS[name].module() if name != "module" else KERNELS[name]
    text = print_script(module)
    again = parse(text)
    assert print_script(again) == text
    assert described(again) == described(module)


@pytest.mark.parametrize("module", [test_modules.Mlp, test_modules.Calls, test_modules.convolutional, test_modules.several_outputs],
                         ids=["Mlp", "Calls", "convolutional", "several_outputs"])
def test_a_module_comes_back(module):
    module = module if isinstance(module, legato.Module) else module.module()
    text = print_script(module)
    again = parse(text)
    assert print_script(again) == text
    assert described(again) == described(module)


SOURCE = '''    @T.prim_func
    def pool(A: T.Buffer(("n", 12), "float32"), B: T.Buffer(("n", 6), "float32")):
        n = T.int64()
        total = T.alloc_buffer((n, 6), "float32")
        for i, j, k in T.grid(n, 6, 2):
            with T.block("total"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    total[vi, vj] = 0.0
                total[vi, vj] = total[vi, vj] + A[vi, vj * 2 + vk]
        for i, j0 in T.grid(n, 3):
            for j1 in T.vectorized(2):
                with T.block("B"):
                    vi = T.axis.spatial(n, i)
                    vj = T.axis.spatial(6, j0 * 2 + j1)
                    T.where(0 < n and j0 * 2 + j1 < 6)
                    B[vi, vj] = T.if_then_else(vj % 3 == 0, -(total[vi, vj] + 1.5), T.max(total[vi, vj], 0.0) / 2.0)
'''


def test_it_looks_as_a_person_would_write_it():
    @T.prim_func
    def pool(A: T.Buffer(("n", 12), "float32"), B: T.Buffer(("n", 6), "float32")):
        n = T.int64()
        total = T.alloc_buffer((n, 6), "float32")
        for i, j, k in T.grid(n, 6, 2):
            with T.block("total"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    total[vi, vj] = T.float32(0)
                total[vi, vj] += A[vi, ((vj * 2) + vk)]
        for i in range(n):
            for j0 in T.serial(3):
                for j1 in T.vectorized(2):
                    with T.block("B"):
                        vi = T.axis.spatial(n, i)
                        vj = T.axis.spatial(6, j0 * 2 + j1)
                        T.where(T.And(0 < n, j0 * 2 + j1 < 6))
                        B[vi, vj] = T.if_then_else(vj % 3 == 0, -(total[vi, vj] + 1.5), T.max(total[vi, vj], T.float32(0)) / 2.0)

    assert SOURCE in print_script(pool.module())


def test_a_structured_kernel_is_printed_as_loops():
    lowered = legato.lower(kernels.matmul_relu, last="legalized")
    text = print_script(lowered)
    assert "T.axis.remap" in text and "linalg" not in text and "linalg.matmul" in str(lowered)
    a, b = (np.random.rand(16, 16).astype("float32") - 0.5 for _ in range(2))
    np.testing.assert_allclose(legato.compile(parse(text))(a, b), np.maximum(a @ b, 0), rtol=1e-4, atol=1e-5)


def test_what_has_no_words_says_so():
    with pytest.raises(legato.LegatoError, match=r"@matmul cannot be written as a script: it has linalg\.fill; tir-to-loops makes loops"):
        as_it_stands(legato.lower(kernels.matmul, last="legalized"))
