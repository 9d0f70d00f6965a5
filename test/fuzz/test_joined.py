"""Joined modules: the sizes that one computes are not another's, though both call them the same, and what loops require is checked."""
import numpy as np
import onnx
import pytest
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


def test_what_loops_require():
    """Both call one function that stands for the check, of the name that passes know."""
    text = """<ir_version: 10, opset_import: ["": 20]> g (float[n] x, int64 steps) => (float[s] y) <int64 third = {2}> {
      y = Loop (steps, "") <body = one (int64 step, bool go) => (bool again, float z) { again = Identity(go) z = Gather(x, third) }> }"""
    model, context = onnx.parser.parse_model(text), make_context()
    exe = legato.compile(joined([legato.from_onnx(model, context=context) for _ in range(2)]))
    x = np.arange(4, dtype=np.float32)
    for found in exe(x, np.int64(2), x, np.int64(2)):
        np.testing.assert_array_equal(found, [2, 2])
    with pytest.raises(ValueError, match="Gather"):
        exe(x[:2].copy(), np.int64(2), x[:2].copy(), np.int64(2))
