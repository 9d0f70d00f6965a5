"""Ops of onnxruntime's domain ``com.microsoft`` that its optimizer inserts and that are compositions of relax ops."""
from legato.dialects import relax
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.problems import Refused

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
    if node.flag("transBatchA") or node.flag("transBatchB"):
        raise Refused("transBatchA and transBatchB are not supported")
    a, b = (_transposed(node, index, node.flag(name)) for index, name in ((0, "transA"), (1, "transB")))
    y, alpha = relax.matmul(a, b), node.number("alpha", 1.0)
    return y if alpha == 1 else relax.multiply(y, node.literal(alpha, node.dtype()))


def _transposed(node, index: int, transpose: bool):
    rank = node.rank(index)
    return relax.permute_dims(node.x(index), axes=[*range(rank - 2), rank - 1, rank - 2]) if transpose and rank > 1 else node.x(index)


@op("SkipLayerNormalization", 1, domain=_DOMAIN)
def skip_layer_norm(node):
    """Layer normalization of x + skip + bias; the sum is an output, too."""
    total = relax.add(node.x(0), node.x(1))
    if node.given(4):
        total = relax.add(total, node.x(4))
    gamma = node.x(2)
    beta = node.x(3) if node.given(3) else relax.broadcast_to(node.literal(0, node.dtype()), shape=node.dims(2))
    return relax.layer_norm(total, gamma, beta, epsilon=node.number("epsilon", 1e-12)), None, None, total


ENTRIES = (gelu, bias_gelu, fast_gelu, quick_gelu, fused_matmul, skip_layer_norm)
