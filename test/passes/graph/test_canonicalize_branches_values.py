"""Sums of convolutions of one image become one convolution: each case is run by the numpy semantics before and after."""
from functools import reduce

import numpy as np
import pytest
from graphs import apply, build, check, names, weights

from legato.dialects import relax
from legato.passes.graph.canonicalize.canonicalize import Canonicalize

LAST = {"data_layout": "NHWC", "kernel_layout": "HWIO"}


def branches(op, channels, *convolutions, scaled=False, **attributes):
    """A body that adds convolutions of its operand, each of a filter and attributes of its own, with a bias, and a multiple of it."""
    def body(x):
        axis = attributes.get("data_layout", "NC").index("C")
        per_channel = [channels if number == axis else 1 for number in range(x.type.rank)]
        terms = [relax.multiply(x, weights(*per_channel))] if scaled else []
        for sizes, own in convolutions:
            terms.append(relax.add(getattr(relax, op)(x, weights(*sizes), **attributes | own), weights(*per_channel)))
        return relax.relu(reduce(relax.add, terms))

    return body


MERGED = [
    ([2, 6, 7, 8], branches("conv2d", 6, ((6, 6, 3, 3), {"padding": [1] * 4}), ((6, 6, 1, 1), {}), scaled=True)),
    ([1, 7, 8, 6], branches("conv2d", 6, ((1, 1, 6, 6), {}), ((3, 3, 6, 6), {"padding": [1] * 4}), scaled=True, **LAST)),
    ([1, 7, 8, 6], branches("conv2d", 6, ((3, 3, 1, 6), {"padding": [1] * 4}), scaled=True, groups=6, **LAST)),
    ([1, 6, 7, 8], branches("conv2d", 6, ((6, 1, 3, 5), {"padding": [1, 2, 1, 2]}), ((6, 1, 3, 3), {"padding": [1] * 4}),
                            ((6, 1, 1, 1), {}), groups=6, scaled=True)),
    ([1, 6, 9, 8], branches("conv2d", 6, ((6, 3, 2, 3), {"padding": [0, 3, 2, 3], "dilations": [2, 3]}),
                            ((6, 3, 2, 1), {"padding": [0, 0, 2, 0], "dilations": [2, 1]}), groups=2)),
    ([2, 4, 9], branches("conv1d", 4, ((4, 2, 4), {"padding": [2, 1]}), scaled=True, groups=2)),
    ([1, 2, 3, 4, 5], branches("conv3d", 2, ((2, 2, 3, 3, 3), {"padding": [1] * 6}), ((2, 2, 1, 3, 1), {"padding": [0, 1, 0, 0, 1, 0]}))),
    ([1, 4, 9, 8], branches("conv2d", 5, ((5, 4, 3, 3), {"padding": [1] * 4}), ((5, 4, 1, 1), {}), strides=[2, 3])),
    ([1, 6, 7, 8], branches("conv2d", 6, ((6, 6, 3, 3), {"padding": [2, 0, 0, 2]}), ((6, 6, 1, 1), {}))),
    (["n", 4, 9, 8], branches("conv2d", 4, ((4, 4, 1, 1), {}), ((4, 4, 1, 1), {}), scaled=True)),
]  # fmt: skip


@pytest.mark.parametrize("shape, body", MERGED)
def test_branches_are_one_convolution(shape, body):
    module = check(build([shape], body), [Canonicalize()], [[2 if size == "n" else size for size in shape]])
    assert names(module) == [f"conv{len(shape) - 2}d", "add", "relu"]


APART = [
    ([1, 6, 7, 8], branches("conv2d", 6, ((6, 6, 3, 3), {}), ((6, 1, 3, 3), {"groups": 6}))),
    ([1, 6, 7, 8], branches("conv2d", 6, ((6, 6, 3, 3), {"padding": [1] * 4}), ((6, 6, 3, 3), {"dilations": [2, 2], "padding": [2] * 4}))),
    ([1, 6, 7, 8], branches("conv2d", 6, ((6, 6, 3, 1), {"padding": [1, 0, 1, 0]}), ((6, 6, 1, 3), {"padding": [0, 1, 0, 1]}))),
]


def test_other_branches_stay():
    for shape, body in APART:
        assert names(check(build([shape], body), [Canonicalize()])).count("conv2d") == 2


def test_what_else_is_added_stays():
    """Other images, what something else reads, too, and a factor of each element."""
    def body(x, y):
        both = relax.conv2d(x, weights(4, 4, 1, 1))
        first = relax.add(relax.add(relax.conv2d(x, weights(4, 4, 3, 3), padding=[1] * 4), relax.tanh(x)), both)
        second = relax.add(relax.conv2d(y, weights(4, 4, 1, 1)), relax.multiply(x, weights(4, 5, 6)))
        return relax.multiply(relax.add(first, second), both)

    module = check(build([[2, 4, 5, 6]] * 2, body), [Canonicalize()])
    assert names(module).count("conv2d") == 3 and names(module).count("add") == 4


def test_two_images_of_two_branches():
    def body(x, y):
        a, b, c, d = (relax.conv2d(image, weights(4, 4, 1, 1)) for image in (x, y, x, y))
        return relax.add(relax.add(a, b), relax.add(c, relax.add(d, relax.constant(np.float32(2)))))

    assert names(check(build([[2, 4, 5, 6]] * 2, body), [Canonicalize()])) == ["conv2d", "conv2d", "add", "add"]


def test_filters_of_infinities_and_of_halves_stay():
    def infinite(x):
        wide = relax.constant(np.full((4, 4, 1, 1), np.inf, np.float32))
        return relax.add(relax.conv2d(x, weights(4, 4, 3, 3), padding=[1] * 4), relax.conv2d(x, wide))

    def halves(x):
        x = relax.astype(x, "f16")
        a, b = (relax.conv2d(x, relax.constant(np.full((4, 4, 1, 1), value, np.float16))) for value in (1.5, 2.5))
        return relax.astype(relax.add(a, b), "f32")

    for body in (infinite, halves):
        module = build([[1, 4, 5, 6]], body)
        apply(module, [Canonicalize()])
        assert names(module).count("conv2d") == 2
