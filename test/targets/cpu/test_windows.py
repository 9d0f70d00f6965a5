"""Pooling and depthwise convolutions in NHWC: paddings, strides, dilations, remainders of every kind."""

import ml_dtypes
import numpy as np
import pytest
from harness import NAMES, TARGETS, Net
from thoroughly import first_of

import legato

# input, kernel, strides, padding (top, left, bottom, right), dilations
POOLS = [
    ((1, 12, 12, 8), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1)),
    ((2, 9, 11, 20), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    ((1, 7, 7, 16), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    ((1, 14, 14, 33), (2, 2), (2, 2), (0, 0, 0, 0), (1, 1)),
    ((1, 13, 13, 3), (5, 3), (2, 1), (2, 1, 2, 1), (1, 1)),
    ((1, 15, 15, 17), (3, 3), (1, 2), (2, 2, 2, 2), (2, 2)),
    ((1, 8, 8, 150), (3, 3), (2, 2), (0, 0, 1, 1), (1, 1)),
    ((1, 4, 4, 5), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    ((1, 28, 28, 192), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    ((1, 6, 6, 64), (6, 6), (1, 1), (0, 0, 0, 0), (1, 1)),
]


def values(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def taps(x, kernel, strides, padding, dilations, fill):
    """The elements of every window, first axis: the tap."""
    n, h, w, c = x.shape
    wide = np.full((n, h + padding[0] + padding[2], w + padding[1] + padding[3], c), fill, np.float64)
    wide[:, padding[0] : padding[0] + h, padding[1] : padding[1] + w] = x
    counts = [(wide.shape[i + 1] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in (0, 1)]

    def along(i, tap):
        return slice(tap * dilations[i], tap * dilations[i] + (counts[i] - 1) * strides[i] + 1, strides[i])

    return np.stack([wide[:, along(0, a), along(1, b)] for a in range(kernel[0]) for b in range(kernel[1])])


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_pools(target):
    net, arrays, right = Net(target), [], []
    for shape, kernel, strides, padding, dilations in POOLS:
        x, geometry = values(shape), (kernel, strides, padding, dilations)
        attributes = {
            "kernel": list(kernel),
            "strides": list(strides),
            "padding": list(padding),
            "dilations": list(dilations),
            "layout": "NHWC",
            "ceil_mode": False,
        }
        greatest, total, ones = (
            f(taps(a, *geometry, fill), 0) for f, a, fill in ((np.max, x, -np.inf), (np.sum, x, 0), (np.sum, x * 0 + 1, 0))
        )
        net.output(net.op("relax.relu", [net.op("relax.max_pool2d", [net.input(shape)], **attributes)]))
        for include in (True, False):
            net.output(net.op("relax.avg_pool2d", [net.input(shape)], **attributes, count_include_pad=include))
        arrays += [x] * 3
        right += [np.maximum(greatest, 0), total / (kernel[0] * kernel[1]), total / ones]
    for i, (found, expected) in enumerate(zip(net.run(*arrays), right, strict=True)):
        assert np.allclose(found, expected, rtol=1e-5, atol=1e-6), (POOLS[i // 3], i % 3)


DEPTHWISE = [
    ((1, 12, 12, 8), (3, 3), (1, 1), (1, 1, 1, 1)),
    ((2, 14, 14, 40), (3, 3), (2, 2), (1, 1, 1, 1)),
    ((1, 10, 10, 33), (5, 5), (1, 1), (2, 2, 2, 2)),
    ((1, 7, 7, 150), (3, 3), (1, 1), (1, 1, 1, 1)),
    ((1, 6, 6, 16), (3, 3), (1, 1), (0, 0, 0, 0)),
    ((1, 28, 28, 120), (5, 5), (1, 1), (2, 2, 2, 2)),
    ((1, 17, 29, 64), (3, 3), (1, 1), (1, 1, 1, 1)),
]


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_depthwise_with_bias_and_relu(target):
    net, arrays, right = Net(target), [], []
    for shape, kernel, strides, padding in DEPTHWISE:
        channels = shape[-1]
        x, w, b = values(shape), values((*kernel, 1, channels), 1), values((channels,), 2)
        windows = taps(x, kernel, strides, padding, (1, 1), 0)
        right.append(np.maximum((windows * w.reshape(-1, 1, 1, 1, channels)).sum(0) + b, 0))
        conv = net.op(
            "relax.conv2d",
            [net.input(shape), net.weight(w)],
            strides=list(strides),
            padding=list(padding),
            dilations=[1, 1],
            groups=channels,
            data_layout="NHWC",
            kernel_layout="HWIO",
        )
        net.output(net.op("relax.relu", [net.op("relax.add", [conv, net.weight(b)])]))
        arrays.append(x)
    for case, found, expected in zip(DEPTHWISE, net.run(*arrays), right, strict=True):
        assert np.allclose(found, expected, rtol=1e-4, atol=1e-5), case


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
@pytest.mark.parametrize("dtype", first_of([ml_dtypes.bfloat16, np.float16]))
def test_maxima_of_halves(target, dtype):
    """They are compared in f32, or as integers, which changes none: also of all bits there are."""
    net, arrays, right = Net(target), [], []
    for channels in (3, 16, 33, 64):
        x = values((1, 9, 8, channels)).astype(dtype)
        x[0, 2, 3], x[0, 7:, :4] = np.nan, -np.inf
        if channels == 64:
            x = np.random.default_rng(1).integers(0, 1 << 16, (1, 23, 23, channels), np.uint16).view(dtype)
        net.output(net.op("relax.max_pool2d", [net.input(x.shape, NAMES[x.dtype])], kernel=[3, 3], padding=[1] * 4, layout="NHWC"))
        arrays.append(x)
        right.append(taps(x.astype(np.float32), (3, 3), (1, 1), (1,) * 4, (1, 1), -np.inf).max(0))
    for found, expected in zip(net.run(*arrays), right, strict=True):
        np.testing.assert_array_equal(found.astype(np.float32), expected)
    assert str(net.lowered("llvm")).count("llvm.intr.umax") >= 4


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
def test_maxima_along_columns_then_rows(target):
    """Through the whole pipeline, which makes two of each pool."""
    net, arrays, right = Net(target, first=None), [], []
    cases = [((5, 5), (2, 2, 2, 2), (1, 1), "known"), ((4, 6), (0, 3, 1, 2), (2, 1), "known"), ((5, 4), (4, 0, 0, 3), (1, 2), "free")]
    for kernel, padding, dilations, sizes in cases:
        for channels in (3, 16, 40):
            x = values((2, 13, 11, channels), channels)
            x[0, 2, 3], x[1, 7:, :4] = np.nan, -np.inf
            shape = x.shape if sizes == "known" else ("n", "h", "w", channels)
            net.output(net.op("relax.max_pool2d", [net.input(shape)], kernel=list(kernel), padding=list(padding), dilations=list(dilations),
                              layout="NHWC"))
            arrays.append(x)
            right.append(taps(x, kernel, (1, 1), padding, dilations, -np.inf).max(0))
    for found, expected in zip(net.run(*arrays), right, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert str(net.lowered("relax")).count('"relax.max_pool2d"') == 2 * len(arrays)


def test_dynamic_batch():
    net = Net()
    x = net.input(("n", 9, 9, 20))
    net.output(net.op("relax.max_pool2d", [x], kernel=[3, 3], padding=[1] * 4, layout="NHWC"))
    for n in (1, 3):
        a = values((n, 9, 9, 20))
        assert np.array_equal(net.run(a)[0], taps(a, (3, 3), (1, 1), (1,) * 4, (1, 1), -np.inf).max(0))


def test_the_inside_reads_the_input_itself():
    """Of the five parts of a padded pooling, only the four strips have a padded copy."""
    net = Net()
    x = net.input((1, 20, 20, 16))
    net.output(net.op("relax.max_pool2d", [x], kernel=[3, 3], padding=[1] * 4, layout="NHWC"))
    module = net.lowered("fused")
    legato.Pipeline("tir-split-windows").run(module)
    text = str(module)
    assert text.count("= linalg.pooling_nhwc_max") == 5 and text.count("= tensor.pad") == 4
    assert "ins(%arg0, %" in [l for l in text.splitlines() if "= linalg.pooling_nhwc_max" in l][-1]
