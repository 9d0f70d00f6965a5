"""Ops of com.microsoft on quantized integers, compiled, against onnxruntime: to one unit of the result."""
import ml_dtypes
import numpy as np
import pytest
from contrib import check
from saturation import saturates
from thoroughly import first_of

RNG = np.random.default_rng(8)
UNIT, FLOATS = {"unit": 1}, {"tolerance": 1e-5}


def number(value: float, dtype: type = np.float32) -> np.ndarray:
    return np.array(value, dtype)


def data(dtype: type, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    halved = 2 if dtype is np.int8 and saturates() else 1     # what onnxruntime multiplies rightly here
    return RNG.integers(limits.min // halved, (limits.max + 1) // halved, shape).astype(dtype)


def quantized(dtype: type, *shape: int, scale: float = 0.05) -> list[np.ndarray]:
    """A tensor, its scale and its zero point."""
    return [data(dtype, *shape), number(scale), number(3, dtype)]


@pytest.mark.parametrize("symbolic", first_of([True, False]))
@pytest.mark.parametrize("dtype", first_of([np.uint8, np.int8]))
def test_elementwise(dtype, symbolic):
    out = [number(0.07), number(5, dtype)]
    for op in ("QLinearAdd", "QLinearMul"):
        for shapes in (((3, 5), (3, 5)), ((3, 5), (5,)), ((2, 3, 5), (3, 1))):
            check(op, [*quantized(dtype, *shapes[0]), *quantized(dtype, *shapes[1], scale=0.02), *out], [1, 2, 4, 5, 6, 7],
                  symbolic=symbolic, **UNIT)
    for op, attributes in (("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.2}), ("QLinearLeakyRelu", {})):
        check(op, [*quantized(dtype, 4, 7), number(0.01), number(7, dtype)], [1, 2, 3, 4], symbolic=symbolic, **UNIT, **attributes)
    check("QLinearConcat", [*out, *quantized(dtype, 3, 5), *quantized(dtype, 2, 5, scale=0.2)], [0, 1, 3, 4, 6, 7], axis=0,
          symbolic=symbolic, **UNIT)
    check("QLinearWhere", [RNG.random((3, 5)) > 0.5, *quantized(dtype, 3, 5), *quantized(dtype, 5, scale=0.2), *out], [2, 3, 5, 6, 7, 8],
          symbolic=symbolic, **UNIT)


@pytest.mark.parametrize("dtype", first_of([np.uint8, np.int8]))
def test_softmax(dtype):
    zero = number(0 if dtype is np.uint8 else -128, dtype)
    for opset, axis in ((13, -1), (13, 1), (12, 1), (11, 2)):
        check("QLinearSoftmax", [*quantized(dtype, 3, 4, 5), number(1 / 256), zero], [1, 2, 3, 4], opset=opset, axis=axis, **UNIT)


@pytest.mark.parametrize("dtype", first_of([np.uint8, np.int8]))
def test_pools(dtype):
    out = [number(0.04), number(5, dtype)]
    for attributes in ({"kernel_shape": [2, 2]}, {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]},
                       {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1},
                       {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}):
        check("QLinearAveragePool", [*quantized(dtype, 2, 3, 7, 6), *out], [1, 2, 3, 4], **UNIT, **attributes)
    check("QLinearAveragePool", [*quantized(dtype, 2, 7, 6, 3), *out], [1, 2, 3, 4], kernel_shape=[2, 3], channels_last=1, **UNIT)
    for last in (0, 1):
        check("QLinearGlobalAveragePool", [*quantized(dtype, 2, 3, 7, 6), *out], [1, 2, 3, 4], channels_last=last, **UNIT)


@pytest.mark.parametrize("dtype", first_of([np.uint8, np.int8]))
def test_qgemm(dtype):
    a = quantized(np.uint8, 5, 24)
    bias = RNG.integers(-500, 500, 7).astype(np.int32)
    for transposed in (0, 1):
        shape = (7, 24) if transposed else (24, 7)
        b = [data(dtype, *shape), number(0.02), number(2, dtype)]
        check("QGemm", [*a, *b, bias, number(1.5), number(9, np.uint8)], [1, 2, 3, 4, 5, 6, 7, 8], transB=transposed, **UNIT)
        check("QGemm", [*a, *b, bias], [1, 2, 3, 4, 5, 6], transB=transposed, alpha=0.5, **FLOATS)
        each = [data(dtype, *shape), (RNG.random(7) * 0.1).astype(np.float32), RNG.integers(0, 9, 7).astype(dtype)]
        check("QGemm", [*a, *each, None, number(1.5), number(9, np.uint8)], [1, 2, 3, 4, 5, 7, 8], transB=transposed, **UNIT)


@pytest.mark.parametrize("dtype", first_of([np.uint8, np.int8]))
@pytest.mark.parametrize("constant", first_of([True, False]))
def test_products_in_floats(dtype, constant):
    bias = RNG.standard_normal(9).astype(np.float32)
    weight = data(dtype, 24, 9)
    single, each = number(0.03), (RNG.random(9) * 0.1).astype(np.float32)
    for scale, zero in ((single, number(4, dtype)), (each, RNG.integers(0, 9, 9).astype(dtype)), (single, None)):
        kept = [1, 3, 5, 6] if constant else [6]
        a = [data(np.uint8, 2, 5, 24), weight, number(0.02), scale, number(7, np.uint8), zero, bias]
        check("MatMulIntegerToFloat", a, kept, **FLOATS)
        x = RNG.standard_normal((2, 5, 24)).astype(np.float32)
        check("DynamicQuantizeMatMul", [x, weight, scale, zero, bias], [1, 2, 3, 4] if constant else [4], tolerance=1e-5)
    check("DynamicQuantizeMatMul", [np.zeros((3, 24), np.float32), weight, single], [1, 2], **FLOATS)


def test_quantize_and_dequantize():
    x = (RNG.standard_normal((4, 6)) * 3).astype(np.float32)
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        check("QuantizeLinear", [x, number(0.05), number(3, dtype)], [1, 2], **UNIT)
        check("DequantizeLinear", [data(dtype, 4, 6), number(0.05), number(3, dtype)], [1, 2], **FLOATS)
        scales = (RNG.random(4) * 0.1 + 0.01).astype(np.float32)
        check("QuantizeLinear", [x, scales, np.arange(4).astype(dtype)], [1, 2], axis=0, **UNIT)
        check("DequantizeLinear", [data(dtype, 4, 6), scales, np.arange(4).astype(dtype)], [1, 2], axis=0, **FLOATS)
    for dtype in (ml_dtypes.int4, ml_dtypes.uint4):
        q = RNG.integers(0, 7, (4, 6)).astype(dtype)
        check("DequantizeLinear", [q, number(0.05), np.array(3).astype(dtype)], [0, 1, 2], **FLOATS)


def test_softmax_of_nothing():
    """onnxruntime returns no tensor."""
    one, zero = number(0.5), number(0, np.uint8)
    check("QLinearSoftmax", [np.zeros((0, 4), np.uint8), one, zero, one, zero], [1, 2, 3, 4], opset=13, axis=1,
          expected=[np.zeros((0, 4), np.uint8)])


def test_ties_are_rounded_as_onnxruntime_does():
    a, half = np.arange(9, dtype=np.uint8), number(0.5)
    three = number(3, np.uint8)
    for op in ("QLinearAdd", "QLinearMul"):
        check(op, [a, half, three, a[::-1].copy(), half, three, half, three], [1, 2, 4, 5, 6, 7], tolerance=1e-9)
