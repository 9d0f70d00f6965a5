"""Random parts of networks of images, of a few layers each: convolutions that are residual, split, concatenated, scaled. A kind of
``bench.random_layers``.
"""
from __future__ import annotations

import numpy as np

from .draw import SIDES, Draw, Layer
from .random_blocks import ACTIVATIONS, dense, gated, norm, scalar


def conv(draw: Draw, value: str, channels: int, features: int, kernel: int = 1, stride: int = 1, groups: int = 1, act: str = "") -> str:
    """A convolution of two dimensions with bias and activation."""
    weights = [draw.filter(features, channels // groups, kernel, kernel), draw.weight(draw.array(features))]
    result = draw.node("Conv", [value, *weights], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups)
    if draw.precision == "int8":
        result = draw.quantized(result, 0.05)
    return gated(draw, result, act) if act else result


def block(draw: Draw) -> Layer:
    """Convolutions that are residual, split, concatenated, rescaled."""
    op = draw.among(("squeeze", "bottleneck", "inverted", "split", "pyramid", "next", "upsample", "dense", "shuffle", "head", "unet",
                     "stem"))
    channels, side = draw.size(1, 20) * 8, draw.size(4, 64, SIDES)
    while channels**2 * side**2 > 30_000_000:
        side = max(4, side // 2)
        channels = channels if side > 4 else 64
    x, act, label = draw.input(1, channels, side, side), draw.among(ACTIVATIONS), f"{op} {channels} of {side}"
    make = {"squeeze": squeeze, "bottleneck": bottleneck, "inverted": inverted, "split": split, "pyramid": pyramid, "next": convnext,
            "upsample": upsample, "dense": concatenated, "shuffle": shuffle, "head": head, "unet": unet, "stem": stem}[op]
    return draw.layer(f"{label} {act}", make(draw, x, channels, act, side))


def squeeze(draw: Draw, x: str, channels: int, act: str, side: int) -> str:
    """Channels scaled by a function of their means."""
    mean = draw.node("GlobalAveragePool", [x]) if draw.maybe() else draw.node("ReduceMean", [x, draw.numbers(2, 3)])
    inner = conv(draw, mean, channels, max(1, channels // 4), act=act)
    return draw.node("Mul", [x, draw.node(draw.among(("Sigmoid", "HardSigmoid")), [conv(draw, inner, max(1, channels // 4), channels)])])


def bottleneck(draw: Draw, x: str, channels: int, act: str, side: int) -> str:
    """Two or three convolutions around which the operand is added."""
    inner = conv(draw, conv(draw, x, channels, channels // 2, act=act), channels // 2, channels // 2, 3, act=act)
    return gated(draw, draw.node("Add", [conv(draw, inner, channels // 2, channels), x]), act)


def inverted(draw: Draw, x: str, channels: int, act: str, side: int) -> str:
    """A wide depthwise convolution between two of 1x1."""
    wide = channels * draw.among((2, 3, 4, 6)) if channels < 100 else channels
    inner = conv(draw, conv(draw, x, channels, wide, act=act), wide, wide, draw.among((3, 5)), draw.among((1, 1, 2)), wide, act)
    return conv(draw, inner, wide, channels)


def split(draw: Draw, x: str, channels: int, act: str, side: int) -> str:
    """Half the channels pass by; all are concatenated (YOLO's)."""
    half = channels // 2
    draw.node("Split", [conv(draw, x, channels, channels, act=act)], axis=1, num_outputs=2)
    first = draw.nodes[-1].output[0]
    draw.nodes[-1].output.append("second")
    inner = conv(draw, conv(draw, "second", half, half, 3, act=act), half, half, 3, act=act)
    joined = draw.node("Concat", [first, "second", draw.node("Add", [inner, "second"])], axis=1)
    return conv(draw, joined, 3 * half, channels, act=act)


def pyramid(draw: Draw, x: str, channels: int, act: str, side: int) -> str:
    """Pools of growing windows, concatenated."""
    values = [conv(draw, x, channels, channels // 2, act=act)]
    for _ in range(3):
        values.append(draw.node("MaxPool", [values[-1]], kernel_shape=[5, 5], strides=[1, 1], pads=[2] * 4))
    return conv(draw, draw.node("Concat", values, axis=1), channels // 2 * 4, channels, act=act)


def convnext(draw: Draw, x: str, channels: int, act: str, side: int) -> str:
    """A depthwise convolution, then products with channels last."""
    value = draw.node("Transpose", [conv(draw, x, channels, channels, 7, 1, channels)], perm=[0, 2, 3, 1])
    value = gated(draw, dense(draw, norm(draw, value, "layer", channels), channels, 2 * channels), "gelu")
    value = draw.node("Mul", [dense(draw, value, 2 * channels, channels), draw.weight(draw.array(channels))])
    return draw.node("Add", [x, draw.node("Transpose", [value], perm=[0, 3, 1, 2])])


def upsample(draw: Draw, x: str, channels: int, act: str, side: int) -> str:
    """A resized image added to a convolution's result, as in feature pyramids."""
    scales = draw.weight(np.array([1, 1, 2, 2], np.float32))
    mode = draw.among((("nearest", "asymmetric"), ("linear", "half_pixel"), ("linear", "align_corners")))
    large = draw.node("Resize", [conv(draw, x, channels, channels), "", scales], mode=mode[0], coordinate_transformation_mode=mode[1],
                      nearest_mode="floor")
    total = draw.node("Add", [large, draw.input(1, channels, 2 * side, 2 * side)])
    return conv(draw, total, channels, channels // 2, 3 if channels < 80 else 1)


def concatenated(draw: Draw, x: str, channels: int, act: str, side: int) -> str:
    """A dense block: each layer reads all before it."""
    value, width, growth = x, channels, draw.among((8, 12, 16, 32))
    for _ in range(3):
        scale, shift = (draw.weight(draw.array(width, 1, 1)) for _ in range(2))
        active = draw.node("Relu", [draw.node("Add", [draw.node("Mul", [value, scale]), shift])])
        value, width = draw.node("Concat", [value, conv(draw, active, width, growth, 3)], axis=1), width + growth
    return value


def shuffle(draw: Draw, x: str, channels: int, act: str, side: int) -> str:
    """Half the channels convolved, then all shuffled."""
    half = channels // 2
    draw.node("Split", [x], axis=1, num_outputs=2)
    first = draw.nodes[-1].output[0]
    draw.nodes[-1].output.append("second")
    inner = conv(draw, conv(draw, conv(draw, "second", half, half, act=act), half, half, 3, 1, half), half, half, act=act)
    joined = draw.node("Concat", [first, inner], axis=1)
    turned = draw.node("Transpose", [draw.node("Reshape", [joined, draw.numbers(1, 2, half, side, side)])], perm=[0, 2, 1, 3, 4])
    return draw.node("Reshape", [turned, draw.numbers(1, channels, side, side)])


def head(draw: Draw, x: str, channels: int, act: str, side: int) -> str:
    """A detector's head: predictions of three anchors as rows, their scores beside their boxes."""
    classes = draw.among((1, 20, 80))
    value = draw.node("Reshape", [conv(draw, x, channels, 3 * (classes + 5)), draw.numbers(1, 3, classes + 5, side, side)])
    value = draw.node("Sigmoid", [draw.node("Transpose", [value], perm=[0, 1, 3, 4, 2])])
    draw.node("Split", [value, draw.numbers(2, 2, classes + 1)], axis=-1)
    centers = draw.nodes[-1].output[0]
    draw.nodes[-1].output.extend(["sizes", "scores"])
    corners = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1)[None, None].astype(draw.dtype)
    centers = draw.node("Mul", [draw.node("Add", [draw.node("Mul", [centers, scalar(draw, 2)]), draw.weight(corners)]), scalar(draw, 8)])
    sizes = draw.node("Pow", [draw.node("Mul", ["sizes", scalar(draw, 2)]), scalar(draw, 2)])
    sizes = draw.node("Mul", [sizes, draw.weight(draw.array(1, 3, 1, 1, 2))])
    return draw.node("Reshape", [draw.node("Concat", [centers, sizes, "scores"], axis=-1), draw.numbers(1, -1, classes + 5)])


def unet(draw: Draw, x: str, channels: int, act: str, side: int) -> str:
    """A transposed convolution beside what was kept, then a convolution of both."""
    weights = [draw.filter(channels, channels // 2, 2, 2, axis=1), draw.weight(draw.array(channels // 2))]
    large = draw.node("ConvTranspose", [x, *weights], kernel_shape=[2, 2], strides=[2, 2])
    kept = draw.input(1, channels // 2, 2 * side, 2 * side)
    return conv(draw, draw.node("Concat", [kept, large], axis=1), channels // 2 * 2, max(1, channels // 4), 3, act=act)


def stem(draw: Draw, x: str, channels: int, act: str, side: int) -> str:
    """Two strided convolutions and a pool."""
    value = conv(draw, conv(draw, x, channels, channels, 3, 2, act=act), channels, channels, 3, act=act)
    return draw.node("MaxPool", [value], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
