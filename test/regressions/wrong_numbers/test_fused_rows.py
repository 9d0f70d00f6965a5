"""Kernels whose rows are read twice, and windows of one element, in tiles of which bufferization copies a part."""
import numpy as np
import pytest
import scipy.special

import legato

CPUS = ("x86-64", "x86-64-v3")


def compiled(text, cpu):
    return legato.compile(legato.Module.parse(text), f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", CPUS)
def test_a_softmax_and_its_input_with_a_leading_1(cpu):
    type_ = 'tensor<1x?x?xf32, #relax.dims<[1, "n", "m"]>>'
    exe = compiled(f"""
func.func @main(%x: {type_} {{relax.name = "x"}}) -> {type_} {{
  %0 = "relax.softmax"(%x) {{axis = 2 : i64}} : ({type_}) -> {type_}
  %1 = "relax.add"(%x, %0) : ({type_}, {type_}) -> {type_}
  return %1 : {type_}
}}""", cpu)
    for shape in ((1, 3, 5), (1, 2, 129)):
        x = np.random.default_rng(0).standard_normal(shape, np.float32)
        np.testing.assert_allclose(exe(x), x + scipy.special.softmax(x, axis=2), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cpu", CPUS)
def test_a_window_of_one_element_with_a_stride(cpu):
    given, made = ('tensor<4x8x?x16xf32, #relax.dims<[4, 8, "n", 16]>>', 'tensor<4x8x?x8xf32, #relax.dims<[4, 8, "n", 8]>>')
    exe = compiled(f"""
func.func @main(%x: {given} {{relax.name = "x"}}) -> {made} {{
  %0 = "relax.avg_pool2d"(%x) {{count_include_pad = true, kernel = array<i64: 1, 1>, strides = array<i64: 1, 2>}} : ({given}) -> {made}
  %1 = "relax.exp"(%0) : ({made}) -> {made}
  return %1 : {made}
}}""", cpu)
    for n in (1, 3):
        x = np.random.default_rng(0).standard_normal((4, 8, n, 16), np.float32)
        np.testing.assert_allclose(exe(x), np.exp(x[..., ::2]), rtol=1e-5)
