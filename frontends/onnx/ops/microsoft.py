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


def _activated(node, y, names: dict[str, tuple[tuple[str, float], ...]], values: list[float] | None):
    """y through the activation of a fused op. ``names``: attributes of its parameters with their defaults, or ``values`` in order."""
    name = node.text("activation", "", "Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid")
    given = [node.number(f"activation_{word}", default) for word, default in names.get(name, ())] if values is None else values

    def parameter(place: int, default: float) -> float:
        return given[place] if place < len(given) else default

    if name == "LeakyRelu":
        return relax.leaky_relu(y, alpha=parameter(0, 0.01))
    if name == "Clip":
        return relax.clip(y, min=parameter(0, -math.inf), max=parameter(1, math.inf))
    if name == "HardSigmoid":
        return relax.hard_sigmoid(y, alpha=parameter(0, 0.2), beta=parameter(1, 0.5))
    return {"": lambda one: one, "Relu": relax.relu, "Tanh": relax.tanh, "Sigmoid": relax.sigmoid}[name](y)


@op("FusedGemm", 1, domain=_DOMAIN)
def fused_gemm(node):
    """Gemm with an activation after it."""
    names = {"LeakyRelu": (("alpha", 0.01),), "HardSigmoid": (("alpha", 0.2), ("beta", 0.5)),
             "Clip": (("alpha", -math.inf), ("beta", math.inf))}
    return _activated(node, gemm.build(node), names, None)


@op("FusedConv", 1, domain=_DOMAIN)
def fused_conv(node):
    """Conv, with a tensor added and an activation after it."""
    y = conv.build(node)
    y = plus(y, node.x(3)) if node.given(3) else y
    return _activated(node, y, {}, node.numbers("activation_params", []))


ENTRIES = (gelu, bias_gelu, fast_gelu, quick_gelu, fused_matmul, fused_gemm, fused_conv)
