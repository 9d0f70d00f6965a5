"""Ops of onnxruntime's domain ``com.microsoft`` that its optimizer inserts: activations and fused products."""
import math

from legato.dialects import relax
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.conv import conv
from legato.frontends.onnx.ops.halves import plus
from legato.frontends.onnx.ops.matmul import gemm

_DOMAIN = "com.microsoft"


@op("Gelu", 1, domain=_DOMAIN)
def gelu(node):
    """Gelu, exact."""
    return relax.gelu(node.x())


@op("BiasGelu", 1, domain=_DOMAIN)
def bias_gelu(node):
    """Gelu of a sum."""
    return relax.gelu(relax.add(node.x(0), node.x(1)))


@op("FastGelu", 1, domain=_DOMAIN)
def fast_gelu(node):
    """Gelu approximated by tanh, with an optional bias."""
    x = relax.add(node.x(0), node.x(1)) if node.given(1) else node.x(0)
    return relax.gelu(x, approximate="tanh")


@op("QuickGelu", 1, domain=_DOMAIN)
def quick_gelu(node):
    """x * sigmoid(alpha * x)."""
    x = node.x()
    return relax.multiply(x, relax.sigmoid(relax.multiply(x, node.literal(node.number("alpha", 1.702), node.dtype()))))


@op("FusedMatMul", 1, domain=_DOMAIN)
def fused_matmul(node):
    """A matrix product with transposes and a factor."""
    a, b = (_transposed(node, index, letter) for index, letter in ((0, "A"), (1, "B")))
    y, alpha = relax.matmul(a, b), node.number("alpha", 1.0)
    return y if alpha == 1 else relax.multiply(y, node.literal(alpha, node.dtype()))


def _transposed(node, index: int, letter: str):
    """A factor with the first axis moved after the axes of the batch (transBatch), then its last two exchanged (trans)."""
    rank, batch, last = node.rank(index), node.flag(f"transBatch{letter}"), node.flag(f"trans{letter}")
    axes = list(range(rank))
    if batch and rank > 2:
        axes = [*axes[1:-1], 0, axes[-1]]
    if last and rank > 1:
        axes = [*axes[:-2], axes[-1], axes[-2]]
    return node.x(index) if axes == list(range(rank)) else relax.permute_dims(node.x(index), axes=axes)


# of a fused op, the functions of its activations and their parameters in order, with their defaults
_ACTIVATIONS = {
    "": (lambda y: y, ()), "Relu": (relax.relu, ()), "Tanh": (relax.tanh, ()), "Sigmoid": (relax.sigmoid, ()),
    "Softplus": (relax.softplus, ()), "Softsign": (relax.softsign, ()),
    "LeakyRelu": (relax.leaky_relu, (("alpha", 0.01),)), "Elu": (relax.elu, (("alpha", 1.0),)),
    "ThresholdedRelu": (relax.thresholded_relu, (("alpha", 1.0),)), "HardSigmoid": (relax.hard_sigmoid, (("alpha", 0.2), ("beta", 0.5))),
    "Selu": (relax.selu, (("alpha", 1.67326319217681884765625), ("gamma", 1.05070102214813232421875))),
    "Clip": (relax.clip, (("min", -math.inf), ("max", math.inf))),
}


def _activation(node):
    """The function of a fused op's activation, and its parameters with their defaults."""
    return _ACTIVATIONS[node.text("activation", *_ACTIVATIONS)]


@op("FusedGemm", 1, domain=_DOMAIN)
def fused_gemm(node):
    """Gemm with an activation after it."""
    function, parameters = _activation(node)
    words = {"min": "alpha", "max": "beta"}
    values = {name: node.number(f"activation_{words.get(name, name)}", default) for name, default in parameters}
    return function(gemm.build(node), **values)


@op("FusedConv", 1, domain=_DOMAIN)
def fused_conv(node):
    """Conv, with a tensor added and an activation after it."""
    y = conv.build(node)
    y = plus(y, node.x(3)) if node.given(3) else y
    function, parameters = _activation(node)
    given = node.numbers("activation_params", [])
    return function(y, **{name: given[place] if place < len(given) else default for place, (name, default) in enumerate(parameters)})


ENTRIES = (gelu, bias_gelu, fast_gelu, quick_gelu, fused_matmul, fused_gemm, fused_conv)
