"""Steps of optimizers (the domain ai.onnx.preview.training). Gradients come in as inputs; the op Gradient itself is not supported."""
import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.problems import Malformed

DOMAIN = "ai.onnx.preview.training"


def _groups(node, count: int) -> list[list[ir.Value]]:
    """The tensors behind the rate and the step's number: for each parameter of the model its value, gradient and states."""
    length, rest = divmod(len(node) - 2, count)
    if rest or not length:
        raise Malformed(f"it has {len(node)} inputs; a rate, a count and {count} tensors for each parameter are expected")
    return [[node.x(2 + number + place * length) for place in range(count)] for number in range(length)]


def _ordered(results: list[tuple[ir.Value, ...]]) -> tuple[ir.Value, ...]:
    """The outputs: the first results of all parameters, then the second ones."""
    return tuple(value for values in zip(*results) for value in values)


def _like(x: ir.Value, value: float) -> ir.Value:
    return relax.constant(np.asarray(value, relax.TensorType.of(x.type).dtype))


def _scaled(x: ir.Value, factor: float) -> ir.Value:
    return relax.multiply(x, _like(x, factor))


def _regularized(node, x: ir.Value, gradient: ir.Value, default: float | None = 0.0) -> ir.Value:
    factor = node.number("norm_coefficient") if default is None else node.number("norm_coefficient", default)
    return relax.add(_scaled(x, factor), gradient)


def _scalars(node, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The rate and the step's number, in the element type of a parameter."""
    dtype = relax.TensorType.of(x.type).dtype
    rate, count = (relax.reshape(node.x(i), shape=[]) for i in (0, 1))
    return _cast(rate, dtype), _cast(count, dtype)


def _cast(value: ir.Value, dtype: np.dtype) -> ir.Value:
    return value if relax.TensorType.of(value.type).dtype == dtype else relax.astype(value, dtype=dtype)


@op("Adagrad", 1, domain=DOMAIN)
def adagrad(node):
    """Adagrad: the rate is divided by the root of the sum of squared gradients."""
    decay, epsilon, results = node.number("decay_factor", 0.0), node.number("epsilon", 1e-6), []
    for x, gradient, squares in _groups(node, 3):
        rate, count = _scalars(node, x)
        rate = relax.divide(rate, relax.add(_like(x, 1), _scaled(count, decay)))
        gradient = _regularized(node, x, gradient)
        squares = relax.add(squares, relax.multiply(gradient, gradient))
        root = relax.add(relax.sqrt(squares), _like(x, epsilon))
        results.append((relax.subtract(x, relax.divide(relax.multiply(rate, gradient), root)), squares))
    return _ordered(results)


@op("Adam", 1, domain=DOMAIN)
def adam(node):
    """Adam: means of gradients and of their squares, corrected for how few they are at first."""
    alpha, beta = node.number("alpha", 0.9), node.number("beta", 0.999)
    epsilon, after, results = node.number("epsilon", 1e-6), node.number("norm_coefficient_post", 0.0), []
    for x, gradient, mean, squares in _groups(node, 4):
        rate, count = _scalars(node, x)
        gradient = _regularized(node, x, gradient)
        mean = relax.add(_scaled(mean, alpha), _scaled(gradient, 1 - alpha))
        squares = relax.add(_scaled(squares, beta), _scaled(relax.multiply(gradient, gradient), 1 - beta))
        one = _like(x, 1)
        shares = (relax.subtract(one, relax.power(_like(x, base), count)) for base in (beta, alpha))
        corrected = relax.multiply(rate, relax.divide(relax.sqrt(next(shares)), next(shares)))
        rate = relax.where(relax.greater(count, _like(x, 0)), corrected, rate)
        root = relax.add(relax.sqrt(squares), _like(x, epsilon))
        moved = relax.subtract(x, relax.divide(relax.multiply(rate, mean), root))
        results.append((_scaled(moved, 1 - after), mean, squares))
    return _ordered(results)


@op("Momentum", 1, domain=DOMAIN)
def momentum(node):
    """Gradient descent with momentum, standard or Nesterov's."""
    alpha, beta, results = node.number("alpha"), node.number("beta"), []
    is_nesterov = node.text("mode", "standard", "nesterov") == "nesterov"
    for x, gradient, speed in _groups(node, 3):
        rate, count = _scalars(node, x)
        gradient = _regularized(node, x, gradient, None)
        share = relax.where(relax.greater(count, _like(x, 0)), _like(x, beta), _like(x, 1))
        speed = relax.add(_scaled(speed, alpha), relax.multiply(share, gradient))
        step = relax.add(gradient, _scaled(speed, alpha)) if is_nesterov else speed
        results.append((relax.subtract(x, relax.multiply(rate, step)), speed))
    return _ordered(results)


ENTRIES = (adagrad, adam, momentum)
