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


@pytest.mark.parametrize("family", sampled(FAMILIES, 4), ids=lambda f: f.__name__)
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


LAST_FIRST = """
#map = affine_map<(d0) -> (d0)>
module {
  func.func private @last_first(%x: tensor<?xf32>, %y: tensor<3xf32> {bufferization.writable = true, tir.out}) -> tensor<3xf32>
      attributes {tir.prim_func} {
    %made = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%y : tensor<3xf32>) {
    ^bb0(%out: f32):
      %i = linalg.index 0 : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = tensor.dim %x, %c0 : tensor<?xf32>
      %last = arith.subi %n, %c1 : index
      %at = arith.subi %last, %i : index
      %element = tensor.extract %x[%at] : tensor<?xf32>
      linalg.yield %element : f32
    } -> tensor<3xf32>
    return %made : tensor<3xf32>
  }
}
"""


def test_sizes_inside_a_block():
    """The size of an argument is asked for where its elements are read."""
    text = print_script(legato.Module.parse(LAST_FIRST))
    np.testing.assert_array_equal(np.asarray(legato.compile(parse(text))(np.arange(5, dtype=np.float32))), [4, 3, 2])
