"""argmax and argmin along the last axis: each lane of a long vector keeps the best of its elements; at the end the lanes are compared.

The last vector of a row overlaps the one before it, if the row is no multiple of vectors: what is compared twice has one index.
"""
from collections.abc import Sequence

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, tensor, vector
from legato.core.vector_loops import part
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import dims
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import looped
from legato.targets.builders.vectors import read_vector
from legato.targets.cpu.dot_products import splat_of
from legato.targets.cpu.machine import Machine
from legato.targets.generic.topk import rows
from legato.targets.rule import kernel

REGISTERS = 4   # of a vector: comparisons that do not wait for each other
FEWEST = 4      # lanes
I32 = 32


@kernel("relax.argmax", "relax.argmin")
def arg_reduction(k, x, out):
    """Of f32 and integers of 32 bits. NaN beats every number, as in numpy."""
    axis, size = k.attrs["axis"] % x.type.rank, x.type.shape[-1]
    kind, position = element(k.input_types[0]), element(k.output_types[0])
    if not isinstance(k.machine, Machine) or kind.wide != kind or kind.bits != I32:
        return Refusal("its elements are not of 32 bits")
    if axis != x.type.rank - 1 or not FEWEST <= size < 1 << 31:
        return Refusal(f"it is not along rows of a known size, from {FEWEST} to 2**31 elements")
    lanes = min(REGISTERS * k.machine.lanes(I32), 1 << size.bit_length() - 1)
    order = _Contest(kind, k.name == "relax.argmax", k.attrs["select_last"])
    i32 = ir.IntegerType.get_signless(I32)
    of_elements, of_places = ir.VectorType.get([lanes], kind.type), ir.VectorType.get([lanes], i32)

    def row(at: list[ir.Value], result: ir.Value) -> ir.Value:
        def after(first: ir.Value, best: ir.Value, places: ir.Value, here: ir.Value) -> tuple[ir.Value, ir.Value]:
            values = read_vector(x, [*at, first], lanes, kind.const(0))
            wins = order.replaces(values, best)
            return arith.select(wins, values, best), arith.select(wins, here, places)

        def step(number: ir.Value, best: ir.Value, places: ir.Value, here: ir.Value) -> Sequence[ir.Value]:
            return [*after(arith.muli(number, index_value(lanes)), best, places, here), arith.addi(here, splat_of(of_places, lanes))]

        start = vector.BroadcastOp(of_elements, kind.const(order.worst)).result
        counted = arith.ConstantOp(of_places, ir.DenseElementsAttr.get(
            [ir.IntegerAttr.get(i32, lane) for lane in range(lanes)], of_places)).result
        best, places, _ = looped(size // lanes, [start, splat_of(of_places, 0), counted], step)
        if size % lanes:
            best, places = after(index_value(size - lanes), best, places, arith.addi(counted, splat_of(of_places, size - lanes)))
        _, place = order.of_lanes(best, places)
        there = [*at, *([index_value(0)] if out.type.rank == x.type.rank else [])]
        return tensor.InsertOp(Element(i32).cast(place, position), result, there).result

    k.writes_all()
    return rows(dims(x)[:-1], [], out, row)


class _Contest:
    """What beats what; a NaN beats every number."""

    def __init__(self, kind: Element, is_max: bool, select_last: bool) -> None:
        self.kind, self.is_max, self.select_last = kind, is_max, select_last
        self.worst = kind.lowest if is_max else kind.highest

    def replaces(self, value: ir.Value, best: ir.Value) -> ir.Value:
        """Whether an element replaces the best one before it."""
        return self._beats(value, best, self.select_last)

    def of_lanes(self, best: ir.Value, places: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The best element of a vector's lanes, and its index."""
        while (lanes := best.type.shape[0]) > 1:
            (a, b), (at_a, at_b) = ([part(v, at, lanes // 2) for at in (0, lanes // 2)] for v in (best, places))
            later = arith.CmpIPredicate.sgt if self.select_last else arith.CmpIPredicate.slt
            equal = arith.andi(arith.cmpi(later, at_b, at_a), self._not(self._beats(a, b, False)))
            wins = arith.ori(self._beats(b, a, False), equal)
            best, places = arith.select(wins, b, a), arith.select(wins, at_b, at_a)
        return vector.ExtractOp(best, [], [0]).result, vector.ExtractOp(places, [], [0]).result

    def _beats(self, a: ir.Value, b: ir.Value, or_equals: bool) -> ir.Value:
        if not self.kind.is_float:
            sign = "u" if self.kind.is_unsigned else "s"
            return arith.cmpi(arith.CmpIPredicate[f"{sign}{'g' if self.is_max else 'l'}{'e' if or_equals else 't'}"], a, b)
        predicate = arith.CmpFPredicate
        beyond = predicate[f"U{'G' if self.is_max else 'L'}{'E' if or_equals else 'T'}"]
        found = arith.andi(arith.cmpf(beyond, a, b), arith.cmpf(predicate.ORD, b, b))     # a NaN is beyond
        return arith.ori(found, arith.cmpf(predicate.UNO, a, a)) if or_equals else found

    @staticmethod
    def _not(condition: ir.Value) -> ir.Value:
        return arith.xori(condition, splat_of(condition.type, -1))


RULES = arg_reduction
