"""Quantized layers on GPUs, against exact arithmetic: integers of 64 bits, and fractions where they are rounded.

Whole quantized models do not show whether a device rounds well: an element that is within an error of rounding of the middle between two
steps may become either, on any device, and changes all that follows. Given the same quantized inputs, a layer may differ there only.
"""
from fractions import Fraction

import numpy as np
import onnx
import pytest
from onnx import helper
from standin import compiled
from thoroughly import thorough
from vulkan_driver import needs_vulkan

import legato

NEAR = 1e-5      # of a step: how far f32's sums may be from exact ones here
FILTERS, CHANNELS, SIDE = 48, 40, 12
RUNS = {"vulkan": lambda module: legato.compile(module, "vulkan"), "nvvm": compiled}
EACH = pytest.mark.parametrize("target", [pytest.param("vulkan", marks=needs_vulkan), *thorough(["nvvm"])])


def layer(scales, most):
    """A convolution and a sum between QuantizeLinear and DequantizeLinear. ``scales``: of x, of each filter, of the convolution and of the
    sum; ``most``: of a weight."""
    x, w, conv, both = scales
    random = np.random.default_rng(0)
    weights = random.integers(-most, most + 1, (FILTERS, CHANNELS, 3, 3), np.int8)
    bias = random.integers(-20 * most, 20 * most, FILTERS, np.int32)
    constants = {"sx": x, "zx": np.uint8(7), "w": weights, "sw": w, "zw": np.zeros(FILTERS, np.int8), "b": bias, "sb": x * w,
                 "zb": np.zeros(FILTERS, np.int32), "sc": conv, "zc": np.int8(-5), "ss": both, "zs": np.uint8(120)}
    nodes = [helper.make_node("DequantizeLinear", ["x", "sx", "zx"], ["xf"]),
             helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["wf"], axis=0),
             helper.make_node("DequantizeLinear", ["b", "sb", "zb"], ["bf"], axis=0),
             helper.make_node("Conv", ["xf", "wf", "bf"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("QuantizeLinear", ["c", "sc", "zc"], ["conv"]),
             helper.make_node("DequantizeLinear", ["other", "sc", "zc"], ["of"]),
             helper.make_node("DequantizeLinear", ["given", "sc", "zc"], ["gf"]),
             helper.make_node("Add", ["gf", "of"], ["s"]), helper.make_node("QuantizeLinear", ["s", "ss", "zs"], ["sum"])]
    types, shape = onnx.TensorProto, [1, FILTERS, SIDE, SIDE]
    graph = helper.make_graph(
        nodes, "layer", [helper.make_tensor_value_info("x", types.UINT8, [1, CHANNELS, SIDE, SIDE]),
                         *(helper.make_tensor_value_info(name, types.INT8, shape) for name in ("other", "given"))],
        [helper.make_tensor_value_info("conv", types.INT8, shape), helper.make_tensor_value_info("sum", types.UINT8, shape)],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    given = {"x": random.integers(0, 2 * most + 2, (1, CHANNELS, SIDE, SIDE), np.uint8),
             **{name: random.integers(-128, 128, shape, np.int8) for name in ("other", "given")}}
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(given["x"].astype(np.int64) - 7, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), axis=(2, 3))
    products = np.einsum("nchwij,fcij->nfhw", windows, weights.astype(np.int64)) + bias.reshape(1, -1, 1, 1)
    sums = given["other"].astype(np.int64) + given["given"] + 10
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), given, (products, sums)


def exact(numbers, scale, zero, low, high):
    """Integers by scales, fractions along axis 1: rounded to the nearest step, ties to the even one; and how far each is from the middle
    between two steps."""
    steps, margins = np.empty(numbers.shape, np.int64), np.empty(numbers.shape)
    for place, number in np.ndenumerate(numbers):
        value = int(number) * scale[place[1]]
        steps[place] = min(max(round(value) + zero, low), high)
        margins[place] = abs(float(value - (value.numerator // value.denominator) - Fraction(1, 2)))
    return steps, margins


def compare(target, scales, most):
    """The results and the exact ones, of both outputs, with how far each is from the middle between two steps."""
    model, given, (products, sums) = layer(scales, most)
    conv, both = RUNS[target](legato.from_onnx(model))(**given)
    x, w, c, s = (np.asarray(one, np.float32) for one in scales)
    by_filter = [Fraction(float(x)) * Fraction(float(one)) / Fraction(float(c)) for one in w]
    bias = [Fraction(float(np.float32(x * one))) for one in w]
    assert all(abs(float(one / (Fraction(float(x)) * Fraction(float(each)))) - 1) < 1e-7 for one, each in zip(bias, w))
    return ((conv, *exact(products, by_filter, -5, -128, 127)),
            (both, *exact(sums, [Fraction(float(c)) / Fraction(float(s))] * FILTERS, 120, 0, 255)))


@EACH
def test_ties_are_rounded_to_even(target):
    """With scales that are powers of two nothing is rounded before, and many elements lie in the middle between two steps."""
    filters = 2.0 ** -(np.arange(FILTERS) % 3).astype(np.float32)
    for found, wanted, margin in compare(target, (np.float32(0.25), filters, np.float32(2), np.float32(4)), 3):
        assert (margin == 0).sum() > 100 and np.array_equal(found, wanted)


@EACH
def test_only_what_is_next_to_the_middle_is_rounded_otherwise(target):
    random = np.random.default_rng(1)
    scales = (np.float32(0.0173), random.uniform(0.001, 0.01, FILTERS).astype(np.float32), np.float32(0.73), np.float32(1.37))
    for found, wanted, margin in compare(target, scales, 127):
        differ = found != wanted
        assert margin[differ].max(initial=0) < NEAR and abs(found.astype(int) - wanted).max() <= 1
        assert len(np.unique(wanted)) > 100
