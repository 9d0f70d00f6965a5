"""Activations and softmax."""
import math

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size
from legato.frontends.onnx import run_time
from legato.frontends.onnx.broadcasting import expanded_to
from legato.frontends.onnx.entry import Entry, op


def _activation(op_type: str, versions: tuple[int, ...], builder: str, **defaults: float) -> Entry:
    """The entry of an ONNX op that equals a relax op with the same float attributes."""

    def build(node):
        return getattr(relax, builder)(node.x(), **{name: node.number(name, default) for name, default in defaults.items()})

    return Entry(op_type, versions, build)


_NAMED = (
    _activation("Relu", (6, 13, 14), "relu"),
    _activation("Sigmoid", (6, 13), "sigmoid"),
    _activation("Softplus", (1, 22), "softplus"),
    _activation("Softsign", (1, 22), "softsign"),
    _activation("HardSwish", (14, 22), "hard_swish"),
    _activation("Mish", (18, 22), "mish"),
    _activation("LeakyRelu", (6, 16), "leaky_relu", alpha=0.01),
    _activation("Elu", (6, 22), "elu", alpha=1.0),
    _activation("Celu", (12, 28), "celu", alpha=1.0),
    _activation("ThresholdedRelu", (10, 22), "thresholded_relu", alpha=1.0),
    _activation("HardSigmoid", (6, 22), "hard_sigmoid", alpha=0.2, beta=0.5),
    _activation("Selu", (6, 22), "selu", alpha=1.67326319217681884765625, gamma=1.05070102214813232421875),
)


@op("Gelu", 20)
def gelu(node):
    """Gelu: exact, or approximated by tanh."""
    return relax.gelu(node.x(), approximate=node.text("approximate", "none", "tanh"))


@op("Swish", 24)
def swish(node):
    """Swish: x * sigmoid(alpha * x)."""
    alpha, x = node.number("alpha", 1.0), node.x()
    if alpha == 1.0:
        return relax.silu(x)
    return relax.multiply(x, relax.sigmoid(relax.multiply(x, node.literal(alpha, node.dtype()))))


@op("PRelu", 7, 9, 16)
def prelu(node):
    """PRelu, for integers by a comparison."""
    x, slope = node.x(0), expanded_to(node.x(1), node.x(0))
    if np.issubdtype(node.dtype(), np.integer):
        return relax.where(relax.less(x, node.literal(0, node.dtype())), relax.multiply(x, slope), x)
    return relax.prelu(x, slope)


@op("Clip", 6, 11, 12, 13)
def clip(node):
    """Clip: attributes before opset 11, inputs since. Constant bounds become relax.clip, others maximum and minimum."""
    if node.version < 11:
        low, high = node.number("min", -math.inf), node.number("max", math.inf)
        return relax.clip(node.x(), min=low if low > -math.inf else None, max=high if high < math.inf else None)
    x = node.x()
    bounds = {}
    for index, name, tighten in ((1, "min", relax.maximum), (2, "max", relax.minimum)):
        if not node.given(index):
            continue
        known = node.value(index).known()
        if known is not None and known.dtype != object and known.size == 1 and _is_exact(known.item()):
            bounds[name] = float(known.item())
        elif bounds:
            x, bounds = tighten(relax.clip(x, **bounds), node.x(index)), {}
        else:
            x = tighten(x, node.x(index))
    return relax.clip(x, **bounds) if bounds else x


def _is_exact(bound: int | float) -> bool:
    """Whether a float attribute represents the bound exactly."""
    return isinstance(bound, float) or abs(bound) <= 1 << 53


def _coerced_softmax(builder: str):
    """Softmax over one axis; before opset 13 over all axes from ``axis`` on, flattened."""

    def build(node):
        rank = node.rank()
        axis = node.axis(node.integer("axis", -1 if node.version >= 13 else 1), rank)
        function = getattr(relax, builder)
        if _is_over_one(node, axis):
            return function(node.x(), axis=axis)
        return relax.reshape(function(_flat(node, axis), axis=-1), shape=list(node.dims()))

    return build


def _is_over_one(node, axis: int) -> bool:
    """Whether an op is over one axis: from opset 13 on, or where those behind it have one element."""
    return node.version >= 13 or all(size == 1 for size in node.dims()[axis + 1 :])


def _flat(node, axis: int) -> ir.Value:
    """x with the axes from one on as one."""
    return relax.reshape(node.x(), shape=[*node.dims()[:axis], relax.dims.product(node.dims()[axis:])])


softmax = Entry("Softmax", (1, 11, 13), _coerced_softmax("softmax"))
log_softmax = Entry("LogSoftmax", (1, 11, 13), _coerced_softmax("log_softmax"))


@op("Hardmax", 1, 11, 13)
def hardmax(node):
    """Hardmax: 1 at the first greatest element, as a comparison with argmax; before opset 13 over all axes from ``axis`` on, flattened."""
    axis = node.axis(node.integer("axis", -1 if node.version >= 13 else 1), node.rank())
    dims = list(node.dims())
    if _is_over_one(node, axis):
        return _hardmax(node.x(), axis, dims, node.dtype())
    return relax.reshape(_hardmax(_flat(node, axis), axis, [*dims[:axis], relax.dims.product(dims[axis:])], node.dtype()), shape=dims)


def _hardmax(x: ir.Value, axis: int, dims: list[Size], dtype: str) -> ir.Value:
    """Hardmax of a tensor of these sizes over one axis."""
    if dims[axis] == 0:
        return x
    chosen = relax.argmax(x, axis=axis, keepdims=True)
    numbers = relax.reshape(run_time.counted(dims[axis]), shape=[dims[axis]] + [1] * (len(dims) - axis - 1))
    return relax.astype(relax.equal(chosen, numbers), dtype=dtype)


ENTRIES = (*_NAMED, gelu, swish, prelu, clip, softmax, log_softmax, hardmax)
