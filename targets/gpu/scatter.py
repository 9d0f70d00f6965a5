"""Writing by index, by a thread for each element of the result, which finds its updates.

Updates are ordered by their targets, those of one target as they come, and each thread finds the first of its own by bisection; of few
updates it looks at all. So the updates of one target are combined one after the other, in their order, as on CPUs: no atomic operation
takes part, and results do not depend on how threads are scheduled.
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from legato.core.mlir import arith, ir, scf
from legato.targets.builders.element import Element, boolean
from legato.targets.builders.element import index as index_element
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import Size, dim, dims, product
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import compute, copy, empty, extract, is_empty, loop_index, looped, names
from legato.targets.generic.indexing import place
from legato.targets.generic.scatter import combined
from legato.targets.gpu.ordered import MOST, OrderedRows, bisected
from legato.targets.rule import kernel

FEW = 16     # updates that a thread looks at one by one
At = Sequence[ir.Value]
Less = arith.CmpIPredicate.slt


@dataclass(frozen=True)
class RowUpdates:
    """The updates of rows. ``rows``: how many rows there are, along several axes; ``size``: updates of a row; ``target``: that of an
    update, by the indices of its row and its number; ``value``: an update's, by these and the element's indices in its target;
    ``targets``: how many there are in a row."""

    rows: Sequence[Size]
    size: Size
    target: Callable[[At, ir.Value], ir.Value]
    value: Callable[[At, ir.Value, At], ir.Value]
    targets: Size


@kernel("relax.scatter_elements")
def scatter_elements(k, x, indices, updates, out):
    """Updates at their own position, except for the index along the axis: a row of updates for each row of the result."""
    axis, kind = k.attrs["axis"] % x.type.rank, element(k.input_types[1])
    size = dim(x, axis)
    others = [other for other in range(x.type.rank) if other != axis]

    def here(at: At, number: ir.Value) -> list[ir.Value]:
        return [*at[:axis], number, *at[axis:]]

    given = RowUpdates([dim(indices, other) for other in others], dim(indices, axis),
                       lambda at, number: place(extract(indices, here(at, number)), kind, size),
                       lambda at, number, _: extract(updates, here(at, number)), size)
    return _written(k, x, out, given, lambda: ([loop_index(other) for other in others], loop_index(axis), []))


@kernel("relax.scatter_nd")
def scatter_nd(k, x, indices, updates, out):
    """Updates at tuples of indices: one row, whose targets are the elements, or slices, of the result."""
    kind, depth, outer = element(k.input_types[1]), indices.type.shape[-1], dims(indices)[:-1]
    sizes = dims(x)[:depth]

    def joined(places: At) -> ir.Value:
        found = index_value(0)
        for one, size in zip(places, sizes, strict=True):
            found = arith.addi(arith.muli(found, index_value(size)), one)
        return found

    def update(number: ir.Value) -> list[ir.Value]:
        found: list[ir.Value] = []
        for size in reversed(outer[1:]):
            found.insert(0, arith.remui(number, index_value(size)))
            number = arith.divui(number, index_value(size))
        return [number, *found] if outer else []

    def target(_: At, number: ir.Value) -> ir.Value:
        at = update(number)
        return joined([place(extract(indices, [*at, index_value(t)]), kind, size) for t, size in enumerate(sizes)])

    given = RowUpdates([], product(outer), target, lambda _, number, inner: extract(updates, [*update(number), *inner]), product(sizes))
    places = range(depth), range(depth, x.type.rank)
    return _written(k, x, out, given, lambda: ([], joined([loop_index(n) for n in places[0]]), [loop_index(n) for n in places[1]]))


def _written(k, x: ir.Value, out: ir.Value, given: RowUpdates, mine: Callable[[], tuple[At, ir.Value, At]]) -> ir.Value:
    """The tensor with its updates. ``mine``: in a body, the row of an element of the result, its target, and its indices in that."""
    if is_empty(out):
        return out
    if 0 in (given.size, *given.rows):
        return copy(x, out)
    few = isinstance(given.size, int) and given.size <= FEW
    ordered = None if few else _Ordered(given)
    replaces = k.attrs["reduction"] == "none"

    def body(old: ir.Value, *_: ir.Value) -> ir.Value:
        row, target, inner = mine()
        inside = boolean().const(True)
        for at, size in zip(row, given.rows):     # rows of updates may be fewer than those of the result
            inside = arith.andi(inside, arith.cmpi(Less, at, index_value(size)))
        found = scf.IfOp(inside, [old.type], has_else=True)
        with ir.InsertionPoint(found.then_block):
            begin, end = (index_value(0), index_value(given.size)) if ordered is None else ordered.range(row, target)

            def one(number: ir.Value, value: ir.Value) -> list[ir.Value]:
                number = number if ordered is None else ordered.update(row, number)
                new = combined(k, value, given.value(row, number, inner))
                if ordered is None:
                    new = arith.select(arith.cmpi(arith.CmpIPredicate.eq, given.target(row, number), target), new, value)
                return [new]

            if ordered is not None and replaces:     # the last one stays
                begin = arith.maxsi(begin, arith.subi(end, index_value(1)))
            scf.YieldOp(looped(end, [old], one, begin))
        with ir.InsertionPoint(found.else_block):
            scf.YieldOp([old])
        return found.results[0]

    loops = ", ".join(names(out.type.rank))
    return compute(out, loops, [(x, loops)], body)


class _Ordered:
    """Updates in the order of their targets."""

    def __init__(self, given: RowUpdates) -> None:
        self.given = given
        narrow, wide = (Element(ir.IntegerType.get_signless(bits)) for bits in (32, 64))
        kind, self.number = (narrow if isinstance(size, int) and size <= MOST else wide for size in (given.targets, given.size))
        rows = OrderedRows(given.rows, given.size, lambda at, number: index_element().cast(given.target(at, number), kind),
                           lambda a, b: kind.compare("lt", a, b), self.number)
        self.places, rank = rows.first(given.size), len(given.rows)

        def target(number: ir.Value, _: ir.Value) -> ir.Value:
            return rows.load([loop_index(axis) for axis in range(rank)], self.number.cast(number, index_element()))

        loops = names(rank)
        self.targets = compute(empty([*given.rows, given.size], kind.type), ", ".join([*loops, "u"]),
                               [(self.places, ", ".join([*loops, "0", "u"]))], target)
        self.kind = kind

    def update(self, row: At, number: ir.Value) -> ir.Value:
        """The number of the update that is at a place of the order."""
        return self.number.cast(extract(self.places, [*row, index_value(0), number]), index_element())

    def range(self, row: At, target: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The places of the updates of a target: the first, and the one behind the last."""
        begin = self._before(row, target, index_value(0), "lt")
        return begin, self._before(row, target, begin, "le")

    def _before(self, row: At, target: ir.Value, first: ir.Value, compare: str) -> ir.Value:
        """How many updates' targets compare so with a target, of which the ``first`` ones are known to."""
        def comes(number: ir.Value) -> ir.Value:
            return self.kind.compare(compare, extract(self.targets, [*row, number]), index_element().cast(target, self.kind))

        return bisected(self.given.size, comes, first)


RULES = (scatter_elements, scatter_nd)
