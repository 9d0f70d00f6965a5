"""Resize by scales, sizes and regions that are given at run time, and of images of any size: compiled, beside onnxruntime."""
import numpy as np
import onnxruntime
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx_check import model, value
from thoroughly import pairs, sampled, thorough

import legato

X = (np.arange(60, dtype=np.float32) * 7 % 23 - 5).reshape(1, 2, 5, 6)
SCALES = [(2, 2), (0.6, 0.5), (3.4, 1)]
SIZES = [(10, 3), (3, 13), (5, 6), (1, 1)]
CROPS = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0}
CASES = {   # attributes, name of the operand, its values
    "nearest": ({"axes": [0, 1, 2, 3]}, "scales", [(1, 1, *scales) for scales in SCALES]),
    "nearest, floor": ({"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, "sizes", SIZES),
    "nearest, ceil": ({"coordinate_transformation_mode": "half_pixel_symmetric", "nearest_mode": "ceil"}, "scales", SCALES),
    "nearest, round_prefer_ceil": ({"coordinate_transformation_mode": "align_corners", "nearest_mode": "round_prefer_ceil"}, "sizes",
                                   SIZES),
    "linear": ({"mode": "linear"}, "scales", SCALES),
    "linear, align_corners": ({"mode": "linear", "coordinate_transformation_mode": "align_corners"}, "sizes", SIZES),
    "linear, pytorch": ({"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}, "sizes", SIZES),
    "linear, antialias": ({"mode": "linear", "antialias": 1}, "sizes", [s for s in SIZES if s != (5, 6)]),
    "linear, roi": ({"mode": "linear", **CROPS, "axes": [0, 1, 2, 3]}, "sizes", [(1, 2, 10, 3)]),
    "cubic": ({"mode": "cubic", "cubic_coeff_a": -0.5}, "scales", SCALES),
    "cubic, pytorch": ({"mode": "cubic", "coordinate_transformation_mode": "pytorch_half_pixel"}, "sizes", SIZES),
    "cubic, exclude_outside": ({"mode": "cubic", "exclude_outside": 1}, "sizes", SIZES),
    "cubic, antialias": ({"mode": "cubic", "antialias": 1}, "scales", [(0.6, 0.5)]),
    "not_larger": ({"keep_aspect_ratio_policy": "not_larger"}, "sizes", [(10, 9), (3, 4)]),
    "not_smaller": ({"mode": "linear", "axes": [3, 2], "keep_aspect_ratio_policy": "not_smaller"}, "sizes", [(10, 9), (3, 4)]),
}
ROI = np.float32([0, 0, 0.1, -0.2, 1, 1, 0.8, 1.3])


def proto_of(attributes, operand, values, shape=None, constant=False):
    """A model with one Resize; the operand is an input, or a constant."""
    crops = "coordinate_transformation_mode" in attributes and attributes["coordinate_transformation_mode"] == "tf_crop_and_resize"
    names = ["x", "roi" if crops else "", operand] if operand == "scales" else ["x", "roi" if crops else "", "", operand]
    array = np.array(values, np.float32 if operand == "scales" else np.int64)
    given = [value("x", X, shape), *([value("roi", ROI)] if crops else []), *([] if constant else [value(operand, array)])]
    node = helper.make_node("Resize", names, ["y"], name="the_node", **{"axes": [2, 3], **attributes})
    return model([node], given, ["y"], opset=19, constants={operand: array} if constant else None)


def arrays_of(proto, x, operand, values):
    arrays = {"x": x, "roi": ROI, operand: np.array(values, np.float32 if operand == "scales" else np.int64)}
    return {one.name: arrays[one.name] for one in proto.graph.input}


def expected(proto, x, operand, values):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, arrays_of(proto, x, operand, values))[0])


def check(exe, proto, x, operand, values):
    found, wanted = exe(*arrays_of(proto, x, operand, values).values()), expected(proto, x, operand, values)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), values
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5, err_msg=str(values))


@pytest.mark.parametrize("name", sampled(CASES, 4))
def test_operands_at_run_time(name):
    attributes, operand, calls = CASES[name]
    proto = proto_of(attributes, operand, calls[0], shape=["n", "c", "h", "w"])
    exe = legato.compile(legato.from_onnx(proto))
    for values in calls:
        check(exe, proto, X, operand, values)
    check(exe, proto, X[:, :, :, :4], operand, calls[0])


def test_half_pixels_of_tensorflow_in_newer_opsets():
    """opset 13 took the mode out; tf2onnx writes it, and onnxruntime computes it, in all."""
    attributes = {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": "floor"}
    for shape in (None, ["n", "c", "h", "w"]):
        proto = proto_of(attributes, "sizes", (7, 11), shape, constant=True)
        check(legato.compile(legato.from_onnx(proto)), proto, X, "sizes", (7, 11))


@pytest.mark.parametrize("opset, attributes", sampled([
    (10, {}), (13, {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}), (13, {"nearest_mode": "round_prefer_floor"}),
], 2, 2), ids=["opset 10", "floor", "half_pixel"])
def test_nearest_places_are_quotients_of_32_bits(opset, attributes):
    """3 / 0.6 is 5 in f32, though the number that stands for 0.6 is more. Before opset 11 the element on the right is the nearest one along
    axes that shrink."""
    x = np.arange(231, dtype=np.float32).reshape(1, 1, 11, 21)
    for scales in ((0.9, 0.6), (1.3, 0.7)):
        scales = np.float32([1, 1, *scales])
        node = helper.make_node("Resize", ["x", "scales"] if opset == 10 else ["x", "", "scales"], ["y"], name="the_node", **attributes)
        for shape, given in ((None, False), ([1, 1, "h", "w"], False), ([1, 1, "h", "w"], True)):
            inputs = [value("x", x, shape), *([value("scales", scales)] if given else [])]
            proto = model([node], inputs, ["y"], opset=opset, constants=None if given else {"scales": scales})
            check(legato.compile(legato.from_onnx(proto)), proto, x, "scales", scales)


@pytest.mark.parametrize("coordinates, near, constant", pairs(
    ["asymmetric", "half_pixel", "half_pixel_symmetric"], ["round_prefer_floor", "round_prefer_ceil"], [True, False]))
def test_rounded_places_beside_ties_are_ties(coordinates, near, constant):
    """By 1.3 the place of element 19 is 14.5 and a bit; by 1.2, of element 9, a bit less than 7.5."""
    attributes = {"coordinate_transformation_mode": coordinates, "nearest_mode": near}
    x = np.arange(49 * 30, dtype=np.float32).reshape(1, 1, 49, 30)
    for scales in ((1.3, 1.2), (0.4, 0.3), (4 / 3, 2.9)):
        proto = proto_of(attributes, "scales", scales, x.shape if constant else ["n", "c", "h", "w"], constant=constant)
        check(legato.compile(legato.from_onnx(proto)), proto, x, "scales", scales)


@pytest.mark.parametrize("near", ["floor", "ceil"])
@pytest.mark.parametrize("constant", [True, False])
def test_places_by_symmetric_half_pixels_are_rounded_as_onnxruntime_rounds_them(near, constant):
    attributes = {"coordinate_transformation_mode": "half_pixel_symmetric", "nearest_mode": near}
    x = np.arange(21, dtype=np.float32).reshape(1, 1, 3, 7)
    for scales in ((1 / 3, 0.5), (1.9, 4 / 3), (4.6, 0.8)):
        proto = proto_of(attributes, "scales", scales, x.shape if constant else ["n", "c", "h", "w"], constant=constant)
        check(legato.compile(legato.from_onnx(proto)), proto, x, "scales", scales)


@pytest.mark.parametrize("constant", [True, False])
def test_places_beside_whole_numbers_are_divided_in_32_bits(constant):
    """By 0.6 the place of element 4 is a bit less than 7: 4.5 divided, and not 4.5 times 1 / 0.6."""
    attributes = {"coordinate_transformation_mode": "pytorch_half_pixel", "nearest_mode": "floor"}
    x = np.arange(11 * 23, dtype=np.float32).reshape(1, 1, 11, 23)
    for scales in ((0.6, 0.7), (1.2, 0.3)):
        check(legato.compile(legato.from_onnx(proto_of(attributes, "scales", scales, ["n", "c", "h", "w"], constant=constant))),
              proto_of(attributes, "scales", scales, x.shape, constant=constant), x, "scales", scales)


@pytest.mark.parametrize("how", ["known sizes", "symbols", "a scale at run time"])
def test_sizes_are_products_of_32_bits(how):
    """10 by 0.9, and 100 by 1.3, are a bit less in 32 bits than the sizes that PyTorch asks for; 90 by 1.3 is less in onnxruntime, too."""
    for scale, sizes in ((0.9, (10, 100, 1000)), (1.3, (10, 100, 90)), (0.7, (100,)), (2.3, (100,)), (0.123456, (37, 1000))):
        exe = None
        for size in sizes:
            x, factors = np.arange(2 * size, dtype=np.float32).reshape(1, 1, 2, size), (1, scale)
            shape = x.shape if how == "known sizes" else ["n", "c", "h", "w"]
            left = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
            proto = proto_of(left, "scales", factors, shape, constant=how != "a scale at run time")
            exe = exe if exe and how != "known sizes" else legato.compile(legato.from_onnx(proto))
            check(exe, proto, x, "scales", factors)
            assert expected(proto, x, "scales", factors).shape[3] == int(np.float32(size) * np.float32(scale))


def test_one_element_by_half_pixels_of_pytorch():
    proto = proto_of(CASES["cubic, pytorch"][0], "sizes", (1, 3), constant=True)
    check(legato.compile(legato.from_onnx(proto)), proto, X, "sizes", (1, 3))


@pytest.mark.parametrize("name", ["nearest", "linear", "linear, antialias"])
def test_images_of_any_size(name):
    """Constant scales or sizes, of an image whose height and width are symbols."""
    attributes, operand, calls = CASES[name]
    proto = proto_of(attributes, operand, calls[1], shape=[1, 2, "h", "w"], constant=True)
    exe = legato.compile(legato.from_onnx(proto))
    for x in (X, X[:, :, :3], X[:, :, 1:, :5]):
        check(exe, proto, np.ascontiguousarray(x), operand, calls[1])


def test_neighbours_without_weight_are_not_read():
    x = X.copy()
    x[0, 1, 2, 3], x[0, 0, 0, 0] = np.nan, np.inf
    proto = proto_of({"mode": "linear"}, "scales", (1, 1))
    np.testing.assert_array_equal(legato.compile(legato.from_onnx(proto))(x, np.ones(2, np.float32)), x)


@pytest.mark.parametrize("shape", [X.shape, ("n", "c", "h", "w")])
def test_cubic_places_on_elements_are_the_elements(shape):
    """Three neighbours of weight 0 share the weight of the fourth; their sum is exact."""
    x = np.random.default_rng(0).standard_normal((1, 8, 40, 48)).astype(np.float32)
    proto = proto_of({"mode": "cubic"}, "scales", (3, 3), (1, 8, 40, 48) if shape == X.shape else shape, constant=True)
    np.testing.assert_array_equal(legato.compile(legato.from_onnx(proto))(x)[..., 1::3, 1::3], x)


@pytest.mark.parametrize("channels", [2, *thorough(["c"])])
@pytest.mark.parametrize("attributes", sampled([
    {"mode": "linear"}, {"mode": "linear", "antialias": 1}, {"mode": "cubic", "exclude_outside": 1},
    {"mode": "cubic", "antialias": 1, "exclude_outside": 1}], 3))
def test_infinite_neighbours_of_axes_known_at_run_time(attributes, channels):
    """Rows are weighted, none of which has weight 0: what it would be multiplied by is not read, as where sizes are known. onnxruntime
    reads it. The rows are those of an image with its channels last, but for few channels: then only the last axis is moved."""
    proto = proto_of(attributes, "sizes", SIZES[0], shape=["n", channels, "h", "w"])
    text = str(legato.from_onnx(proto))
    assert text.count('"relax.gather_weighted"') == 2 and ("3, 0, 1, 2" in text) == (channels == 2)
    exe, x = legato.compile(legato.from_onnx(proto)), X.copy()
    x[0, 1, 2, 3], x[0, 0, 4, 0], x[0, 0, 0, 5] = np.nan, np.inf, -np.inf
    for sizes in ((5, 12), (9, 6), (10, 12), (15, 18), (2, 3)):
        known = legato.compile(legato.from_onnx(proto_of(attributes, "sizes", sizes, constant=True)))(x)
        np.testing.assert_allclose(exe(x, np.array(sizes)), known, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("operand", "wrong"), [("scales", [(-2, 1), (np.nan, 1), (1, np.inf)]), ("sizes", [(-3, 4)])])
def test_wrong_operands(operand, wrong):
    exe = legato.compile(legato.from_onnx(proto_of({}, operand, [1, 2])))
    for values in wrong:
        with pytest.raises(ValueError, match="the_node"):
            exe(X, np.array(values, np.float32 if operand == "scales" else np.int64))


def test_integers():
    """Weighted in f32, and rounded towards zero."""
    x = (X + 5).astype(np.uint8)
    floats = expected(proto_of({"mode": "linear"}, "scales", SCALES[0]), x.astype(np.float32), "scales", SCALES[0])
    for constant in (False, True):
        proto = proto_of({"mode": "linear"}, "scales", SCALES[0], constant=constant)
        proto.graph.input[0].CopyFrom(value("x", x))
        found = legato.compile(legato.from_onnx(proto))(*[x, np.array(SCALES[0], np.float32)][:2 - constant])
        np.testing.assert_array_equal(found, np.trunc(floats).astype(np.uint8))


SUMS = {    # attributes, operand, values for an axis of 420 elements
    "linear": ({"mode": "linear"}, "scales", 1.7),
    "linear, down": ({"mode": "linear", "coordinate_transformation_mode": "align_corners"}, "sizes", 170),
    "linear, antialias": ({"mode": "linear", "antialias": 1}, "sizes", 211),
    "cubic": ({"mode": "cubic", "coordinate_transformation_mode": "pytorch_half_pixel"}, "scales", 0.6),
    "cubic, exclude_outside": ({"mode": "cubic", "exclude_outside": 1}, "sizes", 521),
}


@pytest.mark.parametrize("name", SUMS)
def test_axes_are_sums_of_neighbours(name):
    """Against ONNX's reference, whose coordinates are in f64, as ours are: onnxruntime's are not. (420 by 0.7 are 293 there: the product is
    not rounded to f32.)"""
    attributes, operand, given = SUMS[name]
    kept = {"scales": 1, "sizes": 3}[operand]
    for shape, values in (((1, 2, 420, 3), (given, kept)), ((1, 2, 3, 420), (kept, given))):
        x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
        proto = proto_of({**attributes, "axes": [2, 3]}, operand, values, shape=list(shape), constant=True)
        module = legato.from_onnx(proto)
        assert "relax.take" in str(module) and "relax.matmul" not in str(module)
        wanted = next(iter(ReferenceEvaluator(proto).run(None, {"x": x})))
        np.testing.assert_allclose(np.asarray(legato.compile(module)(x)), np.asarray(wanted), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("height", "width"), [(200, 221), (9, 12), (5, 40)])
def test_what_is_infinite_stays_where_it_is(height, width):
    """A product by a matrix of weights would multiply it by 0 for all other elements of its row."""
    x, row, column = np.zeros((1, 2, height, width), np.float32), height // 2, width // 3
    x[0, 0, row, column] = np.inf
    proto = proto_of({"mode": "linear"}, "scales", [2, 2], shape=list(x.shape), constant=True)
    found = np.asarray(legato.compile(legato.from_onnx(proto))(x))
    assert np.isposinf(found).sum() == 16 and not np.isnan(found).any()
    at_whole_places = {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}
    proto = proto_of(at_whole_places, "scales", [2, 2], shape=list(x.shape), constant=True)
    found = np.asarray(legato.compile(legato.from_onnx(proto))(x))
    near = found[0, 0, 2 * row - 1:2 * row + 2, 2 * column - 1:2 * column + 2]
    assert np.isposinf(near).all() and np.isfinite(found).sum() == found.size - 9


@pytest.mark.parametrize("attributes", [{"mode": "linear"}, {"mode": "cubic"}, {"mode": "linear", "antialias": 1}])
def test_a_nan_reaches_its_neighbours_only(attributes):
    """Beside ONNX's reference without it: elements that do not read it are what they were."""
    x = np.random.default_rng(5).standard_normal((2, 3, 7, 11)).astype(np.float32)
    proto = proto_of(attributes, "sizes", [5, 26], shape=list(x.shape), constant=True)
    wanted = next(iter(ReferenceEvaluator(proto).run(None, {"x": x})))
    holed = x.copy()
    holed[1, 2, 3, 4] = np.nan
    found = np.asarray(legato.compile(legato.from_onnx(proto))(holed))
    lost = np.isnan(found)
    assert 0 < lost.sum() <= 4 * 12 and lost[1, 2].sum() == lost.sum()
    np.testing.assert_allclose(found[~lost], np.asarray(wanted)[~lost], rtol=1e-5, atol=1e-5)


def test_the_longest_axis():
    x = np.zeros((1, 1, 1, 200), np.float32)
    for count, works in ((1 << 16, True), ((1 << 16) + 1, False)):
        node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], name="the_node", mode="linear")
        proto = model([node], [value("x", x)], ["y"], opset=19, constants={"sizes": np.array([1, 1, 1, count])})
        if works:
            assert legato.compile(legato.from_onnx(proto))(x).shape == (1, 1, 1, count)
        else:
            with pytest.raises(legato.UnsupportedError, match=r"the_node.*an axis of size 200 is resized to 65537: more than 65536"):
                legato.from_onnx(proto)
