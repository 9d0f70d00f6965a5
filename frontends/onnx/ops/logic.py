"""Comparisons, logic and selection."""
import numpy as np

from legato.dialects import relax
from legato.frontends.onnx.broadcasting import aligned
from legato.frontends.onnx.entry import Entry, op
from legato.frontends.onnx.ops import folding


def _binary(op_type: str, versions: tuple[int, ...], builder: str, fold=None) -> Entry:
    return Entry(op_type, versions, lambda node: getattr(relax, builder)(*aligned(node.xs())), fold)


_NAMED = (
    _binary("Equal", (7, 11, 13, 19), "equal", folding.equal),
    _binary("Greater", (7, 9, 13), "greater", folding.greater),
    _binary("GreaterOrEqual", (12, 16), "greater_equal", folding.greater_equal),
    _binary("Less", (7, 9, 13), "less", folding.less),
    _binary("LessOrEqual", (12, 16), "less_equal", folding.less_equal),
    _binary("And", (7,), "logical_and", folding.concrete(np.logical_and)),
    _binary("Or", (7,), "logical_or", folding.concrete(np.logical_or)),
    _binary("Xor", (7,), "logical_xor", folding.concrete(np.logical_xor)),
)


@op("Where", 9, 16, fold=lambda node, condition, a, b: node.elements(np.where(condition, a, b), node.dtype(1)))
def where(node):
    """Where."""
    return relax.where(*aligned(node.xs()))


ENTRIES = (*_NAMED, where)
