"""Ops on images whose sizes are known only at run time: one compile each, called with several sizes, 1 among them, against onnxruntime."""
from itertools import product

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of, sampled

import legato

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def check(op_type, kept, calls, constants=(), opset=22, **attributes):
    """A node whose inputs have symbolic sizes, but for the axes ``kept`` of each, in some calls."""
    names = [f"x{number}" for number in range(len(calls[0]))]
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                            [size if axis in static else f"{name}_{axis}" for axis, size in enumerate(array.shape)])
              for name, array, static in zip(names, calls[0], kept)]
    weights = [numpy_helper.from_array(array, name) for name, array in constants]
    node = helper.make_node(op_type, [*names, *(name for name, _ in constants)], ["y"], **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    exe, session = legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString())
    for arrays in calls:
        expected = np.asarray(session.run(None, dict(zip(names, arrays)))[0])
        found = exe(*arrays)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=str([array.shape for array in arrays]))


IMAGES = [(2, 3, 5, 7), (1, 1, 1, 1), (1, 2, 1, 6), (2, 3, 8, 2)]


@pytest.mark.parametrize(("mode", "padding", "align"), sampled([
    ("linear", "zeros", 0), ("linear", "reflection", 1), ("nearest", "border", 0), ("cubic", "border", 1),
    ("cubic", "reflection", 0)], 2, 3))
def test_grid_sample(mode, padding, align):
    calls = [(normal(*shape), (RNG.random((shape[0], 3, 4, 2)) * 2.6 - 1.3).astype(np.float32)) for shape in IMAGES]
    if mode == "nearest":  # halves are rounded differently after errors of the last bit
        calls = [(x, np.round(grid * 97) / np.float32(97.3)) for x, grid in calls]
    check("GridSample", [(), (3,)], calls, mode=mode, padding_mode=padding, align_corners=align)


@pytest.mark.parametrize("mode, padding", sampled(product(["linear", "nearest", "cubic"], ["zeros", "border", "reflection"]), 2, 2))
def test_grid_sample_at_places_that_are_no_numbers(mode, padding):
    """A NaN counts as -1, and so does what is infinite where it is reflected; else that is beyond the image. (onnxruntime takes infinities
    for -1 everywhere.)"""
    x = normal(1, 2, 5, 6)
    special = np.float32([[np.nan, 0.3], [0.2, np.nan], [np.nan, np.nan], [np.inf, 0.3], [0.2, -np.inf], [-np.inf, np.inf]])
    finite = np.nan_to_num(special, nan=-1, posinf=-1, neginf=-1)
    if padding != "reflection":
        finite = np.where(np.isinf(special), np.sign(special) * 9, finite)
    shape = (1, 2, 3, 2)
    node = helper.make_node("GridSample", ["x", "grid"], ["y"], mode=mode, padding_mode=padding)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in (("x", x.shape), ("grid", shape), ("y", None))]
    graph = helper.make_graph([node], "g", values[:2], values[2:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    exe, session = legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString())
    expected = np.asarray(session.run(None, {"x": x, "grid": finite.reshape(shape)})[0])
    np.testing.assert_allclose(exe(x, special.reshape(shape)), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode, padding", sampled(product(["linear", "nearest"], ["zeros", "border"]), 3, 2))
@pytest.mark.parametrize(("shape", "places", "op"), [
    ((2, 3, 40, 33), 4, "relax.gather_elements"), ((1, 1, 6, 5), 60, "relax.gather_elements"), ((1, 3, 6, 5), 60, "relax.gather_")])
def test_grid_sample_reads_few_elements_one_by_one(mode, padding, shape, places, op):
    """Of few places, or of one channel, the channels are not brought together."""
    x, grid = normal(*shape), (RNG.random((shape[0], places, 1, 2)) * 2.2 - 1.1).astype(np.float32)
    check("GridSample", [range(4), range(4)], [(x, grid)], mode=mode, padding_mode=padding)
    node = helper.make_node("GridSample", ["x", "grid"], ["y"], mode=mode, padding_mode=padding)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in (("x", x), ("grid", grid))]
    graph = helper.make_graph([node], "g", values, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    text = str(legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)))
    assert op in text and ("relax.gather_elements" in text) == (op == "relax.gather_elements")


@pytest.mark.parametrize(("dtype", "error"), [("float16", 2e-3), ("float64", 1e-6)])
def test_grid_sample_of_one_channel(dtype, error):
    """Halves are added in f32 and rounded once; the numbers of pixels are those of 32 bits."""
    x, grid = normal(2, 1, 9, 7).astype(dtype), (RNG.random((2, 5, 6, 2)) * 2.2 - 1.1).astype(np.float32)

    def model(x: np.ndarray) -> bytes:
        node = helper.make_node("GridSample", ["x", "grid"], ["y"], mode="cubic")
        shapes = {"x": (x.dtype, x.shape), "grid": (grid.dtype, grid.shape), "y": (x.dtype, None)}
        values = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(type_), shape)
                  for name, (type_, shape) in shapes.items()]
        graph = helper.make_graph([node], "g", values[:2], values[2:])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString()

    module = legato.from_onnx(model(x))
    assert "xi32>" in str(module) and "xi64>" not in str(module)
    found, wanted = legato.compile(module)(x, grid), legato.compile(legato.from_onnx(model(np.float32(x))))(np.float32(x), grid)
    np.testing.assert_allclose(np.float64(found), np.float64(wanted), rtol=error, atol=error)


def test_grid_sample_of_volumes():
    calls = [(normal(*shape), (RNG.random((shape[0], 2, 3, 4, 3)) * 2.4 - 1.2).astype(np.float32))
             for shape in ((2, 3, 4, 5, 6), (1, 1, 1, 2, 1))]
    check("GridSample", [(), (4,)], calls, mode="linear", padding_mode="zeros")


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("kernel", "stride"), first_of([((3, 2), (2, 2)), ((2, 5), (2, 3))], 2))
def test_same_padding(mode, kernel, stride):
    calls = [(normal(1, 3, height, width),) for height, width in ((7, 8), (1, 1), (6, 5), (2, 9), (12, 4))]
    window = {"auto_pad": mode, "strides": stride}
    check("Conv", [(1,)], calls, [("w", normal(4, 3, *kernel))], **window)
    check("MaxPool", [(1,)], calls, kernel_shape=kernel, **window)
    check("AveragePool", [(1,)], calls, kernel_shape=kernel, **window)
    check("LpPool", [(1,)], calls, kernel_shape=kernel, **window)


@pytest.mark.parametrize("attributes", sampled([{"p": 3, "pads": [1, 0, 0, 1]}, {"p": 1, "dilations": [1, 2]}, {}], 2))
def test_last_windows_of_lp_pool(attributes):
    window = {"kernel_shape": [3, 2], "strides": [2, 3], "ceil_mode": 1, **attributes}
    calls = [(normal(1, 2, height, width),) for height, width in ((7, 8), (6, 5), (3, 9), (12, 4))]
    check("LpPool", [()], calls, **window)
    check("LpPool", [(0, 1, 2, 3)], calls[:1], **window)


def test_roi_align():
    rois = np.array([[1, 1, 4, 5], [0, 0, 9, 2], [3.5, 2, 3.6, 8]], np.float32)
    calls = [(normal(2, 3, *shape), rois, np.array([0, 1, 0])) for shape in ((9, 7), (1, 1), (3, 12))]
    check("RoiAlign", [(), (1,), ()], calls, opset=16, output_height=2, output_width=3, sampling_ratio=2, spatial_scale=0.7)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "output_half_pixel"])
def test_roi_align_with_a_point_for_each_pixel(mode, coordinates):
    """A region that is small, one larger than the image, one without extent, one whose corners are exchanged."""
    rois = np.array([[1, 1, 4, 5], [0, 0, 9, 2], [3.5, 2, 3.6, 8], [-20, -3, 40, 30], [2, 2, 2, 2], [5, 5, 2, 3]], np.float32)
    which = np.array([0, 1, 0, 1, 0, 1])
    calls = [(normal(2, 3, *shape), rois[:count], which[:count]) for shape, count in (((9, 7), 6), ((1, 1), 1), ((3, 12), 4))]
    calls.append((normal(1, 3, 4, 4), rois[4:5], which[:1]))
    check("RoiAlign", [(), (1,), ()], calls, opset=16, output_height=2, output_width=3, spatial_scale=0.7, mode=mode,
          coordinate_transformation_mode=coordinates)


ROIS = np.array([[0, 1, 1, 4, 5], [1, 0, 0, 9, 2], [0, 3.5, 2, 3.6, 8], [1, -20, -3, 40, 30], [0, 2, 2, 2, 2], [1.9, 5, 5, 2, 3],
                 [0, 30, 1, 33, 2], [1, -9, -9, -3, -3], [0, 0.5, -0.5, 2.5, 3.5], [1, -1.5, 1.25, 0.75, 1e4]], np.float32)


@pytest.mark.parametrize("scale, pooled", sampled(product([1.0, 0.7], [[2, 3], [1, 1], [7, 5]]), 5, 2))
def test_max_roi_pool(pooled, scale):
    """Regions beyond the image, larger than it, of one pixel, with exchanged corners; bins without pixels, and of parts of pixels; corners
    halfway between pixels; infinities among the pixels."""
    calls = [(normal(2, 3, *shape), ROIS[:count]) for shape, count in (((9, 7), 10), ((1, 1), 1), ((3, 12), 7), ((5, 5), 0))]
    calls[2][0][:, 1, :, 4:6] = np.inf, -np.inf
    check("MaxRoiPool", [(), (1,)], calls, opset=16, pooled_shape=pooled, spatial_scale=scale)
    check("MaxRoiPool", [(0, 1, 2, 3), (0, 1)], calls[:1], opset=16, pooled_shape=pooled, spatial_scale=scale)
    check("MaxRoiPool", [(0, 1, 2, 3), (0,)], calls[:1], opset=16, pooled_shape=pooled, spatial_scale=scale)


@pytest.mark.parametrize(("dtype", "opset"), [(np.float16, 16), (np.float64, 16), (ml_dtypes.bfloat16, 22)])
def test_types_of_max_roi_pool(dtype, opset):
    """What onnxruntime gives for the same numbers in f32, the only type it has."""
    x, rois = normal(2, 3, 9, 7).astype(dtype), ROIS.astype(dtype)
    found, expected = (made("MaxRoiPool", [x.astype(kind), rois.astype(kind)], version, pooled_shape=[3, 2], spatial_scale=0.5)
                       for kind, version in ((dtype, opset), (np.float32, 16)))
    exe, session = legato.compile(legato.from_onnx(found)), onnxruntime.InferenceSession(expected.SerializeToString())
    y = np.asarray(exe(x, rois))
    assert y.dtype == dtype
    np.testing.assert_array_equal(y.astype(np.float32), session.run(None, {"x0": np.float32(x), "x1": np.float32(rois)})[0])


def made(op_type, arrays, opset, **attributes):
    """A model of one node, of inputs x0, x1, ..."""
    inputs = [helper.make_tensor_value_info(f"x{number}", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
              for number, array in enumerate(arrays)]
    node = helper.make_node(op_type, [value.name for value in inputs], ["y"], **attributes)
    outputs = [helper.make_tensor_value_info("y", inputs[0].type.tensor_type.elem_type, None)]
    graph = helper.make_graph([node], "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


@pytest.mark.parametrize(("shape", "pooled", "error"), [
    ((9, 5), [2], r"MaxRoiPool.*attribute 'pooled_shape' is \[2\], expected two numbers of bins, 1 or more"),
    ((9, 5), [2, 0], r"attribute 'pooled_shape' is \[2, 0\]"),
    ((9, 4), [2, 3], r"MaxRoiPool.*its rois must have the shape \[9, 5\], has \[9, 4\]"),
    ((9,), [2, 3], "MaxRoiPool.*its input 1 must have 2 dimensions"),
])
def test_max_roi_pools_that_are_malformed(shape, pooled, error):
    with pytest.raises(legato.LegatoError, match=error):
        legato.from_onnx(made("MaxRoiPool", [normal(1, 2, 3, 4), np.zeros(shape, np.float32)], 16, pooled_shape=pooled))


def test_deform_conv():
    weight = normal(3, 2, 2, 2)
    calls = [(normal(1, 2, h, w), weight, normal(1, 8, h - 1, w - 1)) for h, w in ((5, 6), (2, 2), (3, 8))]
    check("DeformConv", [(1,), range(4), (1,)], calls, [("b", normal(3))], kernel_shape=[2, 2])


@pytest.mark.parametrize(("kept", "shapes"), [((2, 3), [(4, 2, 6), (8, 4, 2), (2, 1, 2)]), (range(4), [(4, 2, 6)])])
def test_channels_of_deform_conv(kept, shapes):
    """The channels of the image are those of the weights, which may be known no better, in two groups and two offset groups."""
    calls = [(normal(2, channels, 5, 6), normal(outputs, inputs, 2, 3), normal(2, 24, 4, 4)) for channels, inputs, outputs in shapes]
    check("DeformConv", [(), kept, ()], calls, kernel_shape=[2, 3], group=2, offset_group=2)


def test_one_hot_shapes():
    calls = [(normal(*shape),) for shape in ((3, 5), (1, 1), (4, 1), (2, 7))]
    for axis in (0, 1):
        check("Hardmax", [()], calls, axis=axis)
    for k in (0, 2, -1):
        check("EyeLike", [()], calls, k=k, dtype=TensorProto.FLOAT)


@pytest.mark.parametrize(("shape", "options"), [([11, 13], {"strides": [2, 2]}), ([9, 12], {"strides": [2, 3], "dilations": [2, 1]}),
                                                ([12, 11], {"strides": [2, 2], "output_padding": [1, 1]})])
def test_transposed_convolutions_to_a_given_size(shape, options):
    """The padding follows from the size of an image. onnxruntime too refuses one that is too small."""
    calls = [(normal(2, 3, height, width), normal(3, 4, 3, 3)) for height, width in ((6, 7), (5, 6), (7, 7))]
    check("ConvTranspose", [(1,), (0, 1, 2, 3)], calls, output_shape=shape, **options)
