"""Ops that ONNX had as experiments and took away, which onnxruntime keeps in ONNX's domain: converters of Core ML and Caffe2 write them."""
import numpy as np

from legato.dialects import relax
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.problems import Malformed


@op("Affine", 1)
def affine(node):
    """alpha x + beta."""
    return _line(node, node.x(), node.number("alpha", 1.0), node.number("beta", 0.0))


@op("Scale", 1)
def scale(node):
    """x times a number."""
    return _line(node, node.x(), node.number("scale", 1.0), 0.0)


@op("ScaledTanh", 1)
def scaled_tanh(node):
    """alpha tanh(beta x)."""
    return _line(node, relax.tanh(_line(node, node.x(), node.number("beta", 1.0), 0.0)), node.number("alpha", 1.0), 0.0)


@op("ParametricSoftplus", 1)
def parametric_softplus(node):
    """alpha log(exp(beta x) + 1)."""
    return _line(node, relax.softplus(_line(node, node.x(), node.number("beta", 1.0), 0.0)), node.number("alpha", 1.0), 0.0)


@op("ImageScaler", 1)
def image_scaler(node):
    """An image times a number, plus a number for each channel."""
    bias, channels = node.numbers("bias", []), node.dims(0, rank=4)[1]
    if isinstance(channels, int) and len(bias) != channels:
        raise Malformed(f"it has {len(bias)} numbers in 'bias' for {channels} channels")
    node.require_equal(channels, len(bias), f"{len(bias)} channels, one for each number in 'bias'")
    of_channels = node.literal(np.reshape(bias, (-1, 1, 1)), node.dtype())
    return relax.add(_line(node, node.x(), node.number("scale", 1.0), 0.0), of_channels)


@op("Crop", 1)
def crop(node):
    """An image without a border: what is left, top, right and bottom of it. ``scale`` says how many rows and columns are kept instead."""
    border, kept = node.integers("border"), node.integers("scale", [])
    *_, rows, columns = node.dims(0, rank=4)
    if len(border) != 4 or len(kept) not in (0, 2):
        raise Malformed(f"border = {border} must have four numbers, and scale = {kept} two, or none")
    left, top, right, bottom = border
    ends = [top + kept[0], left + kept[1]] if kept else [rows - bottom, columns - right]
    return relax.strided_slice(node.x(), begin=[top, left], end=ends, axes=[2, 3])


def _line(node, x, factor: float, offset: float):
    x = x if factor == 1 else relax.multiply(x, node.literal(factor, node.dtype()))
    return x if offset == 0 else relax.add(x, node.literal(offset, node.dtype()))


ENTRIES = (affine, scale, scaled_tanh, parametric_softplus, image_scaler, crop)
