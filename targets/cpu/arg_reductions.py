"""argmax and argmin along the last axis: each lane of a long vector keeps the best of its elements; at the end the first of the best lanes
is found. Threads share the rows.

The last vector of a row overlaps the one before it, if the row is no multiple of vectors: what is compared twice has one index. Of a row
whose size only the call knows, it is read under a mask, and short ones of such a size are compared by vectors across rows.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, scf, tensor, vector
from legato.targets.builders.element import Element, boolean
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import Size, dims, plus, quotient
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import collapse, expand, looped
from legato.targets.builders.vectors import read_vector, write_vector
from legato.targets.cpu.dot_products import splat_of
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.topk_rows import by_first_that_fits, each_row
from legato.targets.rule import kernel

REGISTERS = 4   # of a vector: comparisons that do not wait for each other
FEWEST = 4      # lanes
I32 = 32
WORTH_IT = 1 << 16  # elements from which on threads pay
LIMIT = 1 << 31     # elements of a row whose places fit
SHORT = 32          # elements of a row, of a number that only the call knows, from which on vectors go along it


@kernel("relax.argmax", "relax.argmin")
def arg_reduction(k, x, out):
    """Of f32 and integers of 32 bits. NaN beats every number, as in numpy."""
    axis, size = k.attrs["axis"] % x.type.rank, dims(x)[-1]
    kind, position = element(k.input_types[0]), element(k.output_types[0])
    if not isinstance(k.machine, Machine) or kind.wide != kind or kind.bits != I32:
        return Refusal("its elements are not of 32 bits")
    if axis != x.type.rank - 1 or (isinstance(size, int) and not FEWEST <= size < LIMIT):
        return Refusal(f"it is not along rows of {FEWEST} to 2**31 elements")
    order = _Contest(kind, k.name == "relax.argmax", k.attrs["select_last"])
    lanes = REGISTERS * k.machine.lanes(I32)

    def row(x: ir.Value, at: list[ir.Value], result: ir.Value) -> ir.Value:
        return tensor.InsertOp(place(x, at), result, [*at, index_value(0)]).result

    def place(x: ir.Value, at: list[ir.Value]) -> ir.Value:
        if isinstance(size, int):
            return position_of(_LineUp(x, at, size, min(lanes, 1 << size.bit_length() - 1), I32))
        short = arith.cmpi(arith.CmpIPredicate.slt, size, index_value(LIMIT))
        either = scf.IfOp(short, [position.type], has_else=True)
        for block, made in ((either.then_block, _LineUp(x, at, size, lanes, I32)), (either.else_block, _LineUp(x, at, size, 1, 2 * I32))):
            with ir.InsertionPoint(block):
                scf.YieldOp([position_of(made)])
        return either.results[0]

    def position_of(made: _LineUp) -> ir.Value:
        return Element(ir.IntegerType.get_signless(made.bits)).cast(made.best_place(order), position)

    def all_rows(out: ir.Value) -> ir.Value:
        if out.type.rank == x.type.rank:
            return each_row(k.machine, x, out, axis, row, WORTH_IT)
        axes = [[at] for at in range(axis)]
        axes[-1:] = [[*last, axis] for last in axes[-1:]]
        return collapse(each_row(k.machine, x, expand(out, axes, [*dims(x)[:-1], 1]), axis, row, WORTH_IT), axes)

    k.writes_all()
    if isinstance(size, int) or x.type.rank == 1 or not k.machine.masks(I32):
        return all_rows(out)
    is_short = arith.cmpi(arith.CmpIPredicate.slt, size, index_value(SHORT))
    return by_first_that_fits([(is_short, lambda out: _rows_in_lanes(x, out, order, k.machine.lanes(I32)))], all_rows, out)


def _rows_in_lanes(x: ir.Value, out: ir.Value, order: _Contest, lanes: int) -> ir.Value:
    """Short rows, as many at once as a vector has lanes: their elements are gathered, one of each row after the other."""
    elements, places = (collapse(value, [list(range(value.type.rank))]) for value in (x, out))
    size, count, i32 = dims(x)[-1], dims(places)[0], ir.IntegerType.get_signless(I32)
    of_elements, of_places = ir.VectorType.get([lanes], order.kind.type), ir.VectorType.get([lanes], i32)
    starts = arith.muli(counted(of_places), vector.BroadcastOp(of_places, arith.index_cast(i32, size)).result)
    worst = vector.BroadcastOp(of_elements, order.kind.const(order.worst)).result

    def block(number: ir.Value, places: ir.Value) -> list[ir.Value]:
        row = arith.muli(number, index_value(lanes))
        first = arith.muli(row, size)
        inside = vector.CreateMaskOp(ir.VectorType.get([lanes], boolean().type), [arith.subi(index_value(count), row)]).result

        def step(at: ir.Value, best: ir.Value, found: ir.Value) -> list[ir.Value]:
            values = vector.GatherOp(of_elements, elements, [arith.addi(first, at)], starts, inside, worst).result
            wins = order.replaces(values, best)
            return [arith.select(wins, values, best),
                    arith.select(wins, vector.BroadcastOp(of_places, arith.index_cast(i32, at)).result, found)]

        found = looped(size, [worst, splat_of(of_places, 0)], step)[1]
        wanted = ir.VectorType.get([lanes], places.type.element_type)
        found = found if wanted == of_places else arith.extsi(wanted, found)
        return [write_vector(found, places, [row], inside=False)]

    made = looped(quotient(plus(count, lanes - 1), lanes), [places], block)[0]
    return expand(made, [list(range(out.type.rank))], dims(out))


@dataclass(frozen=True)
class _LineUp:
    """A row of ``size`` elements of a tensor, at these indices, of which so many ``lanes`` are compared at once; ``bits``: of places."""

    x: ir.Value
    at: list[ir.Value]
    size: Size
    lanes: int
    bits: int

    def best_place(self, order: _Contest) -> ir.Value:
        """The place of the element that beats all others."""
        size, lanes = self.size, self.lanes
        integer = ir.IntegerType.get_signless(self.bits)
        of_elements, of_places = ir.VectorType.get([lanes], order.kind.type), ir.VectorType.get([lanes], integer)

        def after(first: ir.Value, best: ir.Value, places: ir.Value, here: ir.Value, beyond: ir.Value | None = None) -> list[ir.Value]:
            values = read_vector(self.x, [*self.at, first], lanes, order.kind.const(order.worst), beyond is None)
            wins = order.replaces(values, best)
            wins = wins if beyond is None else arith.andi(wins, beyond)
            return [arith.select(wins, values, best), arith.select(wins, here, places)]

        def step(number: ir.Value, best: ir.Value, places: ir.Value, here: ir.Value) -> Sequence[ir.Value]:
            return [*after(arith.muli(number, index_value(lanes)), best, places, here), arith.addi(here, splat_of(of_places, lanes))]

        start = vector.BroadcastOp(of_elements, order.kind.const(order.worst)).result
        numbers = counted(of_places)
        best, places, here = looped(quotient(size, lanes), [start, splat_of(of_places, 0), numbers], step)
        if not isinstance(size, int):    # the last lanes may lie behind the row's end
            end = vector.BroadcastOp(of_places, arith.index_cast(integer, size)).result
            first = arith.muli(quotient(size, lanes), index_value(lanes))
            best, places = after(first, best, places, here, arith.cmpi(arith.CmpIPredicate.slt, here, end))
        elif size % lanes:
            best, places = after(index_value(size - lanes), best, places, arith.addi(numbers, splat_of(of_places, size - lanes)))
        return order.place_of_best(best, places)


def counted(type_: ir.VectorType) -> ir.Value:
    """A vector of the numbers of its lanes."""
    numbers = [ir.IntegerAttr.get(type_.element_type, lane) for lane in range(type_.shape[0])]
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get(numbers, type_)).result


class _Contest:
    """What beats what; a NaN beats every number."""

    def __init__(self, kind: Element, is_max: bool, select_last: bool) -> None:
        self.kind, self.is_max, self.select_last = kind, is_max, select_last
        self.worst = kind.lowest if is_max else kind.highest

    def replaces(self, value: ir.Value, best: ir.Value) -> ir.Value:
        """Whether an element replaces the best one before it."""
        return self._beats(value, best, self.select_last)

    def place_of_best(self, elements: ir.Value, places: ir.Value) -> ir.Value:
        """The first, or last, of the places of the best element among a vector's lanes."""
        numbers, unordered = elements, None
        if self.kind.is_float:
            unordered = arith.cmpf(arith.CmpFPredicate.UNO, elements, elements)
            numbers = arith.select(unordered, vector.BroadcastOp(elements.type, self.kind.const(self.worst)).result, elements)
        sign = "f" if self.kind.is_float else "ui" if self.kind.is_unsigned else "si"
        best = reduced(f"{'max' if self.is_max else 'min'}{'num' if sign == 'f' else ''}{sign}", numbers)
        everywhere = vector.BroadcastOp(elements.type, best).result
        if unordered is None:
            wins = arith.cmpi(arith.CmpIPredicate.eq, elements, everywhere)
        else:
            equal = arith.cmpf(arith.CmpFPredicate.OEQ, elements, everywhere)
            wins = arith.select(reduced("or", unordered), unordered, equal)
        last = self.select_last
        others = -1 if last else (1 << places.type.element_type.width - 1) - 1
        return reduced("maxsi" if last else "minsi", arith.select(wins, places, splat_of(places.type, others)))

    def _beats(self, a: ir.Value, b: ir.Value, or_equals: bool) -> ir.Value:
        if not self.kind.is_float:
            sign = "u" if self.kind.is_unsigned else "s"
            return arith.cmpi(arith.CmpIPredicate[f"{sign}{'g' if self.is_max else 'l'}{'e' if or_equals else 't'}"], a, b)
        predicate = arith.CmpFPredicate
        beyond = predicate[f"U{'G' if self.is_max else 'L'}{'E' if or_equals else 'T'}"]
        found = arith.andi(arith.cmpf(beyond, a, b), arith.cmpf(predicate.ORD, b, b))     # a NaN is beyond
        return arith.ori(found, arith.cmpf(predicate.UNO, a, a)) if or_equals else found


def reduced(kind: str, lanes: ir.Value) -> ir.Value:
    """The reduction of a vector's lanes, none of which is a NaN, to one."""
    fast = {"fastmath": arith.FastMathFlags.nnan} if isinstance(lanes.type.element_type, ir.FloatType) else {}
    return vector.ReductionOp(lanes.type.element_type, ir.Attribute.parse(f"#vector.kind<{kind}>"), lanes, **fast).result


RULES = arg_reduction
