"""Rotary embeddings of ``com.microsoft``."""
from collections.abc import Callable

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size, dims
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.heads import I64, angles, merge_heads, rotated, split_heads, static_size
from legato.frontends.onnx.problems import Malformed
from legato.frontends.onnx.run_time import counted

_DOMAIN = "com.microsoft"


@op("RotaryEmbedding", 1, domain=_DOMAIN)
def rotary_embedding(node):
    """Features rotated by angles that depend on their place in the sequence."""
    def tables(rows: Size) -> tuple[ir.Value, ir.Value]:
        places = relax.astype(node.x(1), dtype=I64)
        if node.rank(1) == 1:
            places = relax.add(counted(rows), places)
        return angles(node.x(2), places), angles(node.x(3), places)

    return _rotated(node, tables)


@op("MRotaryEmbedding", 1, domain=_DOMAIN)
def rotary_embedding_of_three(node):
    """RotaryEmbedding of tokens that have three places: in time, and of a row and a column in an image. Each has angles of its own."""
    sections, layout = node.integers("mrope_section"), node.integer("mrope_layout", 0)
    half = static_size(node.dims(2, rank=2)[1], "the size of its table of cosines")
    if len(sections) != 3 or min(sections) < 0 or sum(sections) != half or layout not in (0, 1):
        raise Malformed(f"mrope_section = {sections} must be three numbers whose sum is {half}, and mrope_layout = {layout} 0 or 1")
    node.require_equal(node.dims(1, rank=3)[0], 3, "three places for each token")
    column, which = np.arange(half), np.repeat(np.arange(3), sections)
    if layout == 1:     # one after the other, as long as there are any
        which = np.where(column < 3 * np.array(sections)[column % 3], column % 3, 0)

    def tables(rows: Size) -> tuple[ir.Value, ir.Value]:
        places = relax.astype(node.x(1), dtype=I64)
        of_kinds = [relax.take(places, relax.constant(np.int64(kind)), axis=0) for kind in range(3)]     # [B, S]
        found = []
        for index in (2, 3):
            parts = [angles(node.x(index), one) for one in of_kinds]
            chosen = parts[0]
            for kind in (1, 2):
                chosen = relax.where(relax.constant(which == kind), parts[kind], chosen)
            found.append(chosen)
        return found[0], found[1]

    return _rotated(node, tables)


def _rotated(node, tables: Callable[[Size], tuple[ir.Value, ir.Value]]) -> ir.Value:
    """Input 0 rotated by angles. ``tables(rows)``: their cosines and sines for so many rows."""
    node.only("is_packed_batching", 0)
    node.only("scale", 1.0)
    half = static_size(node.dims(2, rank=2)[1], "the size of its table of cosines")
    heads, width = node.integer("num_heads", 0), node.integer("rotary_embedding_dim", 0) or 2 * half
    x, flat = node.x(), node.rank() == 3
    if flat:
        features = static_size(node.dims(0, rank=3)[2], "the size of its input")
        x = split_heads(x, heads or features // (2 * half))
    rows = dims(x.type)[2]
    cos, sin = tables(rows)
    y = rotated(x, cos, sin, node.flag("interleaved"), width)
    return merge_heads(y) if flat else y


ENTRIES = (rotary_embedding, rotary_embedding_of_three)
