"""topk of few elements of a row: the best so far are vectors of keys in order, in registers, and a better one enters them without a branch.

Where a key enters, those that it beats move on by a lane: each lane becomes the greater of its own key and the less of the new one and of
the lane before. Vectors of elements none of which beats the worst so far are passed over by one comparison.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, math, vector
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import Size, dim, minus, plus, quotient, times
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import extract, is_empty, looped
from legato.targets.builders.vectors import read_vector, write_vector
from legato.targets.cpu.keys import FREE, MOST, Keys, constant, in_vectors
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.topk_by_sorting import sorts_all
from legato.targets.cpu.topk_rows import each_row
from legato.targets.generic.topk import when
from legato.targets.rule import kernel

VECTORS = 4     # of keys, at most


@kernel("relax.topk", priority=3)
def topk_in_registers(k, x, out):
    """Of elements of up to 32 bits, along the last axis, whose length is known."""
    axis, count, kind = k.attrs["axis"] % x.type.rank, k.attrs["k"], element(k.input_types[0])
    if not isinstance(k.machine, Machine) or not in_vectors(kind) or axis != x.type.rank - 1 or x.type.is_dynamic_dim(axis):
        return Refusal("its elements are not read in vectors, or not along a last axis of known length")
    if kind.wide.bits > 32 or x.type.shape[axis] > MOST:
        return Refusal("an element and its index do not surely fit 64 bits")
    best = BestOfRow(kind, k.attrs["largest"], k.machine.lanes(64), count)
    if not isinstance(count, int) or not 0 < count <= VECTORS * best.lanes or is_empty(out):
        return Refusal(f"not 1 to {VECTORS * best.lanes} elements are wanted")
    if sorts_all(x.type.shape[axis], count, best.lanes):
        return Refusal("rows are short enough to be sorted")
    k.writes_all()

    return each_row(k.machine, x, out, axis, best.written)


class BestOfRow:
    """The best keys of a row, in order, in vectors of ``lanes``."""

    def __init__(self, kind: Element, largest: bool, lanes: int, count: int) -> None:
        self.kind, self.keys, self.lanes, self.count = kind, Keys(kind, largest), lanes, count
        self.key = ir.IntegerType.get_signless(64)
        self.type = ir.VectorType.get([lanes], self.key)

    def written(self, x: ir.Value, at: list[ir.Value], places: ir.Value) -> ir.Value:
        """``places`` with the indices of the best elements of the row with the index ``at``."""
        for number, keys in enumerate(self._of(x, at)):
            first, found = number * self.lanes, Keys.place(keys, places.type.element_type)
            places = write_vector(found, places, [*at, index_value(first)], first + self.lanes <= self.count)
        return places

    def _of(self, x: ir.Value, at: list[ir.Value]) -> list[ir.Value]:
        size, width, (none, unbeaten) = dim(x, x.type.rank - 1), 2 * self.lanes, self._none()
        bits = ir.IntegerType.get_signless(width)

        def lowest(lanes: Size) -> ir.Value:
            if isinstance(lanes, int):
                return constant(bits, (1 << lanes) - 1)
            return arith.subi(arith.shli(constant(bits, 1), arith.index_castui(bits, lanes)), constant(bits, 1))

        def offer(number: ir.Value, *carried: ir.Value, inside: Size = width) -> Sequence[ir.Value]:
            """The carried keys, the worst of them last, with those of a vector that are better. ``inside``: the lanes that it has."""
            first, best, worst = times(number, width), carried[:len(none)], carried[len(none):]
            elements = read_vector(x, [*at, first], width, self.kind.const(0), inside == width)
            better, is_free = self._beat(elements, worst)
            found = vector.ExtractOp(vector.BitCastOp(ir.VectorType.get([1], bits), better).result, [], [0]).result
            found = arith.andi(arith.select(is_free, constant(bits, -1), found), lowest(inside))

            def enter(_: ir.Value, left: ir.Value, *best: ir.Value) -> Sequence[ir.Value]:
                place = plus(first, arith.index_castui(ir.IndexType.get(), math.CountTrailingZerosOp(left).result))
                entered = self._entered(best, read(extract(x, [*at, place]), self.kind), place)
                return [arith.andi(left, arith.subi(left, constant(bits, 1))), *entered]

            def entered() -> Sequence[ir.Value]:
                number = arith.index_castui(ir.IndexType.get(), math.CtPopOp(found).result)
                entered = looped(number, [found, *best], enter)[1:]
                return [*entered, *self._worst(entered)]

            return when(arith.cmpi(arith.CmpIPredicate.ne, found, constant(bits, 0)), carried, entered)

        found: Sequence[ir.Value] = [*none, *unbeaten]
        whole = quotient(size, width)
        found = looped(whole, found, offer)
        rest = minus(size, times(whole, width))
        if rest != 0:
            found = offer(index_value(whole), *found, inside=rest)
        return list(found[:len(none)])

    def _none(self) -> tuple[list[ir.Value], list[ir.Value]]:
        """The best keys of no elements, and the worst of them."""
        return [constant(self.type, FREE)] * -(-self.count // self.lanes), [constant(self.key, FREE)]

    def _worst(self, best: Sequence[ir.Value]) -> list[ir.Value]:
        return [self._last(best)]

    def _beat(self, elements: ir.Value, worst: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value]:
        """Which elements of a vector beat the worst so far, and whether that is none."""
        return self.keys.beat(elements, worst[0]), arith.cmpi(arith.CmpIPredicate.eq, worst[0], constant(self.key, FREE))

    def _entered(self, best: Sequence[ir.Value], value: ir.Value, place: ir.Value) -> list[ir.Value]:
        """Keys in order, with that of one more element and without the last."""
        new = vector.BroadcastOp(self.type, self.keys.key(value, place)).result
        return [arith.maxsi(mine, arith.minsi(shifted, new)) for mine, shifted in zip(best, self._moved_on(best, new), strict=True)]

    def _moved_on(self, best: Sequence[ir.Value], new: ir.Value) -> Iterator[ir.Value]:
        """Vectors, each lane of which is the one before it; the first is one of ``new``."""
        yield vector.ShuffleOp(best[0], new, [self.lanes, *range(self.lanes - 1)]).result
        for other, mine in pairwise(best):
            yield vector.ShuffleOp(other, mine, list(range(self.lanes - 1, 2 * self.lanes - 1))).result

    def _last(self, best: Sequence[ir.Value]) -> ir.Value:
        vector_, lane = divmod(self.count - 1, self.lanes)
        return vector.ExtractOp(best[vector_], [], [lane]).result


RULES = (topk_in_registers,)
