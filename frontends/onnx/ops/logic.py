"""Comparisons, logic and selection."""
import numpy as np

from legato.dialects import relax
from legato.frontends.onnx.broadcasting import aligned
from legato.frontends.onnx.entry import Entry, op
from legato.frontends.onnx.ops import folding
from legato.frontends.onnx.values import SizeEquality


def _binary(op_type: str, versions: tuple[int, ...], builder: str, fold=None) -> Entry:
    return Entry(op_type, versions, lambda node: getattr(relax, builder)(*aligned(node.xs())), fold)


_NAMED = (
    _binary("Greater", (7, 9, 13), "greater", folding.greater),
    _binary("GreaterOrEqual", (12, 16), "greater_equal", folding.greater_equal),
    _binary("Less", (7, 9, 13), "less", folding.less),
    _binary("LessOrEqual", (12, 16), "less_equal", folding.less_equal),
    _binary("And", (7,), "logical_and", folding.concrete(np.logical_and)),
    _binary("Or", (7,), "logical_or", folding.concrete(np.logical_or)),
    _binary("Xor", (7,), "logical_xor", folding.concrete(np.logical_xor)),
)


@op("Equal", 7, 11, 13, 19, fold=folding.equal)
def equal(node):
    """Equal. Of two sizes, what is tested is kept: a conditional may require it."""
    found, (a, b) = relax.equal(*aligned(node.xs())), (node.value(index).known() for index in (0, 1))
    if a is None or b is None or a.size != 1 or b.size != 1 or object not in (a.dtype, b.dtype):
        return found
    return SizeEquality(found, (a.item(), b.item()))


@op("Where", 9, 16, fold=lambda node, condition, a, b: node.elements(np.where(condition, a, b), node.dtype(1)))
def where(node):
    """Where."""
    return relax.where(*aligned(node.xs()))


ENTRIES = (*_NAMED, equal, where)
