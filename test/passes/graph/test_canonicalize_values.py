"""Canonicalization changes graphs, not what they compute: each case is run by the numpy semantics before and after."""
import math

import numpy as np
import pytest
from graphs import apply, build, check, names, weights

from legato.core.ir_helpers import find
from legato.dialects import relax
from legato.passes.graph.canonicalize.canonicalize import Canonicalize
from legato.passes.graph.fold_constants import FoldConstants

constant = relax.constant


def f32(number):
    return constant(np.float32(number))


def gelu_divided(x):
    return relax.multiply(relax.multiply(x, relax.add(relax.erf(relax.divide(x, f32(math.sqrt(2)))), f32(1))), f32(0.5))


def gelu_halved_first(x):
    return relax.multiply(relax.multiply(x, f32(0.5)), relax.add(f32(1), relax.erf(relax.multiply(x, f32(0.70710677)))))


def gelu_halved_gate(x):
    gate = relax.multiply(f32(0.5), relax.add(relax.erf(relax.divide(x, f32(1.41421))), f32(1)))
    return relax.multiply(gate, x)


def gelu_tanh(x):
    inner = relax.multiply(relax.add(x, relax.multiply(relax.power(x, f32(3)), f32(0.044715))), f32(math.sqrt(2 / math.pi)))
    return relax.multiply(relax.multiply(f32(0.5), x), relax.add(relax.tanh(inner), f32(1)))


def gelu_tanh_products(x):
    cube = relax.multiply(relax.multiply(x, x), relax.multiply(f32(0.044715), x))
    inner = relax.multiply(f32(math.sqrt(2 / math.pi)), relax.add(x, cube))
    return relax.multiply(x, relax.multiply(f32(0.5), relax.add(f32(1), relax.tanh(inner))))


def hard_swish_by_clip(x):
    return relax.divide(relax.multiply(x, relax.clip(relax.add(x, f32(3)), min=0.0, max=6.0)), f32(6))


def layer_norm(x):
    centered = relax.subtract(x, relax.mean(x, axis=[-1], keepdims=True))
    variance = relax.mean(relax.power(centered, f32(2)), axis=[-1], keepdims=True)
    quotient = relax.divide(centered, relax.sqrt(relax.add(variance, f32(1e-5))))
    return relax.add(relax.multiply(quotient, weights(6)), weights(6))


def layer_norm_by_reciprocal(x):
    centered = relax.subtract(x, relax.mean(x, axis=[2], keepdims=True))
    variance = relax.mean(relax.multiply(centered, centered), axis=[2], keepdims=True)
    inverse = relax.divide(f32(1), relax.power(relax.add(f32(1e-5), variance), f32(0.5)))
    return relax.add(weights(6), relax.multiply(weights(6), relax.multiply(centered, inverse)))


def rms_norm(x):
    mean = relax.mean(relax.square(x), axis=[2], keepdims=True)
    return relax.multiply(relax.multiply(x, relax.power(relax.add(mean, f32(1e-6)), f32(-0.5))), weights(6))


def rms_norm_of_difference(x):
    centered = relax.subtract(x, relax.mean(x, axis=[1], keepdims=True))
    return relax.divide(centered, relax.sqrt(relax.add(relax.mean(relax.square(centered), axis=[2], keepdims=True), f32(1e-5))))


def softmax(x):
    e = relax.exp(relax.subtract(x, relax.max(x, axis=[1], keepdims=True)))
    return relax.divide(e, relax.sum(e, axis=[-2], keepdims=True))


KNOWN = [
    (gelu_divided, ["gelu"]),
    (gelu_halved_first, ["gelu"]),
    (gelu_halved_gate, ["gelu"]),
    (gelu_tanh, ["gelu"]),
    (gelu_tanh_products, ["gelu"]),
    (lambda x: relax.multiply(x, relax.sigmoid(x)), ["silu"]),
    (lambda x: relax.multiply(relax.tanh(relax.softplus(x)), x), ["mish"]),
    (lambda x: relax.multiply(x, relax.hard_sigmoid(x, alpha=1 / 6, beta=0.5)), ["hard_swish"]),
    (hard_swish_by_clip, ["hard_swish"]),
    (layer_norm, ["layer_norm"]),
    (layer_norm_by_reciprocal, ["layer_norm"]),
    (rms_norm, ["rms_norm"]),
    (rms_norm_of_difference, ["mean", "subtract", "rms_norm"]),
    (softmax, ["softmax"]),
]


@pytest.mark.parametrize("body, expected", KNOWN)
def test_composed_ops_are_recognized(body, expected):
    module = check(build([[2, 5, 6]], body), [Canonicalize()])
    assert names(module) == expected


def almost_gelu(x):
    return relax.multiply(relax.multiply(x, relax.add(relax.erf(relax.divide(x, f32(1.5))), f32(1))), f32(0.5))


def gelu_of_doubles(root):
    """Gelu in f64, with a constant that is near sqrt(2)."""
    def body(x):
        wide = relax.astype(x, dtype=np.dtype(np.float64))
        inner = relax.divide(wide, constant(np.float64(root)))
        return relax.multiply(relax.multiply(wide, relax.add(relax.erf(inner), constant(np.float64(1)))), constant(np.float64(0.5)))
    return body


@pytest.mark.parametrize("root, is_gelu", [(math.sqrt(2), True), (1.41421, False)])
def test_constants_of_doubles_mean_what_they_say(root, is_gelu):
    module = check(build([[2, 5, 6]], gelu_of_doubles(root)), [Canonicalize()])
    assert ("gelu" in names(module), "erf" in names(module)) == (is_gelu, not is_gelu)


def almost_layer_norm(x):
    centered = relax.subtract(x, relax.mean(x, axis=[2], keepdims=True))
    variance = relax.mean(relax.square(x), axis=[2], keepdims=True)
    return relax.divide(centered, relax.sqrt(relax.add(variance, f32(1e-5))))


def almost_softmax(x):
    return relax.divide(relax.exp(x), relax.sum(relax.exp(relax.abs(x)), axis=[1], keepdims=True))


@pytest.mark.parametrize("body", [almost_gelu, almost_layer_norm, almost_softmax, lambda x: relax.multiply(x, relax.sigmoid(relax.abs(x)))])
def test_lookalikes_are_left(body):
    module = check(build([[2, 5, 6]], body), [Canonicalize()])
    assert not {"gelu", "layer_norm", "rms_norm", "softmax", "silu"} & set(names(module))


def normalized(x, channels):
    return relax.batch_norm(x, weights(channels), weights(channels), weights(channels), weights(channels), epsilon=1e-3)


def conv_norm(x):
    y = normalized(relax.conv2d(x, weights(8, 2, 3, 3), groups=2), 8)
    return relax.relu(relax.add(relax.multiply(y, weights(8, 1, 1)), weights(1, 8, 1, 1)))


def conv_channels_last(x):
    x = relax.permute_dims(x, [0, 2, 3, 1])
    y = relax.conv2d(x, weights(3, 3, 4, 8), data_layout="NHWC", kernel_layout="HWIO")
    return relax.multiply(relax.add(relax.multiply(y, weights(8)), weights(8)), f32(0.25))


def conv_used_twice(x):
    y = relax.conv2d(x, weights(4, 4, 1, 1))
    return relax.add(normalized(y, 4), y)


def shared_weight(x):
    w = weights(4, 4, 3, 3)
    a = relax.multiply(relax.conv2d(x, w), weights(4, 1, 1))
    return relax.subtract(a, relax.conv2d(x, w))


def scaled_matmul(x):
    x = relax.reshape(x, [2, 4, 49])
    return relax.multiply(relax.add(relax.matmul(x, weights(49, 5)), weights(5)), weights(5))


def pixelwise_factor(x):
    return relax.multiply(relax.add(relax.conv2d(x, weights(4, 4, 1, 1)), weights(4, 1, 1)), weights(7, 7))


FOLDED = [
    (conv_norm, ["conv2d", "add", "relu"]),
    (conv_channels_last, ["permute_dims", "conv2d", "add"]),
    (conv_used_twice, ["conv2d", "multiply", "add", "add"]),
    (shared_weight, ["conv2d", "conv2d", "subtract"]),
    (scaled_matmul, ["reshape", "matmul", "add"]),
    (pixelwise_factor, ["conv2d", "add", "multiply"]),
    (lambda x: normalized(x, 4), ["multiply", "add"]),
    (lambda x: relax.conv2d(relax.pad(x, [0, 0, 1, 2, 0, 0, 3, 4]), weights(4, 4, 3, 3), padding=[1, 0, 0, 1]), ["conv2d"]),
    (lambda x: relax.conv2d(relax.pad(x, [0, 0, 1, 1, 0, 0, 1, 1], value=1.0), weights(4, 4, 3, 3)), ["pad", "conv2d"]),
    (lambda x: relax.avg_pool2d(x, [7, 7], strides=[7, 7]), ["mean"]),
    (lambda x: relax.max_pool2d(x, [7, 7]), ["max"]),
    (lambda x: relax.avg_pool2d(x, [7, 7], padding=[1, 1, 1, 1], count_include_pad=True), ["avg_pool2d"]),
]


@pytest.mark.parametrize("body, expected", FOLDED)
def test_factors_go_into_weights(body, expected):
    module = check(build([[2, 4, 7, 7]], body), [Canonicalize()])
    assert names(module) == expected


@pytest.mark.parametrize("name", ["multiply", "add"])
@pytest.mark.parametrize(("shape", "constant", "into"), [
    ([8, 4], [4], True), ([8, 4], [1, 4], True), ([8, 4], [1], True), ([8, 1], [1], True),
    ([8, 1], [17], False), ([8, 1], [1, 17], False), ([1, 4], [3, 4], False), ([4], [3, 4], False), ([4], [1, 4], False),
])  # fmt: skip
def test_constants_go_into_a_norm_that_they_do_not_repeat(name, shape, constant, into):
    def body(x):
        return getattr(relax, name)(relax.layer_norm(x, weights(shape[-1]), weights(shape[-1]), axes=[-1]), weights(*constant))

    module = check(build([shape], body), [Canonicalize()])
    assert names(module) == (["layer_norm"] if into else ["layer_norm", name])


def split_product(x):
    product = relax.reshape(relax.matmul(weights(4, 5), x), [2, 4, 2, 3])
    return relax.relu(relax.add(product, weights(4, 1, 1)))


def split_product_beside_pixels(x):
    return relax.add(relax.reshape(relax.matmul(weights(4, 5), x), [2, 4, 2, 3]), weights(4, 1, 3))


SIMPLER = [
    (lambda x: relax.add(relax.subtract(relax.divide(relax.multiply(x, f32(1)), f32(1)), f32(0)), constant(np.zeros((1, 1), "f"))), []),
    (lambda x: relax.add(x, constant(np.zeros((2, 5, 6), np.float32))), []),
    (lambda x: relax.add(x, constant(np.zeros((3, 1, 1, 1), np.float32))), ["add"]),
    (lambda x: relax.add(relax.add(x, weights(6)), weights(5, 6)), ["add"]),
    (lambda x: relax.add(relax.add(x, weights(5, 1)), weights(6)), ["add", "add"]),
    (lambda x: relax.subtract(relax.add(x, weights(6)), weights(6)), ["add"]),
    (lambda x: relax.divide(relax.multiply(x, f32(3)), weights(6)), ["multiply"]),
    (split_product, ["matmul", "add", "relu", "reshape"]),
    (split_product_beside_pixels, ["matmul", "reshape", "add"]),
    (lambda x: relax.divide(x, f32(1e38)), ["divide"]),
    (lambda x: relax.power(relax.abs(x), f32(0.5)), ["abs", "sqrt"]),
    (lambda x: relax.power(x, f32(2)), ["square"]),
    (lambda x: relax.power(x, f32(3)), ["power"]),
    (lambda x: relax.relu(relax.relu(relax.maximum(x, f32(0)))), ["relu"]),
    (lambda x: relax.relu(relax.clip(x, min=0.0, max=6.0)), ["clip"]),
    (lambda x: relax.clip(relax.relu(x), min=-1.0, max=0.5), ["clip"]),
    (lambda x: relax.relu(relax.clip(x, max=0.5)), ["clip", "relu"]),
    (lambda x: relax.negative(relax.negative(x)), []),
    (lambda x: relax.astype(x, "f32"), []),
    (lambda x: relax.where(constant(np.ones((1, 1), bool)), x, relax.exp(x)), []),
    (lambda x: relax.relu(relax.matmul(relax.expand_dims(x, [3]), weights(1, 7))), ["reshape", "multiply", "relu"]),
    (lambda x: relax.matmul(relax.reshape(x, [60, 1]), relax.reshape(x, [1, 60])), ["reshape", "reshape", "multiply"]),
    (lambda x: relax.matmul(relax.reshape(x, [60, 1]), weights(1)), ["reshape", "matmul"]),
    (lambda x: relax.matmul(relax.softmax(relax.reshape(x, [60, 1]), axis=1), weights(1, 7)), ["reshape", "softmax", "matmul"]),
    (lambda x: relax.permute_dims(relax.permute_dims(x, [2, 0, 1]), [1, 2, 0]), []),
    (lambda x: relax.permute_dims(relax.permute_dims(x, [2, 0, 1]), [2, 1, 0]), ["permute_dims"]),
    (lambda x: relax.permute_dims(relax.expand_dims(x, [0]), [1, 0, 2, 3]), ["reshape"]),
    (lambda x: relax.permute_dims(relax.reshape(relax.permute_dims(x, [2, 0, 1]), [1, 6, 2, 1, 5]), [2, 4, 1, 0, 3]), ["reshape"]),
    (lambda x: relax.reshape(relax.permute_dims(x, [2, 0, 1]), [6, 10]), ["permute_dims", "reshape"]),
    (lambda x: relax.permute_dims(relax.reshape(relax.permute_dims(x, [2, 0, 1]), [6, 10]), [1, 0]), ["reshape"]),
    (lambda x: relax.permute_dims(relax.reshape(relax.permute_dims(x, [1, 0, 2]), [10, 6]), [1, 0]), ["permute_dims", "reshape"]),
    (lambda x: relax.reshape(relax.permute_dims(x, [2, 0, 1]), [6, 1, 2, 5]), ["reshape", "permute_dims"]),
    (lambda x: relax.take(relax.permute_dims(x, [2, 1, 0]), constant(np.int64(-3)), 0), ["strided_slice", "reshape", "permute_dims"]),
    (lambda x: relax.take(relax.permute_dims(x, [2, 0, 1]), constant(np.int64(4)), 0), ["strided_slice", "reshape"]),
    (lambda x: relax.squeeze(relax.reshape(relax.expand_dims(x, [1]), [2, 1, 30]), [1]), ["reshape"]),
    (lambda x: relax.reshape(relax.reshape(x, [60]), [2, 5, 6]), []),
    (lambda x: relax.strided_slice(x, [0, 0], [2, 9]), []),
    (lambda x: relax.strided_slice(x, [-1], [-9], strides=[-1]), ["strided_slice"]),
    (lambda x: relax.concat([relax.concat([x, x], 1), relax.concat([x], 0)], 1), ["concat"]),
    (lambda x: relax.concat([relax.concat([x, x], 2), relax.concat([x, x], 2)], 1), ["concat", "concat", "concat"]),
    (lambda x: relax.pad(x, [0] * 6), []),
    (lambda x: relax.tile(x, [1, 1, 1]), []),
    (lambda x: relax.add(relax.broadcast_to(relax.exp(relax.sum(x, axis=[1])), [2, 2, 6]), relax.strided_slice(x, [0], [2], axes=[1])),
     ["sum", "exp", "strided_slice", "add"]),
    (lambda x: relax.broadcast_to(relax.sum(x), [4, 3]), ["sum", "broadcast_to"]),
    (lambda x: relax.sum(relax.max(x, axis=[0, 1], keepdims=True), axis=[0, 1]), ["max", "reshape"]),
]  # fmt: skip


@pytest.mark.parametrize("body, expected", SIMPLER)
def test_graphs_get_simpler(body, expected):
    module = check(build([[2, 5, 6]], body), [Canonicalize()])
    assert names(module) == expected


def test_integers_divide_as_before():
    def body(x):
        n = relax.astype(relax.round(relax.multiply(x, f32(100))), "i32")
        n = relax.divide(relax.subtract(n, constant(np.int32(1))), constant(np.int32(4)))
        return relax.astype(n, "f32")

    module = check(build([[2, 5, 6]], body), [Canonicalize()], tolerance=0)
    assert names(module) == ["multiply", "round", "astype", "subtract", "divide", "astype"]


def bytes_of(x, dtype="i8"):
    return relax.astype(relax.clip(relax.round(relax.multiply(x, f32(60))), min=0.0 if dtype[0] == "u" else -128.0, max=127.0), dtype)


def dequantized(x, dtype="i8", scale=0.5):
    whole = relax.subtract(relax.astype(bytes_of(x, dtype), "i32"), constant(np.int32(3)))
    return relax.relu(relax.multiply(relax.astype(whole, "f32"), f32(scale)))


PICKED = ["max_pool2d", "astype", "subtract", "astype", "multiply", "relu"]
POOLS = [
    (lambda x: relax.max_pool2d(dequantized(x), [3, 3], strides=[2, 2], padding=[1, 1, 1, 1]), PICKED),
    (lambda x: relax.max_pool2d(dequantized(x, "ui8"), [2, 3], padding=[1, 2, 0, 1], ceil_mode=True), PICKED),
    (lambda x: relax.max_pool2d(dequantized(x), [2, 2], dilations=[2, 1]), [*PICKED[1:], "max_pool2d"]),
    (lambda x: relax.max_pool2d(dequantized(x, scale=-0.5), [2, 2]), [*PICKED[1:], "max_pool2d"]),
    (lambda x: relax.max_pool2d(relax.multiply(dequantized(x), weights(9, 1, 1)), [2, 2]), [*PICKED[1:], "multiply", "max_pool2d"]),
    (lambda x: relax.add(relax.max_pool2d(y := dequantized(x), [3, 3], padding=[1, 1, 1, 1]), y), [*PICKED[1:], "max_pool2d", "add"]),
]  # fmt: skip


@pytest.mark.parametrize("body, expected", POOLS)
def test_pools_pick_bytes(body, expected):
    """Where what dequantizes them is increasing, and each window has an element."""
    quantizing = ["multiply", "round", "clip", "astype"]
    assert names(check(build([[2, 9, 8, 7]], body), [Canonicalize()], tolerance=0)) == [*quantizing, *expected]


@pytest.mark.parametrize("size, channels, kernel, strides, ops", [
    ((21, 20), 3, (7, 7), (2, 2), ["conv2d_integer"]), ((16, 17), 5, (2, 3), (1, 2), ["conv2d_integer"]),
    ((16, 17), 18, (2, 3), (1, 2), ["pad", "conv2d_integer"]),
])  # fmt: skip
def test_convolutions_of_odd_channels(size, channels, kernel, strides, ops):
    """Loops compute those of few channels as they are, and others of whole groups."""
    weight = np.random.default_rng(1).integers(-128, 128, (*kernel, channels, 8)).astype(np.int8)

    def body(x):
        return relax.astype(relax.conv2d_integer(bytes_of(x, "ui8"), constant(weight), strides=strides, data_layout="NHWC",
                                                 kernel_layout="HWIO"), "f32")

    module = check(build([[2, *size, channels]], body), [Canonicalize()], tolerance=0)
    assert names(module) == ["multiply", "round", "clip", "astype", *ops, "astype"]


@pytest.mark.parametrize("depth, dtype, padded", [(6, "i8", 8), (8, "i8", None), (7, "i16", 8), (6, "i16", None)])
def test_products_of_integers_sum_whole_groups(depth, dtype, padded):
    """Of four bytes, or two integers of 16 bits."""
    weight = np.random.default_rng(1).integers(-128, 128, (depth, 3)).astype("int8" if dtype == "i8" else "int16")

    def body(x):
        return relax.astype(relax.matmul_integer(bytes_of(x, dtype), constant(weight)), "f32")

    module = check(build([[5, depth]], body), [Canonicalize()], tolerance=0)
    (product,) = find(module.module.operation, "relax.matmul_integer")
    assert list(product.operands[1].type.shape) == [padded or depth, 3]
    assert ("pad" in names(module)) == (padded is not None)


def test_folded_weights_replace_the_old_ones():
    module = build([[1, 64, 8, 8]], lambda x: normalized(relax.conv2d(x, weights(64, 64, 3, 3)), 64))
    before = module.weights.nbytes
    check(module, [FoldConstants(), Canonicalize()])
    assert len(module.weights) == 1 and module.weights.nbytes == before


def test_a_depthwise_convolution_by_one_element_is_a_product():
    def convolution(channels, filters, groups, **attributes):
        return lambda x: relax.conv2d(x, weights(filters, channels // groups, 1, 1), groups=groups, **attributes)

    last = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    for body in (convolution(4, 4, 4), lambda x: relax.conv2d(x, weights(1, 1, 1, 6), groups=6, **last)):
        assert names(check(build([[2, 4, 5, 6]], body), [Canonicalize()]))[-1] == "multiply"
    others = ((4, 4, 4, {"strides": [2, 1]}), (4, 4, 4, {"padding": [1, 0, 0, 0]}), (4, 8, 4, {}), (4, 4, 2, {}))
    for other in (convolution(*sizes, **attributes) for *sizes, attributes in others):
        assert "conv2d" in names(check(build([[2, 4, 5, 6]], other), [Canonicalize()]))


@pytest.mark.parametrize("op, shape, sizes, taps, attributes, left", [
    ("conv2d", [2, 4, 5, 6], (8, 4), (3, 3), {"padding": [12, 1, 12, 1], "dilations": [12, 1]}, (1, 3)),
    ("conv2d", [1, 4, 9, 3], (4, 2), (5, 4), {"padding": [8, 3, 16, 20], "dilations": [4, 5], "strides": [2, 3], "groups": 2}, (5, 2)),
    ("conv1d", [2, 3, 7], (5, 3), (4,), {"padding": [9, 17], "dilations": [8]}, (1,)),
    ("conv3d", [1, 2, 3, 4, 5], (4, 2), (2, 3, 3), {"padding": [0, 6, 7, 3, 6, 7], "dilations": [2, 6, 7]}, (2, 1, 1)),
])  # fmt: skip
def test_taps_that_read_nothing_but_padding_go(op, shape, sizes, taps, attributes, left):
    module = check(build([shape], lambda x: getattr(relax, op)(x, weights(*sizes, *taps), **attributes)), [Canonicalize()])
    (convolution,) = find(module.module.operation, f"relax.{op}")
    assert tuple(convolution.operands[1].type.shape) == (*sizes, *left)


def test_a_product_far_from_its_split():
    """Behind more ops than Python may call functions inside of each other, it is not looked for."""
    def graph(x):
        found = relax.matmul(weights(4, 5), x)
        for _ in range(600):
            found = relax.sin(relax.cos(found))
        return relax.add(relax.reshape(found, [2, 4, 2, 3]), weights(4, 1, 1))

    module = build([[2, 5, 6]], graph)
    apply(module, [Canonicalize()])
    assert names(module)[-2:] == ["reshape", "add"]
