"""Ops of com.microsoft on plain tensors and images, compiled, against onnxruntime."""
import math
from itertools import product

import numpy as np
import pytest
from contrib import DOMAIN, check, model_of, oracle
from saturation import saturates
from thoroughly import first_of, sampled

import legato

RNG = np.random.default_rng(8)
BOTH = first_of([True, False])


def normal(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def scalar(value: float, dtype: type = np.float32) -> np.ndarray:
    return np.array(value, dtype)


@pytest.mark.parametrize("symbolic", BOTH)
def test_ops_that_onnx_has_too(symbolic):
    x = normal(3, 4, 5)
    check("Trilu", [x, scalar(1, np.int64)], symbolic=symbolic, upper=0)
    check("GatherND", [x, np.array([[0, 1], [2, 3]], np.int32)], [1], symbolic=symbolic)
    check("GridSample", [normal(2, 3, 5, 6), normal(2, 4, 3, 2)], symbolic=symbolic, features=[2], padding_mode="reflection")
    check("Pad", [x, np.array([[1, 0, 2, 0, 1, 1]]), scalar(2.5)], [1, 2], symbolic=symbolic)
    check("Pad", [x, np.array([1, 0, 2, 0, 1, 1])], [1], symbolic=symbolic, mode="reflect")
    for axis in (0, 2, -1):
        check("ExpandDims", [x, scalar(axis, np.int32)], [1], symbolic=symbolic)
    check("Unique", [np.array([2, 1, 1, 3, 4, 3], np.float32)], outputs=["y", "which", "counts"], symbolic=symbolic)
    for kept in ([], [0, 1]):
        check("Range", [scalar(2), scalar(9), scalar(1.5)], kept, symbolic=symbolic)
        check("Range", [scalar(2, np.int64), scalar(9, np.int64)], kept, symbolic=symbolic)


@pytest.mark.parametrize("symbolic", BOTH)
def test_distances(symbolic):
    for metric in ("sqeuclidean", "euclidean"):
        check("CDist", [normal(5, 7), normal(4, 7)], metric=metric, symbolic=symbolic)
    with pytest.raises(legato.LegatoError, match=r"its second matrix must have the shape \[4, 7\], has \[4, 6\]"):
        legato.from_onnx(model_of("CDist", [normal(5, 7), normal(4, 6)], (), ["y"], False, DOMAIN))


@pytest.mark.parametrize("symbolic", BOTH)
def test_windows(symbolic):
    check("UnfoldTensor", [normal(2, 9, 3)], dim=1, size=3, step=2, symbolic=symbolic)
    check("UnfoldTensor", [normal(2, 7)], size=2, symbolic=symbolic)


@pytest.mark.parametrize("size", [1, 2, 3, 12, 15])
@pytest.mark.parametrize("symbolic", BOTH)
def test_repeated_sequences_of_tokens(symbolic, size):
    """Also of a length that is less than that of a sequence."""
    check("NGramRepeatBlock", [RNG.integers(0, 4, (3, 12)), normal(3, 6)], ngram_size=size, symbolic=symbolic)


def test_products_of_integers_of_16_bits():
    a, b = (RNG.integers(-2**15, 2**15, shape).astype(np.int16) for shape in ((2, 3, 4), (2, 4, 5)))
    check("MatMulInteger16", [a, b // 64])


@pytest.mark.parametrize("symbolic", BOTH)
def test_inverses(symbolic):
    for shape, dtype, tolerance in (((5, 5), np.float32, 1e-4), ((3, 2, 4, 4), np.float64, 1e-10), ((3, 3), np.float16, 1e-2)):
        x = (normal(*shape) / 4 + np.eye(shape[-1])).astype(dtype)
        check("Inverse", [x], symbolic=symbolic, tolerance=tolerance)
    check("Inverse", [np.array([[0, 0, 3], [2, 0, 0], [0, 4, 0]], np.float32)], symbolic=symbolic)
    with pytest.raises(legato.LegatoError, match=r"must be square matrices, has the shape \[2, 3\]"):
        legato.from_onnx(model_of("Inverse", [normal(2, 3)], (), ["y"], False, DOMAIN))


@pytest.mark.parametrize("mode, crop", sampled(product(["bilinear", "nearest"], [(3, 4), (1, 4), (5, 1)]), 5, 2))
def test_crops(mode, crop):
    corners = np.array([[0, 0, 1, 1], [.2, .1, .7, .9], [-.3, .2, 1.4, .5], [.9, .8, .1, .2]], np.float32)
    inputs = [normal(2, 3, 6, 7), corners, np.array([0, 1, 1, 0], np.int32), np.array(crop, np.int32)]
    for symbolic, kept in ((False, [3]), (True, [3]), (False, [])):
        check("CropAndResize", inputs, kept, mode=mode, extrapolation_value=2.5, symbolic=symbolic)


def bytes_of(*shape: int, dtype: type = np.uint8) -> np.ndarray:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


@pytest.mark.parametrize("symbolic", BOTH)
def test_channels_last(symbolic):
    check("NhwcMaxPool", [bytes_of(2, 7, 6, 3)], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], symbolic=symbolic)
    check("NhwcMaxPool", [bytes_of(2, 7, 3, dtype=np.int8)], kernel_shape=[2], strides=[3], ceil_mode=1, symbolic=symbolic)
    scales = [scalar(.05), np.uint8(120)], [np.abs(normal(8)) / 50, np.zeros(8, np.int8)], [scalar(.3), np.uint8(100)]
    w, bias = bytes_of(8, 2, 3, 3, dtype=np.int8), RNG.integers(-99, 99, 8).astype(np.int32)
    w = w // 2 if saturates() else w      # what onnxruntime multiplies rightly here
    for last, x in ((0, bytes_of(1, 4, 6, 5)), (1, bytes_of(1, 6, 5, 4))):
        inputs = [x, *scales[0], w, *scales[1], *scales[2], bias]
        check("QLinearConv", inputs, range(1, 9), group=2, pads=[1, 0, 1, 1], channels_last=last, unit=1, symbolic=symbolic, features=[4])


def norm_of_groups(x, gamma, beta, groups, epsilon=1e-5):
    """Of an image whose last axis has the channels."""
    parts = x.astype(np.float64).reshape(len(x), -1, groups, x.shape[-1] // groups)
    centered = parts - parts.mean((1, 3), keepdims=True)
    return ((centered / np.sqrt(np.square(centered).mean((1, 3), keepdims=True) + epsilon)).reshape(x.shape) * gamma + beta)


@pytest.mark.parametrize("last, half, symbolic", sampled(product([1, 0], [False, True], [True, False]), 3, 2))
def test_norms_of_groups(last, half, symbolic):
    """Of diffusion models; onnxruntime has no kernels of them for CPUs, numpy is the oracle."""
    dtype, tolerance = (np.float16, 2e-3) if half else (np.float32, 1e-5)
    x, other, gamma, beta, bias = normal(2, 5, 3, 8), normal(2, 5, 3, 8), normal(8), normal(8), normal(8)
    x, other, bias = (array.astype(dtype) for array in (x, other, bias))
    turned = (lambda array: array) if last else (lambda array: np.ascontiguousarray(np.moveaxis(array, -1, 1)))
    how = {"channels_last": last, "groups": 4, "symbolic": symbolic, "tolerance": tolerance}
    y = norm_of_groups(x, gamma, beta, 4, 1e-3)
    check("GroupNorm", [turned(x), gamma, beta], [1, 2], expected=[turned(y.astype(dtype))], activation=0, epsilon=1e-3, **how)
    for skip, constants in ((other, [1, 2, 4]), (other[:, 0, 0], [1, 2, 4]), (other[:, :1, :1], [1, 2])):
        each = skip if skip.ndim == 4 else skip[:, None, None]
        total = x + each + (bias if 4 in constants else 0)
        y = norm_of_groups(total, gamma, beta, 4)
        wanted = [turned(part.astype(dtype)) for part in (y / (1 + np.exp(-y)), total)]
        check("SkipGroupNorm", [turned(x), gamma, beta, turned(skip) if skip.ndim == 4 else skip, *([bias] if 4 in constants else [])],
              constants, ["y", "total"], expected=wanted, activation=1, **how)


@pytest.mark.parametrize("symbolic", BOTH)
def test_sums_of_diffusion_models(symbolic):
    x, skip, bias = normal(2, 5, 8), normal(2, 5, 8), normal(8)
    check("BiasAdd", [x, bias, skip], [1], expected=[x + bias + skip], symbolic=symbolic)
    left, right = np.split(x + bias, 2, axis=-1)
    gelu = right * (1 + np.vectorize(math.erf)(right / math.sqrt(2))) / 2
    check("BiasSplitGelu", [x, bias], [1], expected=[(left * gelu).astype(np.float32)], symbolic=symbolic)


X, C = normal(2, 3, 8), normal(8)


@pytest.mark.parametrize("op, inputs, attributes, problem", [
    ("GroupNorm", [X, C, C], {"groups": 4, "activation": 2}, "its activation is 2; 0 is none, 1 is SiLU"),
    ("SkipGroupNorm", [X, C, C, C], {"groups": 4, "activation": 1}, r"its skip has the shape \[8\]; it is an image, or"),
    ("SkipGroupNorm", [X[:1], C, C, X], {"groups": 4, "activation": 1}, r"its skip must have the shape \[1, 3, 8\], has \[2, 3, 8\]"),
    ("SkipGroupNorm", [X, C, C, X, C[:1]], {"groups": 4, "activation": 1}, r"its bias must have the shape \[8\], has \[1\]"),
    ("BiasAdd", [X[:1], C, X], {}, r"its skip must have the shape \[1, 3, 8\], has \[2, 3, 8\]"),
    ("BiasAdd", [X[:, :, :1], C, X[:, :, :1]], {}, r"its bias must have the shape \[1\], has \[8\]"),
    ("BiasSplitGelu", [X, C[:1]], {}, r"its bias must have the shape \[8\], has \[1\]"),
])
def test_shapes_that_ops_of_diffusion_models_do_not_take(op, inputs, attributes, problem):
    with pytest.raises(legato.LegatoError, match=f"node .*{op}.*: {problem}"):
        legato.from_onnx(model_of(op, inputs, [], ["y"], False, DOMAIN, **attributes))


def test_an_odd_number_of_columns_is_no_two_halves():
    executable = legato.compile(legato.from_onnx(model_of("BiasSplitGelu", [X, C], [], ["y"], True, DOMAIN)))
    assert executable(X, C).shape == (2, 3, 4)
    with pytest.raises(ValueError, match="BiasSplitGelu 'node' needs columns in two halves"):
        executable(X[:, :, :7].copy(), C[:7])


@pytest.mark.parametrize("symbolic", BOTH)
def test_convolutions_of_images_whose_channels_are_last(symbolic):
    x, filters, bias = normal(2, 6, 5, 4), normal(8, 3, 2, 2), normal(8)
    attributes = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1], "group": 2}
    turned = [np.ascontiguousarray(np.moveaxis(array, -1, 1)) for array in (x, filters)]
    wanted = oracle(model_of("Conv", [*turned, bias], [1, 2], ["y"], False, "", **attributes), {"i0": turned[0]})[0]
    check("NhwcConv", [x, filters, bias], [1, 2], expected=[np.moveaxis(wanted, 1, -1)], symbolic=symbolic, **attributes)
