"""Writing by index, by a thread for each element of the result, which finds its updates.

Updates are ordered by their targets, those of one target as they come, and each thread finds the first of its own by bisection; of few
updates it looks at all. So the updates of one target are combined one after the other, in their order, as on CPUs: no atomic operation
takes part, and results do not depend on how threads are scheduled. The order is a kernel of its own, of the indices alone: layers that
scatter by the same ones share it (``tir-merge-calls``).
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from legato.core.mlir import arith, ir, scf
from legato.dialects import tir
from legato.targets.builders.element import Element, boolean
from legato.targets.builders.element import index as index_element
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import Size, dims, product, shape_of, values_of
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import compute, copy, extract, is_empty, loop_index, looped, names
from legato.targets.generic.indexing import place
from legato.targets.generic.scatter import combined
from legato.targets.gpu.ordered import MOST, OrderedRows, bisected
from legato.targets.gpu.sorted_chunks import sorted_chunks
from legato.targets.rule import rewrite

FEW = 16     # updates that a thread looks at one by one
At = Sequence[ir.Value]
Less = arith.CmpIPredicate.slt


@dataclass(frozen=True)
class ElementUpdates:
    """Updates at their own position, except for the index along ``axis``: a row of updates for each row of the result. ``kind``: of the
    indices."""

    axis: int
    kind: Element

    def rows(self, given: Sequence[Size]) -> list[Size]:
        """How many rows there are, along several axes; ``given``: the sizes of the indices or the updates."""
        return [size for axis, size in enumerate(given) if axis != self.axis]

    def size(self, given: Sequence[Size]) -> Size:
        """How many updates a row has."""
        return given[self.axis]

    def targets(self, sizes: Sequence[Size]) -> Size:
        """How many targets a row of a result of these sizes has."""
        return sizes[self.axis]

    def target(self, indices: ir.Value, sizes: Sequence[Size], at: At, number: ir.Value) -> ir.Value:
        """In a body: the target of an update, by the indices of its row and its number."""
        return place(extract(indices, self._here(at, number)), self.kind, sizes[self.axis])

    def update(self, updates: ir.Value, at: At, number: ir.Value, inner: At) -> ir.Value:
        """In a body: an update, by these and the indices of the element in its target."""
        return extract(updates, self._here(at, number))

    def mine(self, sizes: Sequence[Size]) -> tuple[At, ir.Value, At]:
        """In a body: the row of an element of the result, its target, and its indices in that."""
        return [loop_index(axis) for axis in range(len(sizes)) if axis != self.axis], loop_index(self.axis), []

    def _here(self, at: At, number: ir.Value) -> list[ir.Value]:
        return [*at[:self.axis], number, *at[self.axis:]]


@dataclass(frozen=True)
class SliceUpdates:
    """Updates at tuples of indices: one row, whose targets are the elements, or slices, of the result. ``axes``: those along which updates
    lie; ``depth``: the length of a tuple; ``kind``: of the indices. Methods are those of ``ElementUpdates``."""

    axes: int
    depth: int
    kind: Element

    def rows(self, given: Sequence[Size]) -> list[Size]:
        """None."""
        return []

    def size(self, given: Sequence[Size]) -> Size:
        """How many updates there are."""
        return product(given[:self.axes])

    def targets(self, sizes: Sequence[Size]) -> Size:
        """How many targets there are."""
        return product(sizes[:self.depth])

    def target(self, indices: ir.Value, sizes: Sequence[Size], at: At, number: ir.Value) -> ir.Value:
        """In a body: an update's target."""
        where = self._place(indices, number)
        return _joined([place(extract(indices, [*where, index_value(t)]), self.kind, sizes[t]) for t in range(self.depth)], sizes)

    def update(self, updates: ir.Value, at: At, number: ir.Value, inner: At) -> ir.Value:
        """In a body: an element of an update."""
        return extract(updates, [*self._place(updates, number), *inner])

    def mine(self, sizes: Sequence[Size]) -> tuple[At, ir.Value, At]:
        """In a body: where an element of the result is."""
        at = [loop_index(axis) for axis in range(len(sizes))]
        return [], _joined(at[:self.depth], sizes), at[self.depth:]

    def _place(self, given: ir.Value, number: ir.Value) -> list[ir.Value]:
        """The indices of an update along its axes."""
        found: list[ir.Value] = []
        for size in reversed(dims(given)[1:self.axes]):
            found.insert(0, arith.remui(number, index_value(size)))
            number = arith.divui(number, index_value(size))
        return [number, *found] if self.axes else []


def _joined(places: At, sizes: Sequence[Size]) -> ir.Value:
    """The number of an element, by its indices."""
    found = index_value(0)
    for one, size in zip(places, sizes):
        found = arith.addi(arith.muli(found, index_value(size)), one)
    return found


@rewrite("relax.scatter_elements")
def scatter_elements(op, x, indices, updates):
    """Updates at their own position, except for the index along the axis."""
    return _written(op, ElementUpdates(op.attrs["axis"] % x.type.rank, element(op.input_types[1])))


@rewrite("relax.scatter_nd")
def scatter_nd(op, x, indices, updates):
    """Updates at tuples of indices."""
    shape = op.plain(indices).type.shape
    return _written(op, SliceUpdates(len(shape) - 1, shape[-1], element(op.input_types[1])))


def _written(op, given: ElementUpdates | SliceUpdates) -> list[ir.Value]:
    """The tensor with its updates, by a kernel, and of more than few updates one of their order."""
    x, indices, updates = (op.plain(value) for value in op.operands)
    sizes, among = (_sizes(op, type_) for type_ in op.input_types[:2])
    rows, size = given.rows(among), given.size(among)
    place_kind, kind = (_number(size), _number(given.targets(sizes)))
    kernels = _ScatterKernels(given, op, place_kind, kind)
    read = [indices]
    if 0 not in (*x.type.shape, size, *rows) and not (isinstance(size, int) and size <= FEW):
        types = [ir.RankedTensorType.get(shape_of([*rows, size]), e.type) for e in (place_kind, kind)]
        operands, ordered = [indices, *values_of(sizes)], kernels.ordered(sizes)
        chunks = sorted_chunks(op, operands, rows, size, size, kind, place_kind, ordered)
        read = op.call_built(kernels.order(sizes), [*operands, *chunks], types, [values_of([*rows, size])] * 2)
    return op.call_built(kernels.written, [x, updates, *read], [tir.plain_type(op.output_types[0])], [op.sizes(op.output_types[0])])


def _sizes(op, type_: ir.Type) -> list[Size]:
    """The sizes of a relax type; equal symbols are one value."""
    unknown = iter(op.sizes(type_))
    return [next(unknown) if type_.is_dynamic_dim(axis) else size for axis, size in enumerate(type_.shape)]


def _number(most: Size) -> Element:
    """Integers for numbers below ``most``."""
    return Element(ir.IntegerType.get_signless(32 if isinstance(most, int) and most <= MOST else 64))


@dataclass(frozen=True)
class _ScatterKernels:
    """The kernels' bodies. ``place``: of the numbers of updates; ``kind``: of those of targets."""

    given: ElementUpdates | SliceUpdates
    op: object
    place: Element
    kind: Element

    def ordered(self, sizes: Sequence[Size]) -> Callable[[list[ir.Value]], OrderedRows]:
        """The updates of rows by their targets, in a kernel of the indices. ``sizes``: of the result; the kernel gets those that are not
        known behind the indices."""
        def rows_of(ins: list[ir.Value]) -> OrderedRows:
            given, among = self.given, dims(ins[0])
            return OrderedRows(given.rows(among), given.size(among), self._target(sizes, ins),
                               lambda a, b: self.kind.compare("lt", a, b), self.place, self.kind)

        return rows_of

    def order(self, sizes: Sequence[Size]) -> tir.KernelBody:
        """A body that finds the numbers of updates in the order of their targets, and these targets. ``sizes``: as for ``ordered``; behind
        them the body gets the chunks that are ordered, if a kernel before does so."""
        def body(ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
            rows, target = self.ordered(sizes)(ins), self._target(sizes, ins)
            first = rows.first(rows.size, *ins[1 + len(values_of(sizes)):])
            loops, rank = [*names(len(rows.rows)), "u"], len(rows.rows)

            def placed(number: ir.Value, *_: ir.Value) -> list[ir.Value]:
                return [number, target([loop_index(axis) for axis in range(rank)], self.place.cast(number, index_element()))]

            return compute(outs, ", ".join(loops), [(first, ", ".join([*loops[:-1], "0", "u"]))], placed)

        return body

    def _target(self, sizes: Sequence[Size], ins: list[ir.Value]) -> Callable[[At, ir.Value], ir.Value]:
        """In a body: the target of an update, by the indices of its row and its number."""
        unknown = iter(ins[1:])
        inside = [size if isinstance(size, int) else next(unknown) for size in sizes]
        return lambda at, number: index_element().cast(self.given.target(ins[0], inside, at, number), self.kind)

    def written(self, ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
        """The result, of the tensor, the updates, and their order, or, of few updates, the indices."""
        given, (x, updates, *read), (out,) = self.given, ins, outs
        rows, size, sizes = given.rows(dims(updates)), given.size(dims(updates)), dims(x)
        if is_empty(out):
            return outs
        if 0 in (size, *rows):
            return [copy(x, out)]
        order = _UpdateOrder(self, rows, size, *read) if len(read) > 1 else None

        def body(old: ir.Value, *_: ir.Value) -> ir.Value:
            row, target, inner = given.mine(sizes)
            inside = boolean().const(True)
            for at, size_ in zip(row, rows):     # rows of updates may be fewer than those of the result
                inside = arith.andi(inside, arith.cmpi(Less, at, index_value(size_)))
            found = scf.IfOp(inside, [old.type], has_else=True)
            with ir.InsertionPoint(found.then_block):
                begin, end = (index_value(0), index_value(size)) if order is None else order.range(row, target)

                def one(number: ir.Value, value: ir.Value) -> list[ir.Value]:
                    number = number if order is None else order.update(row, number)
                    new = combined(self.op, value, given.update(updates, row, number, inner))
                    if order is None:
                        is_mine = arith.cmpi(arith.CmpIPredicate.eq, given.target(read[0], sizes, row, number), target)
                        new = arith.select(is_mine, new, value)
                    return [new]

                if order is not None and self.op.attrs["reduction"] == "none":     # the last one stays
                    begin = arith.maxsi(begin, arith.subi(end, index_value(1)))
                scf.YieldOp(looped(end, [old], one, begin))
            with ir.InsertionPoint(found.else_block):
                scf.YieldOp([old])
            return found.results[0]

        loops = ", ".join(names(out.type.rank))
        return [compute(out, loops, [(x, loops)], body)]


@dataclass(frozen=True)
class _UpdateOrder:
    """Updates in the order of their targets. ``places``: their numbers; ``targets``: their targets."""

    kernels: _ScatterKernels
    rows: Sequence[Size]
    size: Size
    places: ir.Value
    targets: ir.Value

    def update(self, row: At, number: ir.Value) -> ir.Value:
        """The number of the update that is at a place of the order."""
        return self.kernels.place.cast(extract(self.places, [*row, number]), index_element())

    def range(self, row: At, target: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The places of the updates of a target: the first, and the one behind the last."""
        begin = self._before(row, target, index_value(0), "lt")
        return begin, self._before(row, target, begin, "le")

    def _before(self, row: At, target: ir.Value, first: ir.Value, compare: str) -> ir.Value:
        """How many updates' targets compare so with a target, of which the ``first`` ones are known to."""
        kind = self.kernels.kind

        def comes(number: ir.Value) -> ir.Value:
            return kind.compare(compare, extract(self.targets, [*row, number]), index_element().cast(target, kind))

        return bisected(self.size, comes, first)


RULES = (scatter_elements, scatter_nd)
