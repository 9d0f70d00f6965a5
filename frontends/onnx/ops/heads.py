"""Parts of attentions: heads, masks, rotary embeddings."""
import math
from dataclasses import dataclass

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size, dims
from legato.frontends.onnx.ops.halves import in_32_bits
from legato.frontends.onnx.ops.sequences import size_value
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.run_time import counted

I64 = np.dtype(np.int64)


def dtype_of(x: ir.Value) -> np.dtype:
    """The element type of a tensor."""
    return relax.TensorType.of(x.type).dtype


def like(x: ir.Value, other: ir.Value) -> ir.Value:
    """A tensor in the element type of another."""
    return x if dtype_of(x) == dtype_of(other) else relax.astype(x, dtype=dtype_of(other))


def number(value: float, of: ir.Value) -> ir.Value:
    """A constant of the element type of a tensor."""
    return relax.constant(np.asarray(value, dtype_of(of)))


def static_size(size: Size, what: str) -> int:
    """A size that must be known at import. Refused, naming it, if it is not."""
    if not isinstance(size, int):
        raise Refused(f"{what}, {size}, is known only at run time")
    return size


def split_heads(x: ir.Value, heads: int) -> ir.Value:
    """[B, S, heads D] as [B, heads, S, D]."""
    if x.type.rank != 3:
        raise Malformed(f"expected a batch of rows of heads, three dimensions, found {list(dims(x.type))}")
    batch, rows, width = dims(x.type)
    width = static_size(width, "the size of its heads")
    if heads < 1 or width % heads:
        raise Malformed(f"{width} features are no {heads} heads of equal sizes")
    return relax.permute_dims(relax.reshape(x, shape=[batch, rows, heads, width // heads]), axes=[0, 2, 1, 3])


def merge_heads(x: ir.Value) -> ir.Value:
    """[B, heads, S, D] as [B, S, heads D]."""
    batch, heads, rows, width = dims(x.type)
    return relax.reshape(relax.permute_dims(x, axes=[0, 2, 1, 3]), shape=[batch, rows, heads * width])


def grouped(x: ir.Value, heads: int, shared: int, rows: Size) -> ir.Value:
    """What broadcasts to scores [B, heads, S, T], for scores [B, shared, heads / shared * S, T]: the queries of the heads that share keys
    are the rows of one product. ``rows``: S."""
    rank, group = x.type.rank, heads // shared
    if rank < 2:
        return x
    *outer, own, keys = dims(x.type)
    if own == 1 and (rank == 2 or outer[-1] == 1):
        return x
    of_heads = 1 if rank < 3 else outer[-1]
    if of_heads == 1:
        wide = relax.broadcast_to(relax.expand_dims(x, axis=[rank - 2]), shape=[*outer, group, own, keys])
        return relax.reshape(wide, shape=[*outer, group * own, keys])
    static_size(of_heads, "the number of its heads")
    x = x if own == rows else relax.broadcast_to(x, shape=[*outer, rows, keys])
    return relax.reshape(x, shape=[*outer[:-1], shared, group * rows, keys])


def columns(x: ir.Value, begin: int, end: int) -> ir.Value:
    """Elements of the last axis."""
    return relax.strided_slice(x, axes=[x.type.rank - 1], begin=[begin], end=[end])


def positions(size: Size, axis: int) -> ir.Value:
    """0, 1, ... up to a size: a column (axis 0) or a row (axis 1) of i64."""
    return relax.expand_dims(counted(size), axis=[1 - axis])


def causal(rows: Size, keys: Size, before: Size | ir.Value) -> ir.Value:
    """Whether a query may see a key: [S, T], where ``before`` keys come before the first query."""
    first = before if isinstance(before, ir.Value) else size_value(before)
    return relax.less_equal(positions(keys, 1), relax.add(positions(rows, 0), first))


def additive(kept: ir.Value, filler: float, of: ir.Value) -> ir.Value:
    """0 where a condition holds, else a number."""
    return relax.where(kept, number(0, of), number(filler, of))


@dataclass(frozen=True)
class Scores:
    """What happens to products of queries and keys before softmax: a factor, a bound ("softcap"), tensors to add, and a condition that
    scores must meet; ``sink``: a further score, which takes its share and no value."""

    scale: float | None
    softcap: float = 0.0
    biases: tuple[ir.Value, ...] = ()
    kept: ir.Value | None = None
    sink: ir.Value | None = None


def attend(q: ir.Value, k: ir.Value, v: ir.Value, how: Scores) -> ir.Value:
    """softmax(scores of q k^T) v for q [B, N, S, D], k [B, M, T, D], v [B, M, T, E], where N / M neighbouring heads share keys."""
    if not q.type.rank == k.type.rank == v.type.rank == 4:
        found = ", ".join(str(list(dims(x.type))) for x in (q, k, v))
        raise Malformed(f"expected queries, keys and values of four dimensions, a batch of heads of rows, found {found}")
    batch, heads, rows, depth = dims(q.type)
    shared = static_size(dims(k.type)[1], "the number of its heads")
    scale = how.scale or 1 / math.sqrt(max(static_size(depth, "the size of its heads"), 1))
    if heads == shared:
        return _attend(q, k, v, scale, how)
    if shared < 1 or (isinstance(heads, int) and heads % shared):
        raise Malformed(f"{heads} heads of queries must be a multiple of {shared} heads of keys")
    parts = Scores(scale, how.softcap, tuple(grouped(bias, heads, shared, rows) for bias in how.biases),
                   None if how.kept is None else grouped(how.kept, heads, shared, rows),
                   None if how.sink is None else grouped(how.sink, heads, shared, rows))
    y = _attend(grouped(q, heads, shared, rows), k, v, scale, parts)
    return relax.reshape(y, shape=[batch, heads, rows, dims(v.type)[-1]])


def _attend(q: ir.Value, k: ir.Value, v: ir.Value, scale: float, how: Scores) -> ir.Value:
    rank = q.type.rank
    x = relax.multiply(relax.matmul(q, relax.permute_dims(k, axes=[*range(rank - 2), rank - 1, rank - 2])), number(scale, q))
    if how.softcap > 0:
        x = relax.multiply(relax.tanh(relax.divide(x, number(how.softcap, q))), number(how.softcap, q))
    for bias in how.biases:
        x = relax.add(x, like(bias, q))
    if how.kept is not None:
        x = relax.where(how.kept, x, number(-math.inf, q))
    if how.sink is None:
        return relax.matmul(relax.softmax(x, axis=-1), v)
    *outer, keys = dims(x.type)
    sink = relax.broadcast_to(like(how.sink, q), shape=[*outer, 1])
    shares = relax.softmax(relax.concat([x, sink], axis=rank - 1), axis=-1)
    return relax.matmul(relax.strided_slice(shares, axes=[rank - 1], begin=[0], end=[keys]), v)


def rotated(x: ir.Value, cos: ir.Value, sin: ir.Value, interleaved: bool, width: int) -> ir.Value:
    """The first ``width`` features of [B, N, S, D] rotated by angles, whose cosines and sines are [B, 1, S, width / 2]."""
    batch, heads, rows, depth = dims(x.type)
    depth = static_size(depth, "the size of its heads")
    cos, sin = like(cos, x), like(sin, x)
    part, half = columns(x, 0, width) if width != depth else x, width // 2
    if interleaved:
        pairs = relax.reshape(part, shape=[batch, heads, rows, half, 2])
        a, b = (relax.squeeze(columns(pairs, i, i + 1), axis=[4]) for i in (0, 1))
    else:
        a, b = columns(part, 0, half), columns(part, half, width)
    real = in_32_bits(lambda a, b, cos, sin: relax.subtract(relax.multiply(a, cos), relax.multiply(b, sin)))(a, b, cos, sin)
    imaginary = in_32_bits(lambda a, b, cos, sin: relax.add(relax.multiply(a, sin), relax.multiply(b, cos)))(a, b, cos, sin)
    if interleaved:
        both = relax.concat([relax.expand_dims(real, axis=[4]), relax.expand_dims(imaginary, axis=[4])], axis=4)
        result = relax.reshape(both, shape=[batch, heads, rows, width])
    else:
        result = relax.concat([real, imaginary], axis=3)
    return result if width == depth else relax.concat([result, columns(x, width, depth)], axis=3)


def angles(cache: ir.Value, places: ir.Value) -> ir.Value:
    """The rows of a table of cosines or sines at positions [B, S] or [S], as [B, 1, S, width / 2]."""
    taken = relax.take(cache, places, axis=0)
    return relax.expand_dims(taken, axis=[1] if places.type.rank == 2 else [0, 1])
