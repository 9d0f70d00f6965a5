"""topk of short rows: the rank of an element is the number of those that come before it, found by comparing all with all.

A heap takes as long as branches are guessed wrong, about once for each element that enters it. Vectors of ranks have no branches: of 64
elements they take 64 steps of four vectors. And the ranks of a row are the numbers from 0 on, each once, so that its order is written
without a branch too.
"""
from collections.abc import Callable, Sequence
from math import log

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, tensor, vector
from legato.targets.builders.element import index
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import dims
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import empty, extract, filled, is_empty, looped
from legato.targets.builders.vectors import read_vector, write_vector
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.topk import Keys, constant, in_vectors
from legato.targets.cpu.vectorizer import next_power_of_two
from legato.targets.generic.topk import rows
from legato.targets.rule import kernel

MOST = 128     # elements of a row, whose ranks are in registers
ENTERS = 60    # comparisons of vectors, in the time that an element takes to enter a heap


@kernel("relax.topk", priority=1)
def topk_by_rank(k, x, out):
    """Ranks of all elements, then the places of the first of them."""
    axis, count = k.attrs["axis"] % x.type.rank, k.attrs["k"]
    size, kind, place = x.type.shape[axis], element(k.input_types[0]), element(k.output_types[0])
    if not isinstance(count, int) or not 1 < size <= MOST or kind.wide.bits > 32 or not isinstance(k.machine, Machine):
        return Refusal(f"only rows of up to {MOST} elements, of up to 32 bits")
    if is_empty(out):
        return out
    ranks = _Ranks(size, min(k.machine.lanes(32), next_power_of_two(size)))
    if ranks.comparisons > ENTERS * entering(size, count):
        return Refusal("a heap of so few elements is faster")
    keys = Keys(kind, k.attrs["largest"])

    def row(at: list[ir.Value], places: ir.Value) -> ir.Value:
        """``places`` with those of the row with the index ``at``."""
        def slot(number: ir.Value) -> list[ir.Value]:
            return [*at[:axis], number, *at[axis:]]

        def taken(number: ir.Value, places: ir.Value) -> Sequence[ir.Value]:
            return [tensor.InsertOp(index().cast(extract(order, [number]), place), places, slot(number)).result]

        if axis == x.type.rank - 1 and in_vectors(kind):
            numbers = ranks.in_vectors(lambda at: keys.rank(read_vector(x, slot(at), ranks.lanes, kind.const(0), size % ranks.lanes == 0)))
        else:
            numbers = ranks.one_by_one(lambda at: keys.rank(read(extract(x, slot(at)), kind)))
        order = ranks.order(numbers)
        return looped(count, [places], taken)[0]

    return rows([length for i, length in enumerate(dims(x)) if i != axis], [], filled(out, place.const(0)), row)


def entering(size: int, count: int) -> float:
    """The number of elements of a row in random order that enter a heap of the best."""
    return count * (1 + log(size / count))


class _Ranks:
    """The ranks of the elements of a row, by keys of i32 of which greater ones come first: vectors of ``lanes``, the last with lanes of no
    element."""

    def __init__(self, size: int, lanes: int) -> None:
        self.size, self.lanes, self.count = size, lanes, -(-size // lanes)
        self.element = ir.IntegerType.get_signless(32)
        self.type = ir.VectorType.get([lanes], self.element)

    @property
    def comparisons(self) -> int:
        """The number of vectors that are compared."""
        return self.size * self.count

    def in_vectors(self, key: Callable[[ir.Value], ir.Value]) -> ir.Value:
        """Keys by the index of the first element of a vector, in a tensor."""
        keys = self._room(self.element)
        for at in map(index_value, range(0, self.size, self.lanes)):
            keys = write_vector(key(at), keys, [at])
        return keys

    def one_by_one(self, key: Callable[[ir.Value], ir.Value]) -> ir.Value:
        """Keys by the index of an element, in a tensor."""
        keys = filled(self._room(self.element), constant(self.element, 0))
        return looped(self.size, [keys], lambda at, keys: [tensor.InsertOp(key(at), keys, [at]).result])[0]

    def order(self, keys: ir.Value) -> ir.Value:
        """The indices of elements by their ranks, in a tensor with room for a whole number of vectors."""
        ranks = self._room(self.element)
        for number, found in enumerate(self._counts(keys)):
            ranks = write_vector(found, ranks, [index_value(number * self.lanes)])

        def put(at: ir.Value, order: ir.Value) -> Sequence[ir.Value]:
            place = arith.index_cast(ir.IndexType.get(), extract(ranks, [at]))
            return [tensor.InsertOp(at, order, [place]).result]

        return looped(self.size, [self._room(ir.IndexType.get())], put)[0]

    def _counts(self, keys: ir.Value) -> list[ir.Value]:
        """For each element the number of those that come before it. Of equal ones these are the earlier ones: all in vectors before its
        own, none in those behind it."""
        own = [read_vector(keys, [index_value(number * self.lanes)], self.lanes, constant(self.element, 0)) for number in range(self.count)]
        lanes = ir.DenseElementsAttr.get([ir.IntegerAttr.get(self.element, lane) for lane in range(self.lanes)], self.type)
        number_of_lane, one = arith.ConstantOp(self.type, lanes).result, constant(self.type, 1)
        counts = [constant(self.type, 0)] * self.count
        for block in range(self.count):
            first = block * self.lanes

            def compare(at: ir.Value, *counts: ir.Value, block: int = block, first: int = first) -> Sequence[ir.Value]:
                key = vector.BroadcastOp(self.type, extract(keys, [at])).result
                lane = arith.index_cast(self.element, arith.subi(at, index_value(first)))
                found = []
                for number, (count, mine) in enumerate(zip(counts, own, strict=True)):
                    before = arith.cmpi(arith.CmpIPredicate.sge if block < number else arith.CmpIPredicate.sgt, key, mine)
                    if block == number:
                        earlier = arith.cmpi(arith.CmpIPredicate.slt, vector.BroadcastOp(self.type, lane).result, number_of_lane)
                        same = arith.cmpi(arith.CmpIPredicate.eq, key, mine)
                        before = arith.ori(before, arith.andi(same, earlier))
                    found.append(arith.select(before, arith.addi(count, one), count))
                return found

            counts = looped(min(first + self.lanes, self.size), counts, compare, first)
        return counts

    def _room(self, type_: ir.Type) -> ir.Value:
        return empty([self.count * self.lanes], type_)


RULES = (topk_by_rank,)
