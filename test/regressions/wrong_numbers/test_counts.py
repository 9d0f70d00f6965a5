"""A symbol for how many elements are found belongs to one op: two counts under one name differ at some call, and its result would have the
first one's shape with the second one's memory.
"""
import numpy as np
import pytest

import legato

TEXT = """
func.func @main(%x: tensor<{n}xf32{type}>, %y: tensor<{n}xf32{type}>) -> tensor<1x?xi64, #relax.dims<[1, "k"]>> {{
  %a = "relax.nonzero"(%x) {{size = "k"}} : (tensor<{n}xf32{type}>) -> tensor<1x?xi64, #relax.dims<[1, "k"]>>
  %b = "relax.nonzero"(%{second}) {{size = "k"}} : (tensor<{n}xf32{type}>) -> tensor<1x?xi64, #relax.dims<[1, "k"]>>
  %c = "relax.add"(%a, %b)
      : (tensor<1x?xi64, #relax.dims<[1, "k"]>>, tensor<1x?xi64, #relax.dims<[1, "k"]>>) -> tensor<1x?xi64, #relax.dims<[1, "k"]>>
  return %c : tensor<1x?xi64, #relax.dims<[1, "k"]>>
}}
"""


def test_two_counts_need_two_names():
    with pytest.raises(legato.LegatoError, match=r"gives the size 'k', which .*nonzero.* gives, too"):
        legato.compile(legato.Module.parse(TEXT.format(n=8, type="", second="y")))


def test_a_count_is_no_size_of_an_argument():
    with pytest.raises(legato.LegatoError, match="gives the size 'k', which an argument gives, too"):
        legato.compile(legato.Module.parse(TEXT.format(n="?", type=', #relax.dims<["k"]>', second="x")))


def test_a_count_is_no_name_of_another_size():
    text = TEXT.format(n=8, type="", second="x").replace('%b = "relax.nonzero"(%x) {size = "k"} : (tensor<8xf32>)',
                                                         '%b = "relax.name_sizes"(%o) {sizes = #relax.dims<[1, "k"]>} : (tensor<1x?xi64>)')
    text = text.replace("%y: tensor<8xf32>", "%o: tensor<1x?xi64>")
    with pytest.raises(legato.LegatoError, match=r"relax.name_sizes gives the size 'k', which relax.nonzero gives, too"):
        legato.compile(legato.Module.parse(text))


def test_one_count_twice():
    executable = legato.compile(legato.Module.parse(TEXT.format(n=8, type="", second="x")))
    x = np.array([1, 0, 1, 0, 1, 0, 0, 0], np.float32)
    np.testing.assert_array_equal(np.from_dlpack(executable(x, x)), [[0, 4, 8]])
