"""Patterns of relax-canonicalize: attentions as exporters guard them."""
import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import dims
from legato.passes.graph.rewriter import GraphRewriter


def guarded_rows(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """The product of shares, set to 0 in rows that are masked as a whole, and values: the product is set to 0 instead.

    Shares are results of softmax. The rows are 0 then even where a value is infinite. Without it, the guard would stand between softmax
    and the product, which a kernel computes as one.
    """
    where = r.find(op.operands[0], "where")
    if where is None or op.operands[1].type.rank < 2:
        return None
    condition, *branches = where.operands
    for place in (0, 1):
        zero, shares = branches[place], branches[1 - place]
        if r.scalar(zero) == 0 and _is_softmax(r, shares) and _of_rows(condition, op.operands[0]):
            product = relax.matmul(shares, op.operands[1])
            zero = r.constant(np.zeros((), numpy_dtype(product.type.element_type)), zero)     # it may have the sizes of the shares
            return relax.where(condition, *((zero, product) if place == 0 else (product, zero)))
    return None


def _is_softmax(r: GraphRewriter, value: ir.Value) -> bool:
    """Whether a value is the result of softmax along its last axis."""
    softmax = r.find(value, "softmax")
    return softmax is not None and relax.attributes_of(softmax)["axis"] in (-1, value.type.rank - 1)


def _of_rows(condition: ir.Value, shares: ir.Value) -> bool:
    """Whether a condition is the same along the last axis of shares, which has at least two, and adds none to them."""
    return 1 <= condition.type.rank <= shares.type.rank and shares.type.rank >= 2 and dims(condition.type)[-1] == 1


PATTERNS = (("matmul", guarded_rows),)
