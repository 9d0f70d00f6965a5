"""topk along one axis."""
from collections.abc import Callable, Sequence
from math import nan

from legato.core.mlir import arith, ir, math, scf, tensor
from legato.targets.builders.element import Element, boolean, index
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import Size, dims, minus, smallest, times
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import empty, extract, filled, is_empty, looped
from legato.targets.rule import kernel


@kernel("relax.topk")
def topk(k, x, out):
    """By heaps."""
    if is_empty(out):
        return out
    return by_heaps(k, x, filled(out, element(k.output_types[0]).const(-1)))


def by_heaps(k, x: ir.Value, places: ir.Value) -> ir.Value:
    """One pass over each row, which keeps the best elements so far in a heap with the worst of them at its root; then the heap is sorted.
    ``places``: all of free slots, -1.

    Of n elements in random order about k * log(n / k) enter the heap, at a cost of log(k) each; all others cost one comparison.
    """
    axis, e = k.attrs["axis"] % x.type.rank, element(k.input_types[0]).wide
    count = k.attrs["k"] if isinstance(k.attrs["k"], int) else k.index(k.attrs["k"])
    kind, place = element(k.input_types[0]), element(k.output_types[0])
    order = ElementOrder(e, place, largest=k.attrs["largest"])
    sizes = dims(x)

    def row(at: list[ir.Value], places: ir.Value) -> ir.Value:
        """``places`` with those of the row with the index ``at``; -1 marks a free slot."""
        def slot(number: ir.Value) -> list[ir.Value]:
            return [*at[:axis], number, *at[axis:]]

        heap = _Heap(order, count, slot)
        root, free = index_value(0), place.const(-1)

        def offer(number: ir.Value, *carried: ir.Value) -> Sequence[ir.Value]:
            """Carries the heap, and its root: most elements cost one comparison with that."""
            values, places, worst, worst_at = carried
            new, new_at = read(extract(x, slot(number)), kind), index().cast(number, place)

            def sifted() -> Sequence[ir.Value]:
                found = heap.sift(new, new_at, index_value(count), values, places)
                return [*found, order.mark_free(extract(found[0], [root]), extract(found[1], slot(root))), extract(found[1], slot(root))]

            return when(order.may_replace(new, worst, worst_at), carried,
                         lambda: when(order.replaces(new, worst, worst_at), carried, sifted))

        def take(number: ir.Value, values: ir.Value, places: ir.Value) -> Sequence[ir.Value]:
            """Moves the root, the worst in the heap, to the end; the element from there is sifted into the smaller heap."""
            end = arith.subi(index_value(minus(count, 1)), number)
            moved, moved_at, goes = extract(values, [end]), extract(places, slot(end)), extract(places, slot(root))
            return heap.sift(moved, moved_at, end, values, tensor.InsertOp(goes, places, slot(end)).result)

        offered = sizes[axis] if isinstance(count, int) else times(sizes[axis], smallest(count, 1))    # nothing enters a heap of size 0
        full = looped(offered, [empty([count], e.type), places, order.mark_free(e.const(0), free), free], offer)
        return looped(minus(count, 1), full[:2], take)[1]

    return rows([size for i, size in enumerate(sizes) if i != axis], [], places, row)


class _Heap:
    """A heap of ``count`` elements: values in a tensor, their indices in a row of the result. Every parent is worse than its children."""

    def __init__(self, order: "ElementOrder", count: Size, slot: Callable[[ir.Value], list[ir.Value]]) -> None:
        self.order, self.count, self.slot = order, count, slot

    def sift(self, item: ir.Value, item_at: ir.Value, size: ir.Value, values: ir.Value, places: ir.Value) -> list[ir.Value]:
        """Values and indices after the root of a heap of ``size`` elements is replaced by an item."""
        first, slot = self.order.first, self.slot
        highest = index_value(minus(self.count, 1))

        def descend(_: ir.Value, hole: ir.Value, values: ir.Value, places: ir.Value) -> Sequence[ir.Value]:
            left = arith.addi(arith.muli(hole, index_value(2)), index_value(1))
            right = arith.addi(left, index_value(1))
            left_in, right_in = (arith.cmpi(arith.CmpIPredicate.ult, child, size) for child in (left, right))
            children = [arith.minui(child, highest) for child in (left, right)]  # values read beyond the heap are not used
            (a, a_at), (b, b_at) = ((extract(values, [child]), extract(places, slot(child))) for child in children)
            other = arith.andi(right_in, first(a, a_at, b, b_at))
            child, value, at = (arith.select(other, *both) for both in ((children[1], children[0]), (b, a), (b_at, a_at)))
            down = arith.andi(left_in, first(item, item_at, value, at))
            values = tensor.InsertOp(arith.select(down, value, item), values, [hole]).result
            places = tensor.InsertOp(arith.select(down, at, item_at), places, slot(hole)).result
            return [arith.select(down, child, hole), values, places]

        levels = (self.count - 1).bit_length() if isinstance(self.count, int) else bit_length(highest)
        hole, values, places = looped(levels, [index_value(0), values, places], descend)
        return [tensor.InsertOp(item, values, [hole]).result, tensor.InsertOp(item_at, places, slot(hole)).result]


def when(condition: ir.Value, values: Sequence[ir.Value], body: Callable[[], Sequence[ir.Value]]) -> Sequence[ir.Value]:
    """What ``body`` returns if the condition holds, else ``values``."""
    test = scf.IfOp(condition, [value.type for value in values], has_else=True)
    with ir.InsertionPoint(test.then_block):
        scf.YieldOp(list(body()))
    with ir.InsertionPoint(test.else_block):
        scf.YieldOp(list(values))
    return list(test.results)


def bit_length(number: ir.Value) -> ir.Value:
    """The number of bits of an index that is not negative."""
    i64 = ir.IntegerType.get_signless(64)
    zeros = math.CountLeadingZerosOp(arith.index_cast(i64, number)).result
    return arith.index_cast(ir.IndexType.get(), arith.subi(arith.ConstantOp(i64, 64).result, zeros))


def rows(sizes: Sequence[Size], at: list[ir.Value], places: ir.Value, row: Callable[[list[ir.Value], ir.Value], ir.Value]) -> ir.Value:
    """A loop nest over these sizes around ``row``."""
    if not sizes:
        return row(at, places)
    return looped(sizes[0], [places], lambda number, inner: [rows(sizes[1:], [*at, number], inner, row)])[0]


class ElementOrder:
    """The order of elements: by value, equal ones by index. A NaN is greater than every number."""

    def __init__(self, e: Element, place: Element, largest: bool) -> None:
        self.e, self.place, self.largest = e, place, largest

    def beats(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Whether an element comes before another one, if their indices do not matter."""
        beats = self.e.compare("gt" if self.largest else "lt", a, b)
        if not self.e.is_float:
            return beats
        greater, number = (a, b) if self.largest else (b, a)
        return arith.ori(beats, arith.andi(self.e.is_nan(greater), _not(self.e.is_nan(number))))

    def mark_free(self, value: ir.Value, at: ir.Value) -> ir.Value:
        """The value of a slot; of a free one NaN, if there is one."""
        return arith.select(self._is_free(at), self.e.const(nan), value) if self.e.is_float else value

    def may_replace(self, new: ir.Value, old: ir.Value, old_at: ir.Value) -> ir.Value:
        """Whether ``replaces`` has to be asked: for floats one comparison, which holds for NaNs too. ``old`` is as ``mark_free`` has it."""
        if not self.e.is_float:
            return arith.ori(self._is_free(old_at), self.beats(new, old))
        return arith.cmpf(arith.CmpFPredicate.UGT if self.largest else arith.CmpFPredicate.ULT, new, old)

    def replaces(self, new: ir.Value, old: ir.Value, old_at: ir.Value) -> ir.Value:
        """Whether an element comes before one with a smaller index, or one in a free slot."""
        return arith.ori(self._is_free(old_at), self.beats(new, old))

    def _is_free(self, at: ir.Value) -> ir.Value:
        return self.place.compare("lt", at, self.place.const(0))

    def first(self, a: ir.Value, a_at: ir.Value, b: ir.Value, b_at: ir.Value) -> ir.Value:
        """Whether a, with its index, comes before b; a free slot comes last."""
        a_is, b_is = (_not(self.place.compare("lt", at, self.place.const(0))) for at in (a_at, b_at))
        equal = arith.andi(_not(self.beats(b, a)), self.place.compare("lt", a_at, b_at))
        return arith.andi(a_is, arith.ori(_not(b_is), arith.ori(self.beats(a, b), equal)))


def _not(condition: ir.Value) -> ir.Value:
    return arith.xori(condition, boolean().const(True))


RULES = (topk,)
