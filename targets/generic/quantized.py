"""Matrix products with weights of few bits: the weight is dequantized, element by element, before a plain product."""
from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, linalg
from legato.dialects.relax.ops.quantized import WORD_BITS, rows_per_word
from legato.targets.builders.element import Element
from legato.targets.builders.sizes import dims, index
from legato.targets.builders.structured import accumulated, compute, elementwise, empty, extract, loop_index, named
from legato.targets.rule import kernel


@kernel("relax.matmul_quantized")
def matmul(k, x, weight, scale, zero, out):
    """A matmul whose weight is a tensor of its own inside of the kernel."""
    if not weight.type.has_static_shape:
        return Refusal("the sizes of its weight are known only at run time")
    _, blocks, rows, width = weight.type.shape
    bits, narrow = k.attrs["bits"], Element(k.output_types[0].element_type)
    per, wide = rows_per_word(bits), narrow.wide

    def at(value: ir.Value, *indices: ir.Value) -> ir.Value:
        return extract(value, indices)

    def as_float(value: ir.Value) -> ir.Value:
        return Element(value.type).cast(value, wide)

    def element(_: ir.Value) -> ir.Value:
        row, column = loop_index(0), loop_index(1)
        panel, lane = arith.divui(column, index(width)), arith.remui(column, index(width))
        word, part = arith.divui(row, index(per)), arith.remui(row, index(per))
        block, line = arith.divui(word, index(rows)), arith.remui(word, index(rows))
        q = at(weight, panel, block, line, lane)
        if bits < 8:
            up = arith.index_cast(q.type, arith.subi(index(WORD_BITS - bits), arith.muli(part, index(bits))))
            q = arith.shrsi(arith.shli(q, up), arith.constant(q.type, WORD_BITS - bits))
        value = as_float(q)
        if zero.type.shape != [0]:
            value = wide.sub(value, as_float(at(zero, panel, block, lane)))
        return wide.mul(value, as_float(at(scale, panel, block, lane)))

    made = compute(empty([blocks * rows * per, k.attrs["columns"]], wide.type), "r, c", [], element)
    if narrow.type != wide.type:
        x = elementwise(empty(dims(x), wide.type), [x], lambda one: narrow.cast(one, wide))
    return accumulated(out, narrow, lambda zeros: named(linalg.MatmulOp, zeros, [x, made]))


RULES = (matmul,)
