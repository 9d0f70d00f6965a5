"""Joined modules: the sizes that one computes are not another's, though both call them the same."""
import numpy as np
from joined import joined

import legato
from legato.dialects import make_context

MAIN = """
func.func @main(%x: tensor<24xf32> {relax.name = "x"}, %k: tensor<2xi64> {relax.name = "k"})
    -> (tensor<?x?xf32, #relax.dims<["h", "w * 2"]>> {relax.name = "y"}, tensor<1x?xi64, #relax.dims<[1, "m"]>> {relax.name = "at"}) {
  %s = "relax.size_of"(%k) {sizes = #relax.dims<["h", "w"]>} : (tensor<2xi64>) -> tensor<?x?x0xi8, #relax.dims<["h", "w", 0]>>
  %y = "relax.reshape"(%x) {shape = #relax.dims<["h", "w * 2"]>} : (tensor<24xf32>) -> tensor<?x?xf32, #relax.dims<["h", "w * 2"]>>
  %at = "relax.nonzero"(%x) {size = "m"} : (tensor<24xf32>) -> tensor<1x?xi64, #relax.dims<[1, "m"]>>
  return %y, %at : tensor<?x?xf32, #relax.dims<["h", "w * 2"]>>, tensor<1x?xi64, #relax.dims<[1, "m"]>>
}
"""


def test_sizes_of_the_same_name():
    context = make_context()
    whole = joined([legato.Module.parse(MAIN, context=context) for _ in range(2)])
    x, z = np.arange(24, dtype=np.float32), np.ones(24, np.float32)
    found = legato.compile(whole)(x, np.array([3, 4]), z, np.array([2, 6]))
    for got, want in zip(found, [x.reshape(3, 8), np.arange(1, 24)[None], z.reshape(2, 12), np.arange(24)[None]], strict=True):
        np.testing.assert_array_equal(got, want)
