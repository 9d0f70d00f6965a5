"""nonzero by all threads at once: running totals of how many elements of each chunk are not 0; the last one is the number of columns, and
each column finds its chunk by bisection, and its element there."""
from legato.core.mlir import arith, ir, tensor
from legato.targets.builders.element import Element
from legato.targets.builders.element import index as index_element
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import dims, plus, product, quotient, shape_of, values_of
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import compute, empty, extract, filled, is_empty, loop_index, looped
from legato.targets.generic.count import counted_size
from legato.targets.generic.topk import when
from legato.targets.gpu.cumulative import running_totals
from legato.targets.gpu.ordered import bisected
from legato.targets.rule import rewrite

CHUNK = 32     # elements
Compare = arith.CmpIPredicate


@rewrite("relax.nonzero")
def nonzero(op, x):
    """A kernel of the running totals, one that takes the last, an allocation, and a kernel that finds the columns."""
    given, e = op.plain(x), Element(ir.IntegerType.get_signless(64))
    columns = _Columns(element(x.type), e)
    chunks = quotient(plus(product(dims(given)), CHUNK - 1), CHUNK)
    totals, one = ir.RankedTensorType.get(shape_of([chunks]), e.type), ir.RankedTensorType.get([1], e.type)
    result = ir.RankedTensorType.get([given.type.rank, ir.ShapedType.get_dynamic_size()], e.type)
    (counted,) = op.call_built(columns.totals, [x], [totals], [values_of([chunks])])
    (last,) = op.call_built(columns.last, [counted], [one], [[]])
    return op.call_built(columns.places, [counted, x], [result], [[counted_size(last, op.attrs["size"])]])


class _Columns:
    """The kernels' bodies. ``kind``: of the elements; ``e``: of counts and places."""

    def __init__(self, kind: Element, e: Element) -> None:
        self.kind, self.e = kind, e

    def totals(self, ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
        """How many elements up to each chunk's last are not 0."""
        x, e = flat(ins[0]), self.e
        if is_empty(outs[0]):
            return outs

        def count(_: ir.Value, before: ir.Value) -> ir.Value:
            place = arith.addi(arith.muli(loop_index(0), index_value(CHUNK)), loop_index(1))
            return e.add(before, self._counts(x, place))

        steps = empty([CHUNK], e.type)     # says how many steps there are
        counts = compute(filled(empty(dims(outs[0]), e.type), e.const(0)), "c, +v", [(steps, "v")], count)
        return [running_totals(counts, e, outs[0])]

    def last(self, ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
        """The last running total; 0 where there are no chunks."""
        def element_of(_: ir.Value) -> ir.Value:
            chunks = index_value(dims(ins[0])[0])
            return when(arith.cmpi(Compare.sgt, chunks, index_value(0)), [self.e.const(0)],
                        lambda: [extract(ins[0], [arith.subi(chunks, index_value(1))])])[0]

        return [compute(outs[0], "d0", [], element_of)]

    def places(self, ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
        """The indices of each column's element, one in each row."""
        x, sizes = flat(ins[1]), dims(ins[1])

        def coordinate(_: ir.Value) -> ir.Value:
            row, place = loop_index(0), self._place(ins[0], x, loop_index(1))
            found = place
            for axis in reversed(range(1, len(sizes))):
                outer = arith.divui(place, index_value(sizes[axis]))
                mine = arith.cmpi(Compare.eq, row, index_value(axis))
                found = arith.select(mine, arith.subi(place, arith.muli(outer, index_value(sizes[axis]))), found)
                found, place = arith.select(arith.cmpi(Compare.ult, row, index_value(axis)), outer, found), outer
            return index_element().cast(found, self.e)

        return [compute(outs[0], "a, n", [], coordinate)]

    def _counts(self, x: ir.Value, place: ir.Value) -> ir.Value:
        """In a body: 1 for an element that is not 0, else, and beyond the last element, 0."""
        size, wide = index_value(dims(x)[0]), self.kind.wide
        value = read(extract(x, [arith.minsi(place, arith.subi(size, index_value(1)))]), self.kind)
        return arith.extui(self.e.type, arith.andi(arith.cmpi(Compare.slt, place, size), wide.compare("ne", value, wide.const(0))))

    def _place(self, totals: ir.Value, x: ir.Value, column: ir.Value) -> ir.Value:
        """In a body: the place of a column's element."""
        chunks, e = dims(totals)[0], self.e
        wanted = index_element().cast(column, e)
        chunk = bisected(chunks, lambda number: e.compare("le", extract(totals, [number]), wanted))
        before = arith.subi(arith.maxsi(chunk, index_value(1)), index_value(1))
        counted = arith.select(arith.cmpi(Compare.sgt, chunk, index_value(0)), extract(totals, [before]), e.const(0))
        begin = arith.muli(chunk, index_value(CHUNK))

        def step(number: ir.Value, counted: ir.Value, found: ir.Value) -> list[ir.Value]:
            place = arith.addi(begin, number)
            counts = self._counts(x, place)
            is_it = arith.andi(e.compare("eq", counts, e.const(1)), e.compare("eq", counted, wanted))
            return [e.add(counted, counts), arith.select(is_it, place, found)]

        return looped(CHUNK, [counted, begin], step)[1]


def flat(x: ir.Value) -> ir.Value:
    """The elements as a vector."""
    if x.type.rank == 1:
        return x
    type_ = ir.RankedTensorType.get(shape_of([product(dims(x))]), x.type.element_type)
    return tensor.CollapseShapeOp(type_, x, [list(range(x.type.rank))]).result


RULES = (nonzero,)
