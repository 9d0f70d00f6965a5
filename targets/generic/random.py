"""random_bits and fold_in."""
from math import prod

from legato.core.mlir import arith, ir
from legato.dialects.relax.ops.random import threefry
from legato.targets.builders.element import Element, index
from legato.targets.builders.sizes import dims
from legato.targets.builders.structured import compute, loop_index, names, window
from legato.targets.rule import kernel

WORDS = 1 << 32     # counts that one word has


def _unsigned(bits: int) -> Element:
    return Element(ir.IntegerType.get_unsigned(bits))


def _hashed(*words: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Both words of the hash, of the words of the key and of the count."""
    word = _unsigned(32)

    def rotate(x: ir.Value, bits: int) -> ir.Value:
        return arith.ori(arith.shli(x, word.const(bits)), arith.shrui(x, word.const(32 - bits)))

    return threefry(words[:2], words[2:], arith.addi, arith.xori, rotate, word.const)


def _words(key: ir.Value) -> list[tuple[ir.Value, str]]:
    """What a loop nest reads of a key: each word from a tensor of its own, as upstream vectorizes reads at a constant place only if it
    is 0."""
    return [(window(key, [number], [1]), "0") for number in range(2)]


@kernel("relax.random_bits")
def random_bits(k, key, out):
    """Each element from its own indices, so that what reads the bits needs no memory for them. Where all counts fit into a word, nothing is
    computed in 64 bits, of which vectors have half as many lanes."""
    word, wide, sizes = _unsigned(32), _unsigned(64), dims(out)
    is_short = all(isinstance(size, int) for size in sizes) and prod(sizes) <= WORDS
    counted = word if is_short else wide

    def body(first: ir.Value, second: ir.Value, _: ir.Value) -> ir.Value:
        count = counted.const(0)
        for loop, size in enumerate(sizes):
            extent = counted.const(size) if isinstance(size, int) else index().cast(size, counted)
            count = counted.add(counted.mul(count, extent), index().cast(loop_index(loop), counted))
        above = word.const(0) if is_short else counted.cast(arith.shrui(count, counted.const(32)), word)
        high, low = _hashed(first, second, above, counted.cast(count, word))
        if out.type.element_type.width == 32:
            return arith.xori(high, low)
        return arith.ori(arith.shli(word.cast(high, wide), wide.const(32)), word.cast(low, wide))

    return compute(out, ", ".join(names(len(sizes))), _words(key), body)


@kernel("relax.fold_in")
def fold_in(k, key, data, out):
    """Both words by one loop of two steps."""
    def body(first: ir.Value, second: ir.Value, data: ir.Value, _: ir.Value) -> ir.Value:
        high, low = _hashed(first, second, _unsigned(32).const(0), data)
        is_first = arith.cmpi(arith.CmpIPredicate.eq, loop_index(0), index().const(0))
        return arith.select(is_first, high, low)

    return compute(out, "d0", [*_words(key), (data, "")], body)


RULES = (random_bits, fold_in)
