"""cumsum and cumprod by chunks: totals of chunks, running totals of those, and in each chunk what is before an element.

No step waits for another along the axis: each element of each level is computed by itself, from the elements of its chunk.
"""
from collections.abc import Callable

from legato.core.mlir import arith, ir
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import Size, dims, minus, plus, quotient
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import compute, empty, extract, filled, is_empty, loop_index, names
from legato.targets.rule import kernel

CHUNK = 16     # elements
SHORT = 32     # elements that are one chunk
LEVELS = 3     # of an axis of unknown size: its 4096th part is one chunk
Scalars = Callable[[ir.Value, ir.Value], ir.Value]


@kernel("relax.cumsum", "relax.cumprod")
def cumulative(k, x, out):
    """Running totals, in f32 for f16 and bf16."""
    if is_empty(out):
        return out
    kind = element(k.input_types[0])
    scan = _Scan(k.attrs["axis"] % x.type.rank, x.type.rank, kind.wide, k.name == "relax.cumsum", k.attrs["reverse"])
    return scan.totals(x, kind, out, k.attrs["exclusive"])


def running_totals(values: ir.Value, kind: Element, out: ir.Value) -> ir.Value:
    """The running sums of a vector of elements of ``kind``."""
    return out if is_empty(out) else _Scan(0, 1, kind.wide, True, False).totals(values, kind, out, False)


class _Scan:
    """Running totals along an axis. ``e``: of the totals; ``adds``: whether these are sums, else products; ``reverse``: from the end."""

    def __init__(self, axis: int, rank: int, e: Element, adds: bool, reverse: bool) -> None:
        self.axis, self.rank, self.e, self.reverse = axis, rank, e, reverse
        self.combine: Scalars = e.add if adds else e.mul
        self.neutral = e.const(0 if adds else 1)

    def totals(self, values: ir.Value, kind: Element, out: ir.Value, exclusive: bool) -> ir.Value:
        """The running totals of elements of ``kind``."""
        within, before = self.parts(values, kind, exclusive, LEVELS)
        loops = ", ".join(names(self.rank))

        def total(*scalars: ir.Value) -> ir.Value:
            return kind.wide.cast(self.with_chunks(scalars[0], before), kind)

        return compute(out, loops, [(within, loops)], total)

    def parts(self, values: ir.Value, kind: Element, exclusive: bool, levels: int) -> tuple[ir.Value, ir.Value | None]:
        """For each element the total of its chunk up to it, and for each chunk that of the chunks before it; None where there is one
        chunk. ``levels``: chunks of chunks that may follow where the size is not known."""
        sizes = dims(values)
        size, axis = sizes[self.axis], self.axis
        one = size <= SHORT if isinstance(size, int) else levels == 0
        loops, at = names(self.rank), names(self.rank)
        at[axis] = "v"
        if one:
            def whole(value: ir.Value, total: ir.Value) -> ir.Value:
                taken = self.counts(loop_index(self.rank), loop_index(axis), exclusive)
                return self.combine(total, arith.select(taken, read(value, kind), self.neutral))

            start = filled(empty(sizes, self.e.type), self.neutral)
            return compute(start, ", ".join([*loops, "+v"]), [(values, ", ".join(at))], whole), None

        def chunk_of(number: ir.Value, until: ir.Value | None, total: ir.Value) -> ir.Value:
            """The total with the next element of a chunk, if it is one, and counts for the element ``until``."""
            place = arith.addi(arith.muli(number, index_value(CHUNK)), loop_index(self.rank))
            taken = arith.cmpi(arith.CmpIPredicate.ult, place, index_value(size))
            if until is not None:
                taken = arith.andi(taken, self.counts(place, until, exclusive))
            inside = arith.minui(place, index_value(minus(size, 1)))
            value = read(extract(values, [inside if i == axis else loop_index(i) for i in range(self.rank)]), kind)
            return self.combine(total, arith.select(taken, value, self.neutral))

        chunk = [(empty([CHUNK], self.e.type), "v")]    # says how many steps there are
        chunks: list[Size] = [quotient(plus(size, CHUNK - 1), CHUNK) if i == axis else other for i, other in enumerate(sizes)]
        totals, within = (compute(filled(empty(shape, self.e.type), self.neutral), ", ".join([*loops, "+v"]), chunk, body)
                          for shape, body in ((chunks, lambda _, total: chunk_of(loop_index(axis), None, total)),
                                              (sizes, lambda _, total: chunk_of(self.chunk(loop_index(axis)), loop_index(axis), total))))
        inner, before = self.parts(totals, self.e, True, levels - 1)
        return within, self.joined(inner, before)

    def joined(self, within: ir.Value, before: ir.Value | None) -> ir.Value:
        """The running totals of which these are the parts."""
        if before is None:
            return within
        loops = ", ".join(names(self.rank))
        return compute(empty(dims(within), self.e.type), loops, [(within, loops)], lambda value, _: self.with_chunks(value, before))

    def with_chunks(self, value: ir.Value, before: ir.Value | None) -> ir.Value:
        """In a body: the value for an element, with the total of the chunks before its chunk."""
        if before is None:
            return value
        places = [self.chunk(loop_index(i)) if i == self.axis else loop_index(i) for i in range(self.rank)]
        return self.combine(extract(before, places), value)

    def chunk(self, place: ir.Value) -> ir.Value:
        """The number of an element's chunk."""
        return arith.divui(place, index_value(CHUNK))

    def counts(self, place: ir.Value, until: ir.Value, exclusive: bool) -> ir.Value:
        """Whether an element counts for the running total at ``until``."""
        predicate = arith.CmpIPredicate
        kinds = (predicate.ugt, predicate.uge) if self.reverse else (predicate.ult, predicate.ule)
        return arith.cmpi(kinds[0 if exclusive else 1], place, until)


RULES = cumulative
