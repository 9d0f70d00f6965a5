"""Blocks of a row of floats as integers, for products with a weight of 4 bits: what those of 24 bits and those of bytes share.

A block is a number of elements that the weight has one scale for. A word of the weight holds the nibbles of ``PER`` of its rows: masked and
shifted, those of even and those of odd rows. Bytes of a row lie in that order, a word's in two words.
"""
from __future__ import annotations

from collections.abc import Callable

from legato.core.mlir import arith, ir, math, vector
from legato.core.vector_loops import Size, Vectors, loop, value_of
from legato.dialects.relax.ops.quantized import WORD_BITS, rows_per_word

BITS, PER, HALF = 4, rows_per_word(4), 8    # of the weight: its bits, rows a word, and what is added to make them 0 or more
PARTS = 2           # of a word: even rows, odd rows
LEAST = 2.0**-100   # the factor of a block with a smaller greatest element has fewer bits
LOW, SIGNS = 0x0F0F0F0F, 0x88888888 - (1 << WORD_BITS)


def compare(how: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """Two floats, by the name of an ordered predicate: of NaN it is false."""
    return arith.cmpf(getattr(arith.CmpFPredicate, how), a, b)


def magnitudes(v: Vectors, words: int, floats: Callable[[ir.Value], ir.Value], addend: Callable[[ir.Value], ir.Value]) -> list[ir.Value]:
    """The greatest absolute value of a block, NaN left out, and the sum of what ``addend`` makes of the absolute values.
    ``floats(w)`` loads the elements of word w of ``words``."""
    def word(w: ir.Value, greatest: ir.Value, total: ir.Value) -> list[ir.Value]:
        size = math.absf(floats(w))
        return [arith.maxnumf(greatest, size), arith.addf(total, addend(size))]

    greatest, total = loop(0, words, 1, word, [v.splat(0)] * 2)
    return [v.reduce("maxnumf", greatest), v.reduce("add", total)]


def is_normal(v: Vectors, largest: ir.Value) -> ir.Value:
    """Whether a block with this greatest absolute value has a factor of full precision, or is all zeros."""
    return arith.ori(compare("OGE", largest, v.number(LEAST)), compare("OEQ", largest, v.number(0)))


def rounded(v: Vectors, floats: ir.Value, scale: ir.Value) -> ir.Value:
    """The integers of 32 bits that are nearest to floats times a scale."""
    return arith.fptosi(v.of(ir.IntegerType.get_signless(WORD_BITS)), math.roundeven(arith.mulf(floats, scale)))


def write_bytes(v: Vectors, integers: ir.Value, buffer: ir.Value, *at: Size, in_order: bool = False) -> None:
    """Writes ``PER`` integers as bytes to ``buffer`` [..., PARTS], words, at ``at``: in their order, or those of even and of odd rows."""
    small = arith.trunci(v.of(ir.IntegerType.get_signless(8)), integers)
    order = list(range(PER)) if in_order else [row for part in range(PARTS) for row in range(part, PER, PARTS)]
    words = ir.VectorType.get([PARTS], buffer.type.element_type)
    vector.StoreOp(vector.BitCastOp(words, vector.ShuffleOp(small, small, order).result).result, buffer, [*map(value_of, at), value_of(0)])
