"""Comparisons, logic, selection and conversions."""
import numpy as np

from legato.core.dtypes import kind
from legato.dialects import relax
from legato.frontends.onnx.broadcasting import aligned
from legato.frontends.onnx.entry import Entry, op
from legato.frontends.onnx.ops import folding
from legato.frontends.onnx.problems import Refused
from legato.frontends.onnx.tensors import dtype_of


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


def _convert(node, target: np.dtype):
    """The first input converted to an element type; unchanged if it has that type."""
    source = node.dtype()
    if source == target:
        return node.value(0)
    known = node.value(0).known()
    if known is not None and known.dtype != object:
        with np.errstate(all="ignore"):
            return known.astype(target)
    if known is not None and kind(target) in ("int", "uint"):
        return node.elements(known, target)
    x = node.x()
    if kind(target) == "bool":
        return relax.not_equal(x, node.literal(0, source))
    return relax.astype(x, dtype=target)


def _ignore_float8(node) -> None:
    """Ignores the attributes about rounding to 8-bit floats, which are not supported as element types anyway."""
    node.ignore("saturate", "round_mode")


@op("Cast", 6, 9, 13, 19, 21, 23, 24, 25, 28)
def cast(node):
    """Cast; integers of fewer than 8 bits can be its input."""
    _ignore_float8(node)
    node.widen(0)
    return _convert(node, dtype_of(node.integer("to")))


@op("CastLike", 15, 19, 21, 23, 24, 25)
def cast_like(node):
    """CastLike."""
    _ignore_float8(node)
    node.widen(0)
    return _convert(node, node.dtype(1))


@op("BitCast", 26)
def bit_cast(node):
    """BitCast, of constants only."""
    target, source = dtype_of(node.integer("to")), node.dtype()
    known = node.value(0).known()
    if known is not None and known.dtype != object and source.itemsize == target.itemsize:
        return known.view(target)
    raise Refused("the bits of a tensor that is computed at run time cannot be taken for another element type")


ENTRIES = (*_NAMED, where, cast, cast_like, bit_cast)
