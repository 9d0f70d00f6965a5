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
    with pytest.raises(ValueError, match=r'relax\.strided_slice "positions" needs n <= 20 \(off by 5\)'):
        executable(np.zeros((20, 25), np.float32))


FAR = 2**63 - 1     # what exporters write for the end


@pytest.mark.parametrize("begin, end, stride, rows", [(0, 1, 1, slice(0, 1)), (-1, FAR, 1, slice(-1, None)), (-1, -FAR, -1, None)])
def test_what_inference_took_for_granted(begin, end, stride, rows):
    """A symbol is taken for 1 or more: a call that brings a 0 is refused where that mattered, and runs where it did not."""
    type_ = "tensor<1x3xf32>" if rows else 'tensor<?x3xf32, #relax.dims<["n", 3]>>'
    executable = legato.compile(legato.Module.parse(f"""
func.func @main(%x: tensor<?x3xf32, #relax.dims<["n", 3]>> {{relax.name = "x"}}) -> {type_} {{
  %0 = "relax.strided_slice"(%x) {{
      begin = #relax.dims<[{begin}]>, end = #relax.dims<[{end}]>, strides = array<i64: {stride}>, axes = array<i64: 0>}}
    : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> {type_} loc("some")
  return %0 : {type_} }}"""))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(executable(x), x[rows] if rows else x[::-1])
    nothing = np.zeros((0, 3), np.float32)
    if rows is None:
        assert executable(nothing).shape == (0, 3)
    else:
        with pytest.raises(ValueError, match=r'relax\.strided_slice "some" needs n >= 1 \(off by 1\)'):
            executable(nothing)
