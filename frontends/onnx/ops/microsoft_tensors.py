"""Ops of ``com.microsoft`` on plain tensors: those that ONNX has, too, mostly from a later opset on, and a few of its own."""
import numpy as np

from legato.core.dtypes import kind
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops import constants, gather, sampling, shape, slices
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.values import ConstantValue

_DOMAIN = "com.microsoft"


@op("Trilu", 1, domain=_DOMAIN)
def trilu(node):
    """Trilu as ONNX's, which has it from opset 14 on."""
    return slices.trilu.build(node.of_version(14))


@op("GatherND", 1, domain=_DOMAIN)
def gather_nd(node):
    """GatherND as ONNX's, which has it from opset 11 on."""
    return gather.gather_nd.build(node.of_version(11))


@op("GridSample", 1, domain=_DOMAIN)
def grid_sample(node):
    """GridSample as ONNX's, which has it from opset 16 on."""
    return sampling.grid_sample.build(node.of_version(16))


@op("Range", 1, domain=_DOMAIN)
def range_(node):
    """Range as ONNX's; its step is 1 where it is omitted."""
    inputs = [node.value(index) for index in range(2)]
    inputs.append(node.value(2) if node.given(2) else ConstantValue(f"{node.name}_step", np.ones((), node.dtype())))
    return constants.range_.build(node.with_inputs(*inputs).of_version(11))


@op("Pad", 1, domain=_DOMAIN)
def pad(node):
    """Pad as ONNX's; its pads may be a row of a matrix."""
    pads = node.value(1)
    if node.rank(1) == 2 and node.dims(1)[0] == 1:
        known = pads.known()
        pads = ConstantValue(f"{node.name}_pads", known[0]) if known is not None and known.dtype != object else relax.squeeze(
            node.x(1), axis=[0])
    return slices.pad.build(node.with_inputs(node.value(0), pads, node.value(2) if node.given(2) else None).of_version(11))


@op("ExpandDims", 1, domain=_DOMAIN)
def expand_dims(node):
    """A new axis of size 1 at a place that is an input."""
    return shape.unsqueeze.build(node.of_version(13))


@op("Unique", 1, domain=_DOMAIN)
def unique(node):
    """The distinct elements of a vector in the order of their first occurrences, which of them each element is, and their counts.
    Each NaN is an element of its own, as in onnxruntime."""
    node.dims(0, rank=1)
    values, _, which, counts = gather.distinct_parts(node, None, in_order=False, equal_nan=False)
    return values, which, counts


@op("CDist", 1, domain=_DOMAIN)
def cdist(node):
    """The distance of each row of a matrix from each row of another."""
    metric = node.text("metric", "sqeuclidean", "euclidean")
    node.require_shape(1, "second matrix", [node.dims(1, rank=2)[0], node.dims(0, rank=2)[1]])
    a, b = relax.expand_dims(node.x(0), axis=[1]), relax.expand_dims(node.x(1), axis=[0])
    squares = relax.sum(relax.square(relax.subtract(a, b)), axis=[2])
    return relax.sqrt(squares) if metric == "euclidean" else squares


@op("UnfoldTensor", 1, domain=_DOMAIN)
def unfold(node):
    """Windows of ``size`` elements along an axis, every ``step`` elements, as a last axis."""
    axis, size, step = node.axis(node.integer("dim", -1), node.rank()), node.integer("size"), node.integer("step", 1)
    length = node.dims()[axis]
    if size < 1 or step < 1 or (isinstance(length, int) and length < size):
        raise Malformed(f"windows of size = {size} every step = {step} elements of {length}")
    node.require_at_least(length, size, f"{size} elements or more along axis {axis}")
    starts = run_time.counted(dims.floor_divide(length - size, step) + 1, step=step)
    places = relax.add(relax.expand_dims(starts, axis=[1]), run_time.literal(np.arange(size)))
    windows = relax.take(node.x(), places, axis=axis)
    axes = list(range(windows.type.rank))
    return relax.permute_dims(windows, axes=[*axes[:axis + 1], *axes[axis + 2:], axis + 1])


@op("NGramRepeatBlock", 1, domain=_DOMAIN)
def ngram_repeat_block(node):
    """Scores that are -inf for each token that would repeat a sequence of ``ngram_size`` tokens of its row."""
    size = node.integer("ngram_size")
    if size < 1:
        raise Malformed(f"ngram_size = {size}: expected 1 or more")
    tokens, scores = relax.astype(node.x(0), dtype=np.int64), node.x(1)
    batch, length = node.dims(0, rank=2)
    count = dims.maximum(length - (size - 1), 0)
    if isinstance(count, int) and not count:
        return scores

    def windows(place: int) -> ir.Value:
        """The token at a place of each sequence."""
        begin = dims.minimum(length, place)
        return relax.strided_slice(tokens, begin=[begin], end=[begin + count], axes=[1])

    repeats = relax.broadcast_to(relax.constant(np.array(True)), shape=[batch, count])
    for place in range(size - 1):
        last = run_time.vector(node, [dims.maximum(length - (size - 1 - place), 0)])
        repeats = relax.logical_and(repeats, relax.equal(windows(place), relax.take(tokens, last, axis=1)))
    least = relax.where(repeats, node.literal(-np.inf, node.dtype(1)), node.literal(np.inf, node.dtype(1)))
    return relax.scatter_elements(scores, windows(size - 1), least, axis=1, reduction="min")


@op("MatMulInteger16", 1, domain=_DOMAIN)
def matmul_integer_16(node):
    """A matrix product of integers of 16 bits, in 32 bits."""
    factors = []
    for index in (0, 1):
        dtype = node.dtype(index)
        if kind(dtype) not in ("int", "uint") or dtype.itemsize > 2:
            raise Refused(f"{dtype} is not supported, only integers of up to 16 bits")
        factors.append(relax.astype(node.x(index), dtype=np.int32))
    return relax.matmul(*factors)


ENTRIES = (trilu, gather_nd, grid_sample, range_, pad, expand_dims, unique, cdist, unfold, ngram_repeat_block, matmul_integer_16)
