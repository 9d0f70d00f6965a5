"""Patterns of relax-canonicalize: sums of convolutions of one image, as networks have that are trained with parallel branches."""
from functools import reduce

import numpy as np

from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.passes.graph.rewriter import GraphRewriter, attributes, dtype_of

CONVOLUTIONS = ("conv1d", "conv2d", "conv3d")
EXACT = (np.dtype(np.float32), np.dtype(np.float64))    # sums of filters of fewer bits would be rounded once more


def sum_of_convolutions(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """conv(x, v) + conv(x, w) + x * c of constant v, w and c: one convolution, by a filter of the size of one of theirs, where that has all
    of their taps. What else is added stays, constants last."""
    if dtype_of(op.results[0]) not in EXACT or _is_part(op):
        return None
    terms = _terms(r, op)
    bases = [(array.size, number) for number, term in enumerate(terms) if (made := r.find(term, *CONVOLUTIONS, once=True)) is not None
             and (array := r.array(made.operands[1])) is not None]
    for _, number in sorted(bases, reverse=True):
        base = present(r.find(terms[number], *CONVOLUTIONS))
        filters = {at: filter_ for at, term in enumerate(terms) if at != number and (filter_ := _as_filter(r, term, base)) is not None}
        if filters:
            weight = base.operands[1]
            total = reduce(np.add, filters.values(), present(r.array(weight)).astype(np.float64))
            merged = r.constant(total.astype(dtype_of(weight)), weight)
            result = present(relax.op_class(base)).build(base.operands[0], merged, **attributes(base))
            return _added(r, result, [term for at, term in enumerate(terms) if at != number and at not in filters])
    return None


def _is_part(op: ir.Operation) -> bool:
    """Whether an op's result is read by a sum alone, which is looked at itself."""
    readers = [use.owner for use in op.results[0].uses]
    return len(readers) == 1 and readers[0].name == "relax.add" and readers[0].operation.block == op.block


def _terms(r: GraphRewriter, op: ir.Operation) -> list[ir.Value]:
    """What is added, through sums that nothing else reads."""
    found, left = [], [*reversed(op.operands)]
    while left:
        operand = left.pop()
        inner = r.find(operand, "add", once=True)
        if inner is None:
            found.append(operand)
        else:
            left += reversed(inner.operands)
    return found


def _added(r: GraphRewriter, result: ir.Value, terms: list[ir.Value]) -> ir.Value:
    constants = [term for term in terms if r.array(term) is not None]
    for term in terms:
        if term not in constants:
            result = relax.add(result, term)
    if constants:
        arrays = present(r.arrays(constants))
        result = relax.add(result, constants[0] if len(arrays) == 1 else r.constant(reduce(np.add, arrays), *constants))
    return result


def _as_filter(r: GraphRewriter, term: ir.Value, base: ir.Operation) -> np.ndarray | None:
    """The filter, of the size of another convolution's, that makes the term of its image; None where there is none."""
    weight, attrs = present(r.array(base.operands[1])), attributes(base)
    layout = attrs["kernel_layout"]
    axes = [axis for axis, letter in enumerate(layout) if letter not in "OI"]
    if term.type != base.results[0].type:
        return None
    made = r.find(term, base.name.removeprefix("relax."), once=True)
    if made is not None:
        other, array = attributes(made), r.array(made.operands[1])
        same = all(other[name] == attrs[name] for name in attrs if name not in ("padding", "dilations"))
        if made.operands[0] != base.operands[0] or not same or array is None:
            return None
    else:
        found = _scaled(r, term, base)
        if found is None:
            return None
        other, array = {"padding": [0] * (2 * len(axes)), "dilations": attrs["dilations"]}, found
    places = [slice(None)] * weight.ndim
    for number, axis in enumerate(axes):
        dilation, taps = attrs["dilations"][number], array.shape[axis]
        first, away = divmod(attrs["padding"][number] - other["padding"][number], dilation)
        apart = taps > 1 and other["dilations"][number] != dilation
        if away or apart or first < 0 or first + taps > weight.shape[axis]:
            return None
        places[axis] = slice(first, first + taps)
    result = np.zeros(weight.shape)
    result[tuple(places)] = array
    return result if np.isfinite(array).all() else None


def _scaled(r: GraphRewriter, term: ir.Value, base: ir.Operation) -> np.ndarray | None:
    """The filter of one tap that makes x * c, with one factor for each channel or one for all, of the image x of a convolution."""
    product, attrs = r.find(term, "multiply", once=True), attributes(base)
    image, (weight, layout) = base.operands[0], (present(r.array(base.operands[1])), attrs["kernel_layout"])
    parts = r.split(product) if product is not None else None
    if parts is None or parts[0] != image or any(step != 1 for step in attrs["strides"]):
        return None
    factors, channel = present(r.array(parts[1])), attrs["data_layout"].index("C")
    shape = (1,) * (image.type.rank - factors.ndim) + factors.shape
    features, channels = weight.shape[layout.index("O")], weight.shape[layout.index("I")]
    if any(size != 1 for axis, size in enumerate(shape) if axis != channel) or features != channels * attrs["groups"]:
        return None
    matrix = np.zeros((features, channels))
    matrix[np.arange(features), np.arange(features) % channels] = factors.reshape(-1)
    matrix = matrix if layout.index("O") < layout.index("I") else matrix.T
    return matrix.reshape([size if letter in "OI" else 1 for size, letter in zip(weight.shape, layout)])


PATTERNS = (("add", sum_of_convolutions),)
