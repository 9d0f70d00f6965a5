"""topk of many elements of a row: sorted as keys by a network of vectors (``sorting``).

A row of up to four times as many as are wanted is sorted as a whole. Of a longer one, those that beat the worst of the best so far are
gathered, without branches, and, when as many as are wanted have come, sorted and merged with the best.
"""
from __future__ import annotations

from collections.abc import Sequence

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, tensor, vector
from legato.targets.builders.element import Element, boolean
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import Size, dims, largest, minus, plus, quotient, times
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import empty, extract, filled, is_empty, looped
from legato.targets.builders.vectors import read_vector, write_vector
from legato.targets.cpu.keys import FREE, MOST, Keys, constant, in_vectors
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.sorting import Network, held_by
from legato.targets.cpu.topk_rows import each_row
from legato.targets.cpu.vectorizer import next_power_of_two
from legato.targets.generic.topk import bit_length, when
from legato.targets.rule import kernel

FEWEST = 16    # elements that are wanted


@kernel("relax.topk", priority=2)
def topk_by_sorting(k, x, out):
    """Of elements of up to 32 bits, as many as are known."""
    axis, count, kind = k.attrs["axis"] % x.type.rank, k.attrs["k"], element(k.input_types[0])
    size = dims(x)[axis]
    if not isinstance(k.machine, Machine) or kind.wide.bits > 32 or not isinstance(size, int) or size > MOST:
        return Refusal("an element and its index do not surely fit 64 bits")
    lanes = k.machine.lanes(64)
    whole = isinstance(count, int) and sorts_all(size, count, lanes)
    if not isinstance(count, int) or not (whole or count >= FEWEST) or is_empty(out):
        return Refusal(f"not {FEWEST} elements or more, in a number that is known, are wanted")
    k.writes_all()

    def one(x: ir.Value, at: list[ir.Value], places: ir.Value) -> ir.Value:
        row = KeyRow(kind, Keys(kind, k.attrs["largest"]), x, axis, lanes)
        best = row.sorted(at) if whole else row.selected(at, count)
        return row.written(best, places, at, count)

    return each_row(k.machine, x, out, axis, one)


def sorts_all(size: int, wanted: int, lanes: int) -> bool:
    """Whether it is as fast to sort all of a row as to look for the elements that are wanted."""
    return 0 < size <= 4 * max(next_power_of_two(wanted), lanes)


class KeyRow:
    """Rows of a tensor along an axis, as keys of 64 bits in vectors of ``lanes``."""

    def __init__(self, kind: Element, keys: Keys, x: ir.Value, axis: int, lanes: int) -> None:
        self.kind, self.keys, self.x, self.axis, self.lanes, self.size = kind, keys, x, axis, lanes, dims(x)[axis]
        self.key = ir.IntegerType.get_signless(64)
        self.in_vectors = in_vectors(kind) and axis == x.type.rank - 1
        self.numbers = ir.VectorType.get([lanes], self.key)

    def sorted(self, at: list[ir.Value]) -> ir.Value:
        """The keys of the row with the index ``at``, the best first, and keys of nothing."""
        count = self._power_of_two()
        whole = times(quotient(self.size, self.lanes), self.lanes) if self.in_vectors else 0
        if isinstance(count, int):
            found = empty([count], self.key)
        else:   # room enough, computed of sizes as memory is; filled, since rows share it
            found = filled(empty([plus(times(self.size, 2), held_by(self.lanes))], self.key), constant(self.key, FREE))
        if whole != 0:
            found = looped(quotient(whole, self.lanes), [found], lambda number, found: [self._vector(at, number, found)])[0]
        found = self._freed(found, whole, count) if isinstance(count, int) else found
        found = looped(self.size, [found], lambda number, found: [self._put(self._key(at, number), found, number)], whole)[0]
        return Network(count, self.lanes).sorted(found)

    def _power_of_two(self) -> Size:
        """As many keys as a network sorts, to hold those of a row."""
        if isinstance(self.size, int):
            return max(next_power_of_two(self.size), 2 * self.lanes)
        return arith.shli(index_value(1), bit_length(index_value(minus(largest(self.size, held_by(self.lanes)), 1))))

    def selected(self, at: list[ir.Value], wanted: int) -> ir.Value:
        """The keys of the ``wanted`` best elements of a row that has as many, the best first, and more."""
        size = self.size
        count, step = max(next_power_of_two(wanted), 2 * self.lanes), 2 * self.lanes if self.in_vectors else 1
        network, steps = Network(count, self.lanes), quotient(plus(size, step - 1), step)

        def merged(best: ir.Value, waiting: ir.Value, filled: ir.Value) -> Sequence[ir.Value]:
            best = network.best(best, network.sorted(self._put(free, waiting, filled)))
            return [best, self._freed(waiting, 0, count), index_value(0), extract(best, [index_value(wanted - 1)])]

        def take(keys: Sequence[ir.Value], is_last: ir.Value, best: ir.Value, waiting: ir.Value, filled: ir.Value,
                 worst: ir.Value) -> Sequence[ir.Value]:
            """Each key goes where the next one is to wait, and the place after it is the next if it beats the worst."""
            for key in keys:
                waiting = self._put(key, waiting, filled)
                beats = arith.cmpi(arith.CmpIPredicate.sgt, key, worst)
                filled = arith.addi(filled, arith.index_castui(ir.IndexType.get(), beats))
            is_full = arith.cmpi(arith.CmpIPredicate.ugt, filled, index_value(count - step))
            return when(arith.ori(is_full, is_last), [best, waiting, filled, worst], lambda: merged(best, waiting, filled))

        def offer(number: ir.Value, *carried: ir.Value) -> Sequence[ir.Value]:
            first, worst = times(number, step), carried[-1]
            is_last = arith.cmpi(arith.CmpIPredicate.eq, number, index_value(minus(steps, 1)))
            if not self.in_vectors:
                return take([self._key(at, first)], is_last, *carried)
            elements = read_vector(self.x, self._slot(at, first), step, self.kind.const(0), is_multiple(size, step))
            better = vector.ReductionOp(boolean().type, vector.CombiningKind.OR, self.keys.beat(elements, worst)).result
            is_free = arith.cmpi(arith.CmpIPredicate.eq, worst, free)
            return when(arith.ori(arith.ori(better, is_free), is_last), carried,
                        lambda: take(elements_of(self._inside(elements, first, size)), is_last, *carried))

        free = constant(self.key, FREE)
        room = count + self.lanes   # a key that is not taken may be at the end of those that are
        carried = [self._freed(empty([length], self.key), 0, length) for length in (count, room)]
        return looped(steps, [*carried, index_value(0), free], offer)[0]

    def _inside(self, elements: ir.Value, first: ir.Value, size: Size) -> ir.Value:
        """The keys of a vector of elements: of nothing, where it is beyond the row of so many."""
        keys = self.keys.vector(elements, first)
        if is_multiple(size, elements.type.shape[0]):
            return keys
        left = arith.subi(index_value(size), first)
        inside = vector.CreateMaskOp(ir.VectorType.get(elements.type.shape, boolean().type), [left]).result
        return arith.select(inside, keys, constant(keys.type, FREE))

    def written(self, keys: ir.Value, places: ir.Value, at: list[ir.Value], count: Size) -> ir.Value:
        """``places`` with those of the first keys in the row with the index ``at``."""
        def place(first: ir.Value, places: ir.Value, inside: bool = True) -> ir.Value:
            found = read_vector(keys, [first], self.lanes, constant(self.key, 0))
            return write_vector(Keys.place(found, places.type.element_type), places, self._slot(at, first), inside)

        if self.axis < self.x.type.rank - 1:
            return looped(count, [places], lambda number, places: [
                self._put(Keys.place(extract(keys, [number]), places.type.element_type), places, *self._slot(at, number))])[0]
        whole = quotient(count, self.lanes)
        places = looped(whole, [places], lambda number, places: [place(times(number, self.lanes), places)])[0] if whole != 0 else places
        has_rest = not isinstance(count, int) or count % self.lanes
        return place(index_value(times(whole, self.lanes)), places, inside=False) if has_rest else places

    def _slot(self, at: list[ir.Value], number: Size) -> list[ir.Value]:
        return [*at[:self.axis], index_value(number), *at[self.axis:]]

    def _key(self, at: list[ir.Value], number: Size) -> ir.Value:
        return self.keys.key(read(extract(self.x, self._slot(at, number)), self.kind), index_value(number))

    def _vector(self, at: list[ir.Value], number: ir.Value, found: ir.Value) -> ir.Value:
        """``found`` with the keys of a vector of elements."""
        first = times(number, self.lanes)
        elements = read_vector(self.x, self._slot(at, first), self.lanes, self.kind.const(0))
        return write_vector(self.keys.vector(elements, first), found, [first])

    def _freed(self, keys: ir.Value, first: Size, count: int) -> ir.Value:
        """Keys of which those from a place on are of nothing."""
        nothing = constant(self.numbers, FREE)
        return looped(count // self.lanes, [keys], lambda number, keys: [write_vector(nothing, keys, [times(number, self.lanes)])],
                      quotient(first, self.lanes))[0]

    @staticmethod
    def _put(value: ir.Value, into: ir.Value, *at: ir.Value) -> ir.Value:
        return tensor.InsertOp(value, into, at).result


def is_multiple(size: Size, of: int) -> bool:
    """Whether a size is known to be a multiple of a number."""
    return isinstance(size, int) and size % of == 0


def elements_of(value: ir.Value) -> list[ir.Value]:
    """The elements of a vector, one by one."""
    return [vector.ExtractOp(value, [], [lane]).result for lane in range(value.type.shape[0])]


RULES = (topk_by_sorting,)
