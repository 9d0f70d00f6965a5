"""Sizes that only a call can know: a model refuses those that its ops do not mean, before anything runs."""
import numpy as np
import pytest

import legato

TEXT = """
func.func @main(%x: tensor<20x?xf32, #relax.dims<[20, "n"]>> {relax.name = "x"}) -> tensor<?x?xf32, #relax.dims<["n", "n"]>> {
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<["n"]>, axes = array<i64: 0>}
    : (tensor<20x?xf32, #relax.dims<[20, "n"]>>) -> tensor<?x?xf32, #relax.dims<["n", "n"]>> loc("positions")
  return %0 : tensor<?x?xf32, #relax.dims<["n", "n"]>>
}
"""


def test_a_slice_beyond_its_axis_is_refused():
    executable = legato.compile(legato.Module.parse(TEXT))
    for n in (1, 19, 20):
        x = np.random.default_rng(n).standard_normal((20, n), np.float32)
        np.testing.assert_array_equal(executable(x), x[:n])
    with pytest.raises(ValueError, match=r'relax\.strided_slice "positions" needs n <= 20, which is exceeded by 5'):
        executable(np.zeros((20, 25), np.float32))
