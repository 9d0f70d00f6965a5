"""random_bits and fold_in."""
from math import prod

from legato.core.mlir import arith, ir
from legato.dialects.relax.ops.random import threefry
from legato.targets.builders.element import Element, index
from legato.targets.builders.sizes import dims
from legato.targets.builders.structured import elementwise, loop_index
from legato.targets.rule import kernel

WORDS = 1 << 32     # counts that one word has


def _unsigned(bits: int) -> Element:
    return Element(ir.IntegerType.get_unsigned(bits))


def _hashed(key: ir.Value, high: ir.Value, low: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Both words of the hash of a count of two words."""
    word = _unsigned(32)

    def rotate(x: ir.Value, bits: int) -> ir.Value:
        return arith.ori(arith.shli(x, word.const(bits)), arith.shrui(x, word.const(32 - bits)))

    return threefry(_words(key), (high, low), arith.addi, arith.xori, rotate, word.const)


def _words(x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The higher and the lower half of 64 bits."""
    word, wide = _unsigned(32), _unsigned(64)
    return wide.cast(arith.shrui(x, wide.const(32)), word), wide.cast(x, word)


def _joined(high: ir.Value, low: ir.Value) -> ir.Value:
    word, wide = _unsigned(32), _unsigned(64)
    return arith.ori(arith.shli(word.cast(high, wide), wide.const(32)), word.cast(low, wide))


@kernel("relax.random_bits")
def random_bits(k, key, out):
    """Each element from its own indices, so that what reads the bits needs no memory for them. Where all counts fit into a word, nothing is
    computed in 64 bits, of which vectors have half as many lanes."""
    sizes = dims(out)
    is_short = all(isinstance(size, int) for size in sizes) and prod(sizes) <= WORDS
    counted = _unsigned(32 if is_short else 64)

    def body(key: ir.Value) -> ir.Value:
        count = counted.const(0)
        for loop, size in enumerate(sizes):
            extent = counted.const(size) if isinstance(size, int) else index().cast(size, counted)
            count = counted.add(counted.mul(count, extent), index().cast(loop_index(loop), counted))
        high, low = _hashed(key, *((counted.const(0), count) if is_short else _words(count)))
        return arith.xori(high, low) if out.type.element_type.width == 32 else _joined(high, low)

    return elementwise(out, [key], body)


@kernel("relax.fold_in")
def fold_in(k, key, data, out):
    """The hash of the number."""
    return elementwise(out, [key, data], lambda key, data: _joined(*_hashed(key, *_words(data))))


RULES = (random_bits, fold_in)
