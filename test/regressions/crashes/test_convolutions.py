"""Convolutions of random windows, pads, groups and channels around the widths of vectors, on static and symbolic sizes, against
onnxruntime."""
import random

import numpy as np
import pytest
from onnx import helper
from onnx_check import model, reference, value
from thoroughly import sampled

import legato

CHANNELS = [1, 3, 7, 8, 15, 16, 17, 31, 32, 33]
LEVELS = ["llvm", "llvm{cpu=x86-64-v3}", "llvm{cpu=x86-64}"]


def check(op, attributes, x_shape, w_shape, symbolic, level, bias=False):
    """Compiles one convolution with the axes in ``symbolic`` as symbols; the result must be onnxruntime's."""
    rng = np.random.default_rng(0)
    x, constants = rng.standard_normal(x_shape, np.float32), {"w": rng.standard_normal(w_shape, np.float32)}
    if bias:
        constants["b"] = rng.standard_normal(w_shape[0] if op == "Conv" else w_shape[1] * attributes["group"], np.float32)
    shape = [f"s{axis}" if axis in symbolic else size for axis, size in enumerate(x_shape)]
    proto = model([helper.make_node(op, ["x", *constants], ["y"], **attributes)], [value("x", x, shape)], ["y"], constants=constants)
    expected = reference(proto, {"x": x})[0]
    found = legato.compile(legato.from_onnx(proto), target=level)(x)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("level", LEVELS[::2])
@pytest.mark.parametrize("channels, filters, group", [(3, 33, 1), (192, 3, 1), (8, 68, 4)])
def test_pads_of_rows_only(channels, filters, group, level):
    """The rows' length is dynamic, and the weight is packed."""
    attributes = {"pads": [1, 0, 2, 0], "dilations": [2, 1], "group": group}
    check("Conv", attributes, (2, channels, 7, 10), (filters, channels // group, 3, 2), {3}, level, bias=True)


@pytest.mark.parametrize("attributes, x_shape, w_shape, symbolic", [
    ({"strides": [2, 1], "dilations": [1, 3], "pads": [0, 0, 0, 1], "group": 8}, (1, 8, 1, 2), (8, 1, 1, 1), ()),
    ({"strides": [3, 1], "dilations": [3, 2], "pads": [6, 0, 6, 0], "group": 1}, (2, 33, 1, 6), (33, 33, 5, 1), ()),
    ({"strides": [1, 2], "dilations": [1, 2], "pads": [1, 2, 0, 0], "group": 4}, (1, 4, 11, 1), (4, 8, 3, 2), ()),
    ({"strides": [1, 2], "pads": [0, 1, 2, 0], "output_padding": [0, 1], "group": 1}, (1, 17, 1, 1), (17, 32, 3, 1), (2,)),
    ({"strides": [4, 3], "pads": [3, 0, 0, 2], "output_padding": [3, 2], "group": 1}, (1, 2, 1, 3), (2, 3, 1, 1), (2, 3)),
])
def test_transposed_with_crops(attributes, x_shape, w_shape, symbolic):
    """Copies into windows with strides on axes of size 1, and crops that are longer than the input."""
    check("ConvTranspose", attributes, x_shape, w_shape, symbolic, "llvm{cpu=x86-64}")


def random_case(seed):
    r = random.Random(seed)
    rank, op = r.choice([1, 2, 2]), r.choice(["Conv", "Conv", "Conv", "ConvTranspose"])
    kernel = [r.choice([1, 2, 3, 3, 5, 7]) for _ in range(rank)]
    strides, dilations = ([r.choice([1, 1, 2, 3]) for _ in range(rank)] for _ in range(2))
    reach = [(k - 1) * d for k, d in zip(kernel, dilations)]
    pads = [r.choice([0, 0, r.randint(0, e), r.randint(0, e + 2)]) for e in reach + reach]
    least = [max(1, e + 1 - a - b) if op == "Conv" else 1 + a + b for e, a, b in zip(reach, pads[:rank], pads[rank:])]
    sizes = [size + r.choice([0, 1, r.randint(0, 20)]) for size in least]
    group = r.choice([1, 1, 2, 4])
    inputs, filters = (group * r.choice(CHANNELS) for _ in range(2))
    if r.random() < 0.2:
        group = filters = inputs
    w_shape = (filters, inputs // group, *kernel) if op == "Conv" else (inputs, filters // group, *kernel)
    attributes = {"strides": strides, "dilations": dilations, "pads": pads, "group": group}
    symbolic = {axis for axis in (0, *range(2, 2 + rank)) if r.random() < 0.5}
    return op, attributes, (r.choice([1, 1, 3]), inputs, *sizes), w_shape, symbolic, r.choice(LEVELS), r.random() < 0.5


@pytest.mark.parametrize("seed", sampled(range(12), 3))
def test_random_convolutions(seed):
    check(*random_case(seed))


def test_many_clips_behind_a_convolution():
    """A clip reads its value twice: following each reading doubled the time of the compile with every one of them."""
    nodes, last = [helper.make_node("Conv", ["x", "w"], ["y0"])], "y0"
    for k in range(32):
        nodes.append(helper.make_node("Clip", [last, "low", f"high{k}"], [f"y{k + 1}"]))
        nodes.append(helper.make_node("Mul", [f"y{k + 1}", "scale"], [f"z{k + 1}"]))
        last = f"z{k + 1}"
    rng = np.random.default_rng(0)
    constants = {"w": rng.standard_normal((8, 3, 3, 3), np.float32), "low": np.float32(-1), "scale": np.float32(1.5)}
    constants |= {f"high{k}": np.float32(1 + k / 8) for k in range(32)}
    x = rng.standard_normal((1, 3, 9, 9), np.float32)
    given = model(nodes, [value("x", x)], [last], constants=constants)
    np.testing.assert_allclose(np.from_dlpack(legato.compile(legato.from_onnx(given))(x)), reference(given, {"x": x})[0], rtol=0, atol=1e-4)
