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


@pytest.mark.parametrize("op, attributes", [("roi_align", ", sampling = 2 : i64"), ("roi_pool", "")])
@pytest.mark.parametrize("regions", ["2", '"n"'])
def test_regions_of_no_images(op, attributes, regions):
    """They read what lies beside the images; the numbers of images are clamped to those that there are."""
    count = "2" if regions == "2" else "?"
    x, corners = 'tensor<?x1x3x4xf32, #relax.dims<["b", 1, 3, 4]>>', f"tensor<{count}x4xf32, #relax.dims<[{regions}, 4]>>"
    images, made = f"tensor<{count}xi64, #relax.dims<[{regions}]>>", f"tensor<{count}x1x1x1xf32, #relax.dims<[{regions}, 1, 1, 1]>>"
    text = f"""
func.func @main(%x: {x} {{relax.name = "x"}}, %corners: {corners} {{relax.name = "corners"}}, %images: {images} {{relax.name = "images"}})
    -> {made} {{
  %0 = "relax.{op}"(%x, %corners, %images) {{size = array<i64: 1, 1>{attributes}}} : ({x}, {corners}, {images}) -> {made} loc("some")
  return %0 : {made} }}"""
    for known in ("[2, 4]", "[2]", "[2, 1, 1, 1]"):
        text = text.replace(f", #relax.dims<{known}>", "")
    executable = legato.compile(legato.Module.parse(text))
    corners = np.array([[0, 0, 2, 2]] * 2, np.float32)
    assert executable(np.ones((1, 1, 3, 4), np.float32), corners, np.zeros(2, np.int64)).shape == (2, 1, 1, 1)
    nothing = np.zeros((0, 1, 3, 4), np.float32)
    with pytest.raises(ValueError, match=rf'relax\.{op} "some" needs b >= 1 for (n|2) regions'):
        executable(nothing, corners, np.zeros(2, np.int64))
    if count == "?":
        assert executable(nothing, corners[:0], np.zeros(0, np.int64)).shape == (0, 1, 1, 1)
