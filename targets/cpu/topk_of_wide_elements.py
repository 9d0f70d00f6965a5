"""topk of few elements of 64 bits along the last axis, as ``topk_in_registers`` has it of narrower ones: an element and its index, which do
not fit a key of 64 bits, are in lanes of two vectors.
"""
from __future__ import annotations

from collections.abc import Sequence

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, vector
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import dims
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import is_empty
from legato.targets.builders.vectors import write_vector
from legato.targets.cpu.keys import MOST, constant, in_vectors
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.topk_costs import by_registers, sorting
from legato.targets.cpu.topk_in_registers import BestOfRow
from legato.targets.cpu.topk_rows import each_row
from legato.targets.cpu.vectorizer import next_power_of_two
from legato.targets.rule import kernel

VECTORS = 16    # of elements, at most; those that are not in registers are on the stack
LANES = 4   # of fewer elements: all of a first vector, of twice as many, enter


@kernel("relax.topk", priority=6)
def topk_of_wide_elements(k, x, out):
    """Of elements of 64 bits, along the last axis."""
    axis, count, kind = k.attrs["axis"] % x.type.rank, k.attrs["k"], element(k.input_types[0])
    if not isinstance(k.machine, Machine) or not in_vectors(kind) or kind.wide.bits != 64 or axis != x.type.rank - 1:
        return Refusal("its elements do not have 64 bits, or are not read in vectors")
    lanes = k.machine.lanes(64)
    if not isinstance(count, int) or not 0 < count <= VECTORS * lanes or is_empty(out):
        return Refusal(f"not 1 to {VECTORS * lanes} elements are wanted")
    size = dims(x)[axis]
    if isinstance(size, int) and size <= MOST and sorting(size, lanes) < by_registers(size, count):
        return Refusal("rows are short enough to be sorted")
    lanes = min(lanes, max(next_power_of_two(count), LANES))
    k.writes_all()
    return each_row(k.machine, x, out, axis, BestOfWideRow(kind, k.attrs["largest"], lanes, count).written)


class BestOfWideRow(BestOfRow):
    """The best elements of a row, in order, in vectors of ranks, and behind these in vectors of indices, of which -1 is that of none."""

    def written(self, x: ir.Value, at: list[ir.Value], places: ir.Value) -> ir.Value:
        """``places`` with the indices of the best elements of the row with the index ``at``."""
        _, found = self._parts(self._of(x, at))
        for number, indices in enumerate(found):
            first, wanted = number * self.lanes, ir.VectorType.get([self.lanes], places.type.element_type)
            indices = indices if indices.type == wanted else arith.trunci(wanted, indices)
            places = write_vector(indices, places, [*at, index_value(first)], first + self.lanes <= self.count)
        return places

    @staticmethod
    def _parts(best: Sequence[ir.Value]) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
        return best[:len(best) // 2], best[len(best) // 2:]

    def _none(self) -> tuple[list[ir.Value], list[ir.Value]]:
        vectors = -(-self.count // self.lanes)
        numbers = (0, -1)
        return [constant(self.type, number) for number in numbers for _ in range(vectors)], [constant(self.key, n) for n in numbers]

    def _worst(self, best: Sequence[ir.Value]) -> list[ir.Value]:
        return [self._last(part) for part in self._parts(best)]

    def _beat(self, elements: ir.Value, worst: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value]:
        rank, place = worst
        ranks = self.keys.rank(elements)
        better = arith.cmpi(arith.CmpIPredicate.sgt, ranks, vector.BroadcastOp(ranks.type, rank).result)
        return better, arith.cmpi(arith.CmpIPredicate.slt, place, constant(self.key, 0))

    def _entered(self, best: Sequence[ir.Value], value: ir.Value, place: ir.Value) -> list[ir.Value]:
        new = [vector.BroadcastOp(self.type, one).result for one in (self.keys.rank(value), arith.index_cast(self.key, place))]
        parts = self._parts(best)
        moved = [list(self._moved_on(part, one)) for part, one in zip(parts, new, strict=True)]
        beaten, beaten_before = ([self._beats(new[0], *lane) for lane in zip(*lanes, strict=True)] for lanes in (parts, moved))
        return [arith.select(here, arith.select(before, one, mine), kept) for part, others, mine in zip(parts, moved, new, strict=True)
                for kept, one, here, before in zip(part, others, beaten, beaten_before, strict=True)]

    def _beats(self, new: ir.Value, ranks: ir.Value, places: ir.Value) -> ir.Value:
        """Whether an element, for whose rank ``new`` stands, comes before others with smaller indices, or none."""
        is_free = arith.cmpi(arith.CmpIPredicate.slt, places, constant(self.type, 0))
        return arith.ori(arith.cmpi(arith.CmpIPredicate.sgt, new, ranks), is_free)


RULES = (topk_of_wide_elements,)
