"""topk of a few elements along an axis other than the last: lanes of vectors are columns, whose best elements so far are in registers.

A new element goes behind those that it does not beat, and moves the others on by one: a maximum, a minimum, and selections of indices for
each that is kept, without branches. The last vector of a row overlaps the one before it, if the row is no multiple of vectors; it is masked
if only the call knows how wide rows are.
"""
from collections.abc import Callable, Sequence

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, scf
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import Size, dims, minus, plus, product, quotient
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import collapse, expand, filled, is_empty, looped
from legato.targets.builders.vectors import read_vector, write_vector
from legato.targets.cpu.arg_reductions import I32, LIMIT
from legato.targets.cpu.channels import shared
from legato.targets.cpu.keys import Keys, constant
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.topk_rows import by_first_that_fits
from legato.targets.generic.topk import by_heaps, rows
from legato.targets.rule import kernel

MOST = 16           # elements that are kept: with their indices, all registers of AVX-512
FEWEST = 4          # lanes
WORTH_IT = 1 << 14  # steps of lanes, from which on threads share them


@kernel("relax.topk", priority=5)
def topk_in_columns(k, x, out):
    """Of elements of up to 32 bits. Columns of which only the call knows that they are fewer than vectors pay for are in heaps."""
    axis, count, kind, place = k.attrs["axis"] % x.type.rank, k.attrs["k"], element(k.input_types[0]), element(k.output_types[0])
    size, width = dims(x)[axis], product(dims(x)[axis + 1:])
    if not isinstance(k.machine, Machine) or kind.wide.bits > 32 or kind.is_narrow or kind.is_bool:
        return Refusal("its elements are not read in vectors, or do not fit 32 bits")
    if (isinstance(width, int) and width < FEWEST) or (isinstance(size, int) and size >= LIMIT):
        return Refusal(f"it is not along columns, {FEWEST} at least, with less than 2**31 elements")
    lanes = min(k.machine.lanes(32), 1 << width.bit_length() - 1) if isinstance(width, int) else k.machine.lanes(32)
    if not isinstance(count, int) or not 0 < count <= min(MOST, 2 * lanes, size if isinstance(size, int) else MOST) or is_empty(out):
        return Refusal(f"not 1 to {MOST} elements are wanted, or a heap passes over columns as fast")
    groups = [list(range(axis))] * bool(axis) + [[axis], list(range(axis + 1, x.type.rank))]
    image, overlaps = collapse(x, groups), isinstance(width, int)

    def best(at: Callable[[ir.Value], Sequence[ir.Value]]) -> list[ir.Value]:
        """The indices of the best elements of some columns."""
        short, long = (_Best(kind, k.attrs["largest"], count, lanes, bits, overlaps) for bits in (I32, 2 * I32))
        if isinstance(size, int):
            return short.of(image, at, size, place)
        either = scf.IfOp(arith.cmpi(arith.CmpIPredicate.slt, size, index_value(LIMIT)), [ir.VectorType.get([lanes], place.type)] * count,
                          has_else=True)
        for block, made in ((either.then_block, short), (either.else_block, long)):
            with ir.InsertionPoint(block):
                scf.YieldOp(made.of(image, at, size, place))
        return list(either.results)

    def columns(into: ir.Value, first: Sequence[ir.Value]) -> ir.Value:
        """``into``, the slice of the output that begins at these places before the axis."""
        def block(at: list[ir.Value], into: ir.Value) -> ir.Value:
            *outer, number = at
            here = [arith.addi(a, b) for a, b in zip(first, outer, strict=True)]
            column = arith.muli(number, index_value(lanes))
            if overlaps:
                column = arith.minui(column, index_value(minus(width, lanes)))
            for slot, indices in enumerate(best(lambda row: [*here, row, column])):
                into = write_vector(indices, into, [*outer, index_value(slot), column], overlaps)
            return into

        return rows([*dims(into)[:-2], quotient(plus(width, lanes - 1), lanes)], [], into, block)

    def all_columns(out: ir.Value) -> ir.Value:
        flat = collapse(out, groups)
        threads, outer = k.machine.threads, dims(flat)[:-2]
        steps = count * (width if overlaps else lanes) * (size if isinstance(size, int) else WORTH_IT)
        if threads > 1 and outer and isinstance(outer[0], int) and outer[0] >= threads and outer[0] * steps >= WORTH_IT:
            flat = shared(flat, [-(-outer[0] // threads), count, width], lambda places, into: columns(into, places[:1]))
        else:
            flat = columns(flat, [index_value(0)] * len(outer))
        return expand(flat, groups, dims(out))

    if overlaps:
        k.writes_all()
        return all_columns(out)
    pays = arith.cmpi(arith.CmpIPredicate.uge, width, index_value(FEWEST))
    return by_first_that_fits([(pays, all_columns)], lambda places: by_heaps(k, x, places), filled(out, place.const(-1)))


class _Best:
    """The indices of the ``count`` best elements of columns in ``lanes``, as integers of ``bits``. ``inside``: all lanes are columns."""

    def __init__(self, kind: Element, largest: bool, count: int, lanes: int, bits: int, inside: bool) -> None:
        self.kind, self.keys, self.count, self.lanes, self.bits, self.inside = kind, Keys(kind, largest), count, lanes, bits, inside
        self.type = ir.VectorType.get([lanes], ir.IntegerType.get_signless(bits))

    def of(self, x: ir.Value, at: Callable[[ir.Value], Sequence[ir.Value]], size: Size, place: Element) -> list[ir.Value]:
        """Vectors of indices, as elements of ``place``, the best first. ``at``: the place of a row's element in the first lane, by the
        number of the row."""
        ranks: list[ir.Value] = []
        places: list[ir.Value] = []
        for number in range(self.count):
            ranks, places = self._inserted(ranks, places, self._ranks(x, at(index_value(number))), constant(self.type, number))

        def step(row: ir.Value, here: ir.Value, *kept: ir.Value) -> Sequence[ir.Value]:
            values = self._ranks(x, at(row))
            ranks, places = self._inserted(list(kept[:self.count]), list(kept[self.count:]), values, here)
            return [arith.addi(here, constant(self.type, 1)), *ranks[:self.count], *places[:self.count]]

        found = looped(size, [constant(self.type, self.count), *ranks, *places], step, self.count)
        wanted = ir.VectorType.get([self.lanes], place.type)
        change = {-1: arith.extsi, 1: arith.trunci}.get((self.bits > place.bits) - (self.bits < place.bits))
        return [change(wanted, one) if change else one for one in found[1 + self.count:]]

    def _ranks(self, x: ir.Value, at: Sequence[ir.Value]) -> ir.Value:
        values = read_vector(x, at, self.lanes, self.kind.const(0), self.inside)
        return self.keys.rank(values)

    @staticmethod
    def _inserted(ranks: list[ir.Value], places: list[ir.Value], rank: ir.Value,
                  place: ir.Value) -> tuple[list[ir.Value], list[ir.Value]]:
        """Ranks and places, in order, with those of one more element, which comes behind equal ones."""
        beats = [arith.cmpi(arith.CmpIPredicate.sgt, rank, other) for other in ranks]
        moved = [rank, *(arith.minsi(other, rank) for other in ranks)]     # what comes to a slot if it does not stay there
        moved_places = [place, *(arith.select(beat, other, place) for beat, other in zip(beats, places, strict=True))]
        stay = [arith.maxsi(other, mine) for other, mine in zip(ranks, moved)]
        stay_places = [arith.select(beat, mine, other) for beat, mine, other in zip(beats, moved_places, places)]
        return [*stay, moved[-1]], [*stay_places, moved_places[-1]]


RULES = (topk_in_columns,)
