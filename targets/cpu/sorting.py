"""Keys in order by Batcher's bitonic network: comparisons of vectors, at places that no key decides, without branches.

K. E. Batcher, "Sorting networks and their applications" (1968). n keys take n / 4 * log2(n) * log2(2 n) comparisons, of as many at once as
a vector has lanes: 3,500 maxima and minima for 1024 keys of 64 bits, where a heap takes 10,000 steps, half of whose branches are guessed
wrong. Steps between keys that are near each other are done in registers, farther ones two at a time.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.core.mlir import arith, ir, vector
from legato.targets.builders.sizes import Size, minus, plus, quotient, times
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import looped
from legato.targets.builders.vectors import read_vector, write_vector
from legato.targets.generic.topk import bit_length

TOGETHER = 4    # vectors in registers


class Network:
    """Sorts tensors of ``count`` i64 so that the greatest comes first: a power of two, and at least two vectors of ``lanes``, as many; of a
    number that only the call knows, at least ``held_by(lanes)``. What is behind these in a tensor stays."""

    def __init__(self, count: Size, lanes: int) -> None:
        self.count, self.lanes = count, lanes
        self.held = min(held_by(lanes), count) if isinstance(count, int) else held_by(lanes)    # keys in registers
        self.zero = arith.ConstantOp(ir.IntegerType.get_signless(64), 0).result

    def sorted(self, keys: ir.Value) -> ir.Value:
        """The keys in order."""
        keys = self._blocks(keys, self._sorted)

        def stage(number: ir.Value, half: ir.Value, keys: ir.Value) -> Sequence[ir.Value]:
            return [doubled(half), self._merged(keys, half, number)]

        stages = self._doublings()
        return looped(stages, [index_value(self.held), keys], stage)[1] if stages != 0 else keys

    def best(self, keys: ir.Value, others: ir.Value) -> ir.Value:
        """Of two tensors, both in order, as many of the greatest keys as one has, in order."""
        def greater(number: ir.Value, keys: ir.Value) -> Sequence[ir.Value]:
            at = times(number, self.lanes)
            other = mirrored(self._read(others, minus(minus(self.count, self.lanes), at)))
            return [self._write(arith.maxsi(self._read(keys, at), other), keys, at)]

        keys = looped(quotient(self.count, self.lanes), [keys], greater)[0]
        return self._finished(keys, index_value(quotient(self.count, 2)), index_value(self._doublings()))

    def _doublings(self) -> Size:
        """How often those that registers hold are doubled until they are all."""
        parts = quotient(self.count, self.held)
        return parts.bit_length() - 1 if isinstance(parts, int) else minus(bit_length(parts), 1)

    # --- in memory ---

    def _merged(self, keys: ir.Value, half: ir.Value, number: ir.Value) -> ir.Value:
        """Parts of twice ``half`` keys, of halves in order. ``half`` is 2 to the power of ``number`` as many as are held in registers."""
        width = doubled(half)

        def part(place: ir.Value, keys: ir.Value) -> Sequence[ir.Value]:
            begin = times(place, width)
            last = plus(begin, minus(width, self.lanes))

            def exchange(step: ir.Value, keys: ir.Value) -> Sequence[ir.Value]:
                low, high = plus(begin, times(step, self.lanes)), minus(last, times(step, self.lanes))
                first, second = exchanged(self._read(keys, low), mirrored(self._read(keys, high)))
                return [self._write(mirrored(second), self._write(first, keys, low), high)]

            return looped(quotient(half, self.lanes), [keys], exchange)

        keys = looped(arith.divui(index_value(self.count), width), [keys], part)[0]
        return self._finished(keys, arith.divui(half, index_value(2)), number)

    def _finished(self, keys: ir.Value, distance: ir.Value, steps: ir.Value) -> ir.Value:
        """Bitonic parts of twice ``distance`` keys in order. ``steps``: the number of distances, each half of the one before, until
        the keys of a part are in registers together."""
        odd = arith.andi(steps, index_value(1))
        keys = looped(odd, [keys], lambda _, keys: [self._compared(keys, distance, 1)])[0]

        def two_steps(_: ir.Value, distance: ir.Value, keys: ir.Value) -> Sequence[ir.Value]:
            return [arith.shrui(distance, index_value(2)), self._compared(keys, arith.shrui(distance, index_value(1)), 2)]

        keys = looped(arith.shrui(steps, index_value(1)), [arith.shrui(distance, odd), keys], two_steps)[1]
        return self._blocks(keys, self._ordered)

    def _compared(self, keys: ir.Value, distance: ir.Value, steps: int) -> ir.Value:
        """Keys exchanged with those at 2 to the power of ``steps`` - 1 times ``distance``, ... twice ``distance`` and ``distance``."""
        width = arith.shli(distance, index_value(steps))

        def part(place: ir.Value, keys: ir.Value) -> Sequence[ir.Value]:
            def exchange(step: ir.Value, keys: ir.Value) -> Sequence[ir.Value]:
                first = plus(times(place, width), times(step, self.lanes))
                places = [plus(first, times(distance, number)) for number in range(1 << steps)]
                vectors = [self._read(keys, at) for at in places]
                for apart in [1 << number for number in reversed(range(steps))]:
                    vectors = compared(vectors, apart)
                for vector_, at in zip(vectors, places, strict=True):
                    keys = self._write(vector_, keys, at)
                return [keys]

            return looped(quotient(distance, self.lanes), [keys], exchange)

        return looped(arith.divui(index_value(self.count), width), [keys], part)[0]

    # --- in registers ---

    def _blocks(self, keys: ir.Value, change: Callable[[list[ir.Value]], list[ir.Value]]) -> ir.Value:
        """Keys of which those that registers hold together are changed."""
        def block(number: ir.Value, keys: ir.Value) -> Sequence[ir.Value]:
            places = [plus(times(number, self.held), first) for first in range(0, self.held, self.lanes)]
            for vector_, at in zip(change([self._read(keys, at) for at in places]), places, strict=True):
                keys = self._write(vector_, keys, at)
            return [keys]

        return looped(quotient(self.count, self.held), [keys], block)[0]

    def _sorted(self, vectors: list[ir.Value]) -> list[ir.Value]:
        """Vectors of keys in order."""
        width = 2
        while width <= self.held:
            if width <= self.lanes:
                vectors = [self._in_lanes(one, width - 1) for one in vectors]
            else:
                vectors = with_mirrored(vectors, width // self.lanes)
            vectors, width = self._ordered(vectors, width // 4), 2 * width
        return vectors

    def _ordered(self, vectors: list[ir.Value], distance: int | None = None) -> list[ir.Value]:
        """Vectors of keys in order, of bitonic ones: of all, or of parts of twice ``distance``."""
        distance = self.held // 2 if distance is None else distance
        while distance:
            if distance >= self.lanes:
                vectors = compared(vectors, distance // self.lanes)
            else:
                vectors = [self._in_lanes(one, distance) for one in vectors]
            distance //= 2
        return vectors

    def _in_lanes(self, keys: ir.Value, other: int) -> ir.Value:
        """A vector whose lanes are exchanged with those whose numbers differ in the bits ``other``."""
        partner = vector.ShuffleOp(keys, keys, [lane ^ other for lane in range(self.lanes)]).result
        greater, less = exchanged(keys, partner)
        return vector.ShuffleOp(greater, less, [lane if lane < lane ^ other else self.lanes + lane for lane in range(self.lanes)]).result

    def _read(self, keys: ir.Value, at: Size) -> ir.Value:
        return read_vector(keys, [index_value(at)], self.lanes, self.zero)

    def _write(self, value: ir.Value, keys: ir.Value, at: Size) -> ir.Value:
        return write_vector(value, keys, [index_value(at)])


def held_by(lanes: int) -> int:
    """Keys in registers together."""
    return TOGETHER * lanes


def exchanged(a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The greater ones of two vectors, lane by lane, and the less."""
    return arith.maxsi(a, b), arith.minsi(a, b)


def compared(vectors: list[ir.Value], apart: int) -> list[ir.Value]:
    """Vectors of which each is exchanged with the one so many places behind it, in parts of twice as many."""
    found = list(vectors)
    for first in range(len(vectors)):
        if not first & apart:
            found[first], found[first + apart] = exchanged(vectors[first], vectors[first + apart])
    return found


def with_mirrored(vectors: list[ir.Value], width: int) -> list[ir.Value]:
    """Vectors of which each is exchanged with its mirror image in its part of ``width`` vectors."""
    found = list(vectors)
    for first in range(len(vectors)):
        other = first ^ (width - 1)
        if first < other:
            found[first], behind = exchanged(vectors[first], mirrored(vectors[other]))
            found[other] = mirrored(behind)
    return found


def mirrored(value: ir.Value) -> ir.Value:
    """A vector with its lanes from the last to the first."""
    return vector.ShuffleOp(value, value, list(reversed(range(value.type.shape[0])))).result


def doubled(size: ir.Value) -> ir.Value:
    """Twice a size."""
    return arith.shli(size, index_value(1))
