"""Matrix products with weights of few bits: the weight is dequantized, element by element, before a plain product."""
from typing import Any

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, linalg
from legato.dialects.relax.ops.quantized import WORD_BITS, rows_per_word
from legato.targets.builders.element import Element
from legato.targets.builders.sizes import dims, index
from legato.targets.builders.structured import accumulated, compute, elementwise, empty, extract, loop_index, named
from legato.targets.rule import kernel

FLOAT_BITS = 32
SIGNIFICAND = 23                    # bits of an f32's
EXPONENT = 127 + SIGNIFICAND        # of the f32 whose last bit is 1, as its bits have it
FITTING, LATE = 20, 12              # bits from which on parts of a word do not fit into a significand, and by how many they move then


@kernel("relax.matmul_quantized")
def matmul(k, x, weight, scale, zero, out):
    """A matmul whose weight is a tensor of its own inside of the kernel."""
    if not weight.type.has_static_shape:
        return Refusal("the sizes of its weight are known only at run time")
    narrow = Element(k.output_types[0].element_type)
    wide = narrow.wide
    made = dequantized(k, weight, scale, zero, wide)
    if narrow.type != wide.type:
        x = elementwise(empty(dims(x), wide.type), [x], lambda one: narrow.cast(one, wide))
    return accumulated(out, narrow, lambda zeros: named(linalg.MatmulOp, zeros, [x, made]))


def dequantized(k: Any, weight: ir.Value, scale: ir.Value, zero: ir.Value, to: Element) -> ir.Value:
    """The weight of a product as a matrix of elements ``to``, computed in f32 of f16 and bf16."""
    panels, blocks, rows, width = weight.type.shape
    bits, wide = k.attrs["bits"], to.wide
    per = rows_per_word(bits)

    def as_float(value: ir.Value) -> ir.Value:
        return Element(value.type).cast(value, wide)

    def element(_: ir.Value) -> ir.Value:
        row, column = loop_index(0), loop_index(1)
        panel, lane = (index(0), column) if panels == 1 else (arith.divui(column, index(width)), arith.remui(column, index(width)))
        word, part = arith.divui(row, index(per)), arith.remui(row, index(per))
        block, line = arith.divui(word, index(rows)), arith.remui(word, index(rows))
        q = extract(weight, [panel, block, line, lane])
        value = as_float(q) if bits == 8 else _part(q, part, bits, wide)
        if zero.type.shape != [0]:
            value = wide.sub(value, as_float(extract(zero, [panel, block, lane])))
        return wide.cast(wide.mul(value, as_float(extract(scale, [panel, block, lane]))), to)

    return compute(empty([blocks * rows * per, k.attrs["columns"]], to.type), "r, c", [], element)


def _part(word: ir.Value, part: ir.Value, bits: int, wide: Element) -> ir.Value:
    """The signed integer that is a part of a word, as a float. As f32 without a conversion, of which GPUs compute few at once: its bits
    stay where they are in the word, or move by 12 to where a significand is, that of the power of two of which they are units there."""
    def const(value: int) -> ir.Value:
        return arith.constant(word.type, value)

    first = arith.index_cast(word.type, arith.muli(part, index(bits)))
    if wide.bits != FLOAT_BITS:
        up = arith.subi(const(WORD_BITS - bits), first)
        return Element(word.type).cast(arith.shrsi(arith.shli(word, up), const(WORD_BITS - bits)), wide)
    late = arith.cmpi(arith.CmpIPredicate.uge, part, index(FITTING // bits))
    place = arith.subi(first, arith.select(late, const(LATE), const(0)))
    mask, middle = (arith.shli(const(value), place) for value in ((1 << bits) - 1, 1 << bits - 1))
    whole = arith.shli(arith.subi(const(EXPONENT), place), const(SIGNIFICAND))
    found = arith.andi(arith.shrui(word, arith.select(late, const(LATE), const(0))), mask)
    begin = arith.ori(whole, middle)
    return arith.subf(arith.bitcast(wide.type, arith.xori(found, begin)), arith.bitcast(wide.type, begin))


RULES = (matmul,)
