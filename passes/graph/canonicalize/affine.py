"""Patterns of relax-canonicalize: folds batch norm and constant factors into the weights of convolutions and matrix products.

The new weight is a new constant, so other uses of the old one are not affected.
"""
import numpy as np

from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.passes.graph.canonicalize.combined import keeps_factors
from legato.passes.graph.rewriter import GraphRewriter, attributes, dtype_of


def batch_norm(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """batch_norm with constant parameters: x * scale + shift, one pair per channel; computed in double."""
    x, *parameters = op.operands
    attrs = attributes(op)
    arrays = r.arrays(parameters)
    if arrays is None:
        return None
    gamma, beta, mean, var = (array.astype(np.float64) for array in arrays)
    scale = gamma / np.sqrt(var + attrs["epsilon"])
    shape = [1] * x.type.rank
    shape[attrs["axis"]] = -1

    def along(values: np.ndarray, source: ir.Value) -> ir.Value:
        return r.constant(values.astype(dtype_of(x)).reshape(shape), source)

    return relax.add(relax.multiply(x, along(scale, parameters[0])), along(beta - mean * scale, parameters[1]))


def factor_into_convolution(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """conv(x, w) * c with one factor per output channel, or one for all: conv(x, w * c)."""
    factor = _factor(r, op, "conv1d", "conv2d", "conv3d")
    if factor is None:
        return None
    product, c, made = factor
    attrs = attributes(made)
    factors = _per_axis(present(r.array(c)), product.type.rank, attrs["data_layout"].index("C"))
    if factors is None:
        return None
    x, w = made.operands
    layout = attrs["kernel_layout"]
    shape = [-1 if letter == "O" else 1 for letter in layout]
    scaled = _scaled(r, w, factors.reshape(shape))
    return scaled and present(relax.op_class(made)).build(x, scaled, **attrs)


def factor_into_matmul(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """(a @ w) * c with one factor per column, or one for all: a @ (w * c)."""
    factor = _factor(r, op, "matmul")
    if factor is None or factor[2].operands[1].type.rank < 2:
        return None
    product, c, made = factor
    factors = _per_axis(present(r.array(c)), product.type.rank, product.type.rank - 1)
    if factors is None:
        return None
    a, w = made.operands
    scaled = _scaled(r, w, factors)
    return scaled and relax.matmul(a, scaled)


def _scaled(r: GraphRewriter, weight: ir.Value, factors: np.ndarray) -> ir.Value | None:
    """A constant weight times factors; None if a product overflows, or all underflow."""
    array = present(r.array(weight))
    with np.errstate(all="ignore"):
        product = array * factors
    return r.constant(product, weight) if keeps_factors(product, array, factors, as_one=True) else None


def _factor(r: GraphRewriter, op: ir.Operation, *names: str) -> tuple[ir.Value, ir.Value, ir.Operation] | None:
    """(product, constant factor, the op that computes the product from a constant second operand and has no other use), or None."""
    parts = r.split(op)
    made = r.find(parts[0], *names, once=True) if parts else None
    if parts is None or made is None or not r.is_constant(made.operands[1]):
        return None
    return *parts, made


def _per_axis(values: np.ndarray, rank: int, axis: int) -> np.ndarray | None:
    """Values that broadcast to a tensor of that rank, as one per index of the axis, or a single one; None if they vary along other
    axes."""
    if values.ndim > rank:
        return None
    shape = (1,) * (rank - values.ndim) + values.shape
    return values.reshape(-1) if all(size == 1 for number, size in enumerate(shape) if number != axis) else None


PATTERNS = (
    ("batch_norm", batch_norm),
    ("multiply", factor_into_convolution),
    ("multiply", factor_into_matmul),
)
