"""Ops of ``com.microsoft`` that onnxruntime's optimizer writes for diffusion models."""
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import floor_divide
from legato.frontends.onnx.broadcasting import expanded_to
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops import conv
from legato.frontends.onnx.ops.halves import in_32_bits
from legato.frontends.onnx.ops.microsoft_images import channels_first, channels_last
from legato.frontends.onnx.problems import Malformed

_DOMAIN = "com.microsoft"


@op("NhwcConv", 1, domain=_DOMAIN)
def nhwc_conv(node):
    """Conv of an image whose last axis has the channels, as has that of the filters."""
    if node.rank() < 3 or node.rank(1) != node.rank():
        raise Malformed(f"its image has the shape {list(node.dims())} and its filters {list(node.dims(1))}; both have spatial axes")
    others = [node.value(2)] if node.given(2) else []
    return channels_last(conv.conv.build(node.with_inputs(channels_first(node.x()), channels_first(node.x(1)), *others).of_version(11)))


@op("GroupNorm", 1, domain=_DOMAIN)
def group_norm(node):
    """Normalization of groups of channels, with SiLU behind it where ``activation`` is 1."""
    return _normalized(node, node.x())


@op("SkipGroupNorm", 1, domain=_DOMAIN)
def skip_group_norm(node):
    """GroupNorm of x + skip + bias; the sum is an output, too."""
    total = relax.add(node.x(), expanded_to(_skip(node), node.x()))
    if node.given(4):
        node.require_shape(4, "bias", [node.dims()[_channel_axis(node)]])
        total = relax.add(total, _of_channels(node, node.x(4)))
    return _normalized(node, total), total


def _skip(node) -> ir.Value:
    """What SkipGroupNorm adds to its image: another, or a number for each channel of each image."""
    spatial, sizes = node.rank() - 2, list(node.dims(3))
    if len(sizes) not in (2, node.rank()):
        raise Malformed(f"its skip has the shape {sizes}; it is an image, or has a number for each channel of each")
    for axis in (0, _channel_axis(node)):
        sizes[axis] = node.dims()[axis]
    node.require_shape(3, "skip", sizes)
    if len(sizes) != 2:
        return node.x(3)
    return relax.expand_dims(node.x(3), axis=list(range(1, 1 + spatial) if _has_channels_last(node) else range(2, 2 + spatial)))


def _of_channels(node, vector: ir.Value) -> ir.Value:
    return vector if _has_channels_last(node) else relax.expand_dims(vector, axis=list(range(1, node.rank() - 1)))


def _channel_axis(node) -> int:
    """Where an image has its channels: also among the two axes of a number for each of them."""
    return -1 if _has_channels_last(node) else 1


def _has_channels_last(node) -> bool:
    return node.flag("channels_last", True)


def _normalized(node, total: ir.Value) -> ir.Value:
    """The normalization of an image by the node's parameters and attributes."""
    groups, epsilon, last = node.integer("groups"), node.number("epsilon", 1e-5), _has_channels_last(node)
    active = node.integer("activation", 0)
    if active not in (0, 1):
        raise Malformed(f"its activation is {active}; 0 is none, 1 is SiLU")
    if node.rank() < 3:
        raise Malformed(f"its image has the shape {list(node.dims())}; it has a batch, spatial axes and channels")

    def normalized(x, gamma, beta):
        y = relax.group_norm(channels_first(x) if last else x, gamma, beta, num_groups=groups, epsilon=epsilon)
        y = relax.multiply(y, relax.sigmoid(y)) if active else y
        return channels_last(y) if last else y

    return in_32_bits(normalized)(total, node.x(1), node.x(2))


@op("BiasAdd", 1, domain=_DOMAIN)
def bias_add(node):
    """x + bias + skip, which has the shape of x."""
    node.require_shape(1, "bias", node.dims()[-1:])
    node.require_shape(2, "skip", node.dims())
    return relax.add(relax.add(node.x(0), node.x(1)), expanded_to(node.x(2), node.x(0)))


@op("BiasSplitGelu", 1, domain=_DOMAIN)
def bias_split_gelu(node):
    """The first half of x + bias along the last axis, times the Gelu of the second one."""
    axis, width = node.rank() - 1, node.dims()[-1]
    if isinstance(width, int) and width % 2:
        raise Malformed(f"it has {width} columns, which are no two halves")
    half = floor_divide(width, 2)
    if not isinstance(width, int):
        node.require_equal(half + half, width, "columns in two halves")
    node.require_shape(1, "bias", [width])
    total = relax.add(node.x(0), node.x(1))
    left, right = (relax.strided_slice(total, axes=[axis], begin=[begin], end=[begin + half]) for begin in (0, half))
    return relax.multiply(left, relax.gelu(right))


ENTRIES = (nhwc_conv, group_norm, skip_group_norm, bias_add, bias_split_gelu)
