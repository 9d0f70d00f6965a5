"""Places of elements in their order, computed by all threads at once: chunks are ordered by counting, and merged two by two.

Each element of each step is computed by itself, from what the step before left: where an element of a merged run comes from is found by
bisection. Equal elements keep their order, so that results do not depend on how threads are scheduled.
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from legato.core.mlir import arith, ir
from legato.targets.builders.element import Element
from legato.targets.builders.element import index as index_element
from legato.targets.builders.sizes import Size, dims, largest, minus, plus, quotient, smallest, times
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import compute, empty, expand, extract, loop_index, looped, names, window
from legato.targets.generic.topk import bit_length

CHUNK = 256     # elements that are ordered by counting how many come before each
LONGEST = 2048  # elements of a chunk that a block of threads orders: with their places twice, those of 4 bytes take 24 KB of shared memory
KEPT = 8 << 10  # bytes of such a chunk's elements
LEVELS = 10     # of merges where the number of elements is not known: beyond 2^18 of them chunks are longer
MOST = (1 << 31) - 1    # elements of a row
ABSENT = -1     # the place of no element
At = Sequence[ir.Value]
Compare = arith.CmpIPredicate


@dataclass(frozen=True)
class OrderedRows:
    """The order of the elements of rows.

    ``rows``: how many rows there are, along several axes; ``size``: elements in a row; ``load``: an element, by the indices of its row and
    its place; ``beats``: whether an element comes before another one; ``place``: the type of places; ``key``: that of elements.
    """

    rows: Sequence[Size]
    size: Size
    load: Callable[[At, ir.Value], ir.Value]
    beats: Callable[[ir.Value, ir.Value], ir.Value]
    place: Element
    key: Element

    def first(self, count: Size, chunks: ir.Value | None = None) -> ir.Value:
        """The places of the first ``count`` elements of each row, in order, ABSENT behind the last: a tensor of rows by 1 by ``count``.
        ``chunks``: those of chunks of the rows, by all chunks, if a kernel before has ordered them (``sorted_chunks``)."""
        if isinstance(self.size, int):
            chunk: Size = min(CHUNK, self.size) if chunks is None else chunk_of(self.size, self.key)
        else:
            chunk = largest(CHUNK, self._quotient_up(1 << LEVELS))
        runs, length = self._quotient_up(chunk), smallest(chunk, count)
        most = min((size for size in (self.size, count) if isinstance(size, int)), default=MOST)
        found = self._chunks(runs, chunk, length) if chunks is None else self._by_rows(chunks, runs, length)
        for _ in range((runs - 1).bit_length() if isinstance(runs, int) else LEVELS):
            bits = min(length if isinstance(length, int) else MOST, most).bit_length()
            before = (runs, length)
            runs, length = quotient(plus(runs, 1), 2), smallest(times(length, 2), count)
            found = self._merged(found, *before, runs, length, bits)
        return found

    def _quotient_up(self, divisor: Size) -> Size:
        return quotient(plus(self.size, minus(divisor, 1)), divisor)

    def _by_rows(self, chunks: ir.Value, runs: Size, length: Size) -> ir.Value:
        """The first places of all chunks as rows by ``runs`` by ``length``."""
        rank, sizes = len(self.rows), [*self.rows, runs]
        found = expand(chunks, [[*range(rank + 1)], [rank + 1]], [*sizes, *dims(chunks)[1:]])
        return window(found, [0] * (rank + 2), [*sizes, length])

    def _chunks(self, runs: Size, chunk: Size, length: Size) -> ir.Value:
        """The first places of each chunk of a row: rows by ``runs`` by ``length``."""
        e, rank, loops = self.place, len(self.rows), names(len(self.rows))

        def along(number: ir.Value, first: ir.Value, body: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
            """A loop over the elements of a chunk."""
            begin = arith.muli(number, index_value(chunk))
            end = arith.minsi(arith.addi(begin, index_value(chunk)), index_value(self.size))
            return looped(end, [first], lambda other, found: [body(other, found)], begin)[0]

        def counted(_: ir.Value) -> ir.Value:
            at, mine = self._at(), loop_index(rank)
            b = self.load(at, mine)

            def one(other: ir.Value, before: ir.Value) -> ir.Value:
                a = self.load(at, other)
                first = arith.select(arith.cmpi(Compare.slt, other, mine), _not(self.beats(b, a)), self.beats(a, b))
                return e.add(before, arith.extui(e.type, first))

            return along(arith.divui(mine, index_value(chunk)), e.const(0), one)

        ranks = compute(empty([*self.rows, self.size], e.type), ", ".join([*loops, "i"]), [], counted)

        def found(_: ir.Value) -> ir.Value:
            at, its_rank = self._at(), index_element().cast(loop_index(rank + 1), e)

            def one(other: ir.Value, before: ir.Value) -> ir.Value:
                is_it = e.compare("eq", extract(ranks, [*at, other]), its_rank)
                return arith.select(is_it, index_element().cast(other, e), before)

            return along(loop_index(rank), e.const(ABSENT), one)

        return compute(empty([*self.rows, runs, length], e.type), ", ".join([*loops, "c", "r"]), [], found)

    def _merged(self, runs: ir.Value, number: Size, length: Size, merged: Size, longer: Size, bits: int) -> ir.Value:
        """Each two runs of ``length`` places, of ``number``, as one of ``longer``; ``merged``: how many these are; ``bits``: of ``length``
        at most. Of two runs the first is full; the last one may be alone."""
        e, rank = self.place, len(self.rows)
        zero, one, size = index_value(0), index_value(1), index_value(length)
        last, end = arith.subi(size, one), index_value(number)

        def element(_: ir.Value) -> ir.Value:
            at, left, place = self._at(), arith.muli(loop_index(rank), index_value(2)), loop_index(rank + 1)
            right = arith.addi(left, one)
            is_alone = arith.cmpi(Compare.sge, right, end)
            right = arith.select(is_alone, left, right)

            def pair(first: ir.Value, second: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
                """A place of each run, and whether that of the first one comes before."""
                a, b = extract(runs, [*at, left, arith.minsi(first, last)]), extract(runs, [*at, right, second])
                x, y = (self.load(at, e.cast(e.max(number, e.const(0)), index_element())) for number in (a, b))
                return a, b, arith.ori(e.compare("lt", b, e.const(0)), _not(self.beats(y, x)))

            def further(_: ir.Value, taken: ir.Value, power: ir.Value) -> Sequence[ir.Value]:
                more = arith.addi(taken, power)
                _, _, is_first = pair(arith.subi(more, one), arith.minsi(arith.maxsi(arith.subi(place, more), zero), last))
                taken = arith.select(arith.andi(is_first, arith.cmpi(Compare.sle, more, most)), more, taken)
                return [taken, arith.divui(power, index_value(2))]

            most = arith.minsi(place, size)     # the first run's elements among the first ``place`` of both are found bit by bit
            taken, _ = looped(bits, [arith.maxsi(arith.subi(place, size), zero), index_value(1 << bits - 1)], further)
            taken = arith.select(is_alone, place, taken)
            other = arith.subi(place, taken)
            a, b, is_first = pair(taken, arith.minsi(other, last))
            is_left = arith.ori(is_alone, arith.cmpi(Compare.sge, other, size))
            is_first = arith.andi(arith.cmpi(Compare.slt, taken, size), arith.ori(is_first, is_left))
            return arith.select(is_first, a, arith.select(is_alone, e.const(ABSENT), b))

        return compute(empty([*self.rows, merged, longer], e.type), ", ".join([*names(rank), "c", "r"]), [], element)

    def _at(self) -> list[ir.Value]:
        """In a body: the indices of the row."""
        return [loop_index(axis) for axis in range(len(self.rows))]


def chunk_of(size: int, key: Element) -> int:
    """How many elements of a row are ordered by a block of threads: a power of 2."""
    return min(1 << (size - 1).bit_length(), LONGEST, KEPT // -(-key.bits // 8))


def bisected(size: Size, comes: Callable[[ir.Value], ir.Value], first: ir.Value | None = None) -> ir.Value:
    """In a body: how many of ``size`` elements come before a place, as ``comes`` says of each by its number: no element behind one that
    does not. ``first``: as many are known to."""
    def halved(_: ir.Value, low: ir.Value, high: ir.Value) -> list[ir.Value]:
        middle = arith.divui(arith.addi(low, high), index_value(2))
        before = comes(arith.minsi(middle, arith.subi(index_value(size), index_value(1))))
        more = arith.andi(before, arith.cmpi(Compare.slt, low, high))
        return [arith.select(more, arith.addi(middle, index_value(1)), low), arith.select(before, high, middle)]

    steps = size.bit_length() if isinstance(size, int) else bit_length(size)
    return looped(steps, [index_value(0) if first is None else first, index_value(size)], halved)[0]


def _not(condition: ir.Value) -> ir.Value:
    return arith.xori(condition, arith.ConstantOp(condition.type, True).result)
