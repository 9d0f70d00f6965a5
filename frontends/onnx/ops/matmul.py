"""Matrix products."""
from collections.abc import Callable

from legato.core.dtypes import kind
from legato.core.mlir import ir
from legato.dialects import relax
from legato.frontends.onnx.broadcasting import aligned, expanded_to
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.halves import plus, times
from legato.frontends.onnx.problems import Malformed, Refused


@op("MatMul", 1, 9, 13)
def matmul(node):
    """MatMul."""
    return relax.matmul(*aligned(node.xs(), last=2))


@op("Gemm", 7, 9, 11, 13)
def gemm(node):
    """Gemm: alpha * A * B + beta * C, with optional transposes."""
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    if node.rank(0) != 2 or node.rank(1) != 2:
        raise Malformed(f"its matrices must have rank 2, have {node.rank(0)} and {node.rank(1)}")
    a = _transposed(node.x(0), node.flag("transA"))
    b = _transposed(node.x(1), node.flag("transB"))
    y = _scaled(node, relax.matmul(a, b), alpha, times)
    if not node.given(2):
        return y
    if node.rank(2) > 2:
        raise Malformed(f"its C must have rank 0 to 2, has {node.rank(2)}")
    added = expanded_to(node.x(2), y)
    return plus(y, _scaled(node, added, beta, relax.multiply))


def _transposed(x, transpose: bool):
    return relax.permute_dims(x, axes=[1, 0]) if transpose else x


def _scaled(node, x, factor: float, multiply: Callable[[ir.Value, ir.Value], ir.Value]):
    if factor == 1:
        return x
    dtype = node.dtype()
    if kind(dtype) != "float" and factor != int(factor):
        raise Refused(f"a factor of {factor} for {dtype} is not supported")
    return multiply(x, node.literal(factor, dtype))


ENTRIES = (matmul, gemm)
