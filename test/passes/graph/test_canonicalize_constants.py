"""Constants of ops in a row become one only where that changes no result by more than its last digits."""
import numpy as np
import pytest
from graphs import apply, build, names, weights
from interpret import interpret

from legato.dialects import relax
from legato.passes.graph.canonicalize.canonicalize import Canonicalize
from legato.passes.graph.canonicalize.combined import stands_for


def f32(number):
    return relax.constant(np.float32(number))


def filled(*shape, number):
    return relax.constant(np.full(shape, number, np.float32))


def twice(op, first, second):
    return lambda x: getattr(relax, op)(getattr(relax, op)(x, f32(first)), f32(second))




VALUES = np.array([1e-38, 1e-30, 1, -1e8, 0.3, 1.7, -2.5, 0], np.float32)
KEPT = [
    ("both overflow", twice("multiply", 1e30, 1e30), ["multiply"] * 2),
    ("both underflow", twice("multiply", 1e-30, 1e-30), ["multiply"] * 2),
    ("quotients", twice("divide", 1e30, 1e30), ["multiply"] * 2),
    ("rounding by a large number", twice("add", 12582912, -12582912), ["add"] * 2),
    ("rounding by a difference", lambda x: relax.subtract(relax.add(x, f32(1.5e7)), f32(1.5e7)), ["add"] * 2),
    ("a small number behind a large one", twice("add", 1e8, 1), ["add"] * 2),
    ("a sum times", lambda x: relax.multiply(relax.add(relax.multiply(x, f32(1e-30)), f32(1e30)), f32(1e30)),
     ["multiply", "add", "multiply"]),
    ("weights of a product", lambda x: relax.multiply(relax.matmul(relax.reshape(x, [4, 2]), filled(2, 1, number=1e30)), f32(1e30)),
     ["reshape", "matmul", "multiply"]),
    ("weights of a convolution",
     lambda x: relax.multiply(relax.conv1d(relax.reshape(x, [1, 2, 4]), filled(1, 2, 1, number=1e-30)), f32(1e-30)),
     ["reshape", "conv1d", "multiply"]),
    ("gammas", lambda x: relax.multiply(relax.layer_norm(x, filled(8, number=1e-30), filled(8, number=0), axes=[0]), f32(1e-30)),
     ["layer_norm", "multiply"]),
    ("factors", twice("multiply", 3, 5), ["multiply"]),
    ("sums", twice("add", 3, -5), ["add"]),
]  # fmt: skip


@pytest.mark.parametrize("body, left", [case[1:] for case in KEPT], ids=[case[0] for case in KEPT])
def test_constants_in_a_row(body, left):
    module = build([[8]], body)
    with np.errstate(over="ignore", under="ignore"):
        (expected,) = interpret(module, [VALUES])
        apply(module, [Canonicalize()])
        (found,) = interpret(module, [VALUES])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=0)
    assert names(module) == left


def test_tiny_weights_beside_others_take_a_factor():
    """Channels that training left unused are tiny, and do not hold up the others."""
    filters = np.array([1, 1e-25], np.float32).reshape(2, 1, 1)
    module = build([[1, 1, 8]], lambda x: relax.add(relax.multiply(relax.conv1d(x, relax.constant(filters)),
                                                                   relax.constant(filters[:, 0])), weights(2, 1)))
    apply(module, [Canonicalize()])
    assert names(module) == ["conv1d", "add"]


@pytest.mark.parametrize("name, dtype, a, b, possible", [
    ("multiply", "f2", 300, 300, False), ("multiply", "f2", 1e-3, 1e-3, False), ("multiply", "f2", 30, 30, True),
    ("multiply", "f4", 0, 1e-30, True), ("multiply", "f8", 1e30, 1e30, True), ("multiply", "f4", np.inf, 2, False),
    ("add", "f2", 1, 60, False), ("add", "f2", 1, 3, True), ("add", "f4", 1, 1000, True), ("add", "f4", 1, -1, False),
    ("multiply", "i1", 100, 100, True), ("add", "i4", 1, -1, True), ("add", "u1", 200, 200, True),
])  # fmt: skip
def test_what_one_constant_stands_for(name, dtype, a, b, possible):
    arrays = np.array([a], dtype), np.array([b], dtype)
    with np.errstate(over="ignore"):
        assert stands_for(name, getattr(np, name)(*arrays), *arrays) == possible
