"""Reading by index: take, gather_elements, gather_nd, gather_weighted, one_hot.

Negative indices count from the end. Those still out of range are clamped, so that nothing is read out of bounds.
"""
from legato.core.mlir import arith, ir
from legato.targets.builders.element import Element, index
from legato.targets.builders.pointwise import element, read, stored
from legato.targets.builders.sizes import Size, dim
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import compute, extract, filled, is_empty, loop_index, looped, names
from legato.targets.rule import kernel


def place(scalar: ir.Value, kind: Element, size: Size) -> ir.Value:
    """An index from a tensor of ``kind`` as an index value into an axis of that size."""
    i, size = kind.cast(scalar, index()), index_value(size)
    if not kind.is_unsigned:
        i = arith.select(index().compare("lt", i, index_value(0)), arith.addi(i, size), i)
    return arith.maxsi(arith.minsi(i, arith.subi(size, index_value(1))), index_value(0))


@kernel("relax.take")
def take(k, x, indices, out):
    """Elements at indices along an axis."""
    axis, kind = k.attrs["axis"] % x.type.rank, element(k.input_types[1])
    loops, depth = names(out.type.rank), indices.type.rank
    size = dim(x, axis)

    def body(i: ir.Value, _) -> ir.Value:
        places = [loop_index(n) for n in range(len(loops))]
        places[axis: axis + depth] = [place(i, kind, size)]
        return extract(x, places)

    return compute(out, ", ".join(loops), [(indices, ", ".join(loops[axis: axis + depth]))], body)


@kernel("relax.gather_elements")
def gather_elements(k, x, indices, out):
    """Elements at their own position, except for the index along the axis."""
    axis, kind = k.attrs["axis"] % x.type.rank, element(k.input_types[1])
    loops = ", ".join(names(out.type.rank))
    size = dim(x, axis)

    def body(i: ir.Value, _) -> ir.Value:
        return extract(x, [place(i, kind, size) if n == axis else loop_index(n) for n in range(x.type.rank)])

    return compute(out, loops, [(indices, loops)], body)


@kernel("relax.gather_nd")
def gather_nd(k, x, indices, out):
    """Elements or slices at tuples of indices."""
    batch, kind = k.attrs["batch_dims"], element(k.input_types[1])
    loops, rows, depth = names(out.type.rank), indices.type.rank - 1, indices.type.shape[-1]
    sizes = [dim(x, batch + t) for t in range(depth)]

    def body(*scalars: ir.Value) -> ir.Value:
        named = [place(i, kind, size) for i, size in zip(scalars, sizes)]
        inner = [loop_index(n) for n in range(rows, len(loops))]
        return extract(x, [*(loop_index(n) for n in range(batch)), *named, *inner])

    return compute(out, ", ".join(loops), [(indices, ", ".join([*loops[:rows], str(t)])) for t in range(depth)], body)


def batch_of_taps(indices: ir.Value, batch: ir.Value) -> ir.Value:
    """Which of the indices and weights of gather_weighted a batch has: its own, or those of all."""
    return index_value(0) if indices.type.shape[0] == 1 else batch


@kernel("relax.gather_weighted")
def gather_weighted(k, x, indices, weights, out):
    """Each element is a loop over the taps of its place."""
    kind, number, factor = (element(type_) for type_ in k.input_types)
    e, rows = kind.wide, dim(x, 1)

    def body(*_: ir.Value) -> ir.Value:
        batch, at, column = (loop_index(n) for n in range(3))
        own = batch_of_taps(indices, batch)

        def add(tap: ir.Value, total: ir.Value) -> list[ir.Value]:
            row = place(extract(indices, [own, tap, at]), number, rows)
            weight = factor.wide.cast(read(extract(weights, [own, tap, at]), factor), e)
            return [e.add(total, e.mul(read(extract(x, [batch, row, column]), kind), weight))]

        (total,) = looped(dim(indices, 1), [e.const(0)], add)
        return stored(total, kind, out.type.element_type)

    if is_empty(indices) or is_empty(x):
        return filled(out, kind.const(0))
    return compute(out, "b, p, c", [], body)


@kernel("relax.one_hot")
def one_hot(k, indices, out):
    """A comparison of the index with the position along the new axis."""
    axis, kind = k.attrs["axis"] % out.type.rank, element(k.input_types[0])
    memory, depth = Element(out.type.element_type), k.index(k.attrs["depth"])
    loops = names(out.type.rank)

    def body(i: ir.Value, _) -> ir.Value:
        here = loop_index(axis)
        i = kind.cast(i, index())
        hit = index().compare("eq", i, here)
        if not kind.is_unsigned:
            hit = arith.ori(hit, index().compare("eq", arith.addi(i, depth), here))
        return arith.select(hit, memory.const(1), memory.const(0))

    return compute(out, ", ".join(loops), [(indices, ", ".join(loops[:axis] + loops[axis + 1:]))], body)


RULES = (take, gather_elements, gather_nd, gather_weighted, one_hot)
