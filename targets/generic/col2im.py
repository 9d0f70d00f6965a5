"""col2im: each element of an image adds up those of the blocks that cover it."""
from legato.core.mlir import arith, ir
from legato.targets.builders.element import boolean
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import dims
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import accumulated, compute, empty, extract, filled, is_empty, loop_index, names
from legato.targets.rule import kernel


@kernel("relax.col2im")
def col2im(k, x, out):
    """Along each axis an element has an index in a block where its place there is a multiple of the stride."""
    rank, kind, sizes = out.type.rank - 2, element(k.input_types[0]), dims(x)
    block, counts = sizes[2:2 + rank], sizes[2 + rank:]
    strides, padding, dilations = (k.attrs[name] for name in ("strides", "padding", "dilations"))
    if is_empty(x):
        return filled(out, kind.const(0))
    images, taps = names(2 + rank), names(rank, "t")

    def along(axis: int) -> tuple[ir.Value, ir.Value]:
        """The place of a block whose tap is this element, and whether there is one; else a place that exists."""
        at, tap, stride = loop_index(2 + axis), loop_index(2 + rank + axis), index_value(strides[axis])
        place = arith.subi(arith.addi(at, index_value(padding[axis])), arith.muli(tap, index_value(dilations[axis])))
        number = arith.divui(arith.maxsi(place, index_value(0)), stride)
        exists = arith.andi(arith.cmpi(arith.CmpIPredicate.eq, arith.muli(number, stride), place),
                            arith.cmpi(arith.CmpIPredicate.slt, number, index_value(counts[axis])))
        return arith.select(exists, number, index_value(0)), exists

    def build(total: ir.Value) -> ir.Value:
        e = kind.wide

        def add(_: ir.Value, so_far: ir.Value) -> ir.Value:
            found, inside = zip(*map(along, range(rank)), strict=True)
            exists = boolean().const(True)
            for one in inside:
                exists = arith.andi(exists, one)
            own = [loop_index(0), loop_index(1), *(loop_index(2 + rank + axis) for axis in range(rank)), *found]
            value = read(extract(x, own), kind)
            return arith.select(exists, e.add(so_far, value), so_far)

        return compute(total, ", ".join([*images, *(f"+{tap}" for tap in taps)]), [(empty(block, kind.type), ", ".join(taps))], add)

    return accumulated(out, kind, build)


RULES = (col2im,)
