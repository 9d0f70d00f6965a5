"""Each element of a last axis several times, and each row, as resizes of images to nearest elements have them: vectors are shuffled.

A vector is read once, and written to each of the rows. The last one of a row overlaps the one before it, where rows are as long as a
vector: writing under a mask is slow on CPUs without AVX-512.
"""
from dataclasses import dataclass
from math import prod

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, vector
from legato.dialects.relax import dims as relax_dims
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import Size, dim, dims, index, largest, minus, plus, quotient, smallest, times
from legato.targets.builders.structured import collapse, expand, is_empty, looped
from legato.targets.builders.vectors import read_vector, write_vector
from legato.targets.cpu.channels import shared
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.take_in_vectors import FEWEST, PIECES, WORTH_IT
from legato.targets.rule import kernel

MOST = 4    # times


@kernel("relax.broadcast_to", priority=1)
def repeated_elements(k, x, out):
    """Of a last axis of 1, and one of 1 behind the rows, for a reshape alone: others read it where it is."""
    kind, rank = element(k.input_types[0]), x.type.rank
    given, wanted = ([*relax_dims.dims(type_)] for type_ in (k.input_types[0], k.output_types[0]))
    if not isinstance(k.machine, Machine) or kind.is_narrow or kind.is_bool or is_empty(out):
        return Refusal("its elements are not read in vectors")
    if rank < 2 or given[-1] != 1 or not _few(wanted[-1]):
        return Refusal(f"it does not repeat single elements up to {MOST} times")
    above = [rank - 3] if rank > 3 and given[-3] == 1 and _few(wanted[-3]) else []
    if any(given[axis] != wanted[axis] for axis in range(rank - 1) if axis not in above):
        return Refusal("it repeats along other axes")
    if any(use.owner.name != "relax.reshape" for use in k.op.operation.results[0].uses):
        return Refusal("it is not for a reshape alone")
    length, lanes = dim(x, rank - 2), k.machine.lanes(kind.bits)
    if isinstance(length, int):
        lanes = min(lanes, 1 << length.bit_length() - 1)
    elif not k.machine.masks(kind.bits):
        return Refusal("parts of vectors are not written")
    if lanes < FEWEST:
        return Refusal("its rows are shorter than vectors")
    k.writes_all()
    outer, ends = [axis for axis in range(rank - 2) if axis not in above], [rank - 2, rank - 1]
    groups = [group for group in (outer, above, ends) if group]
    rows, flat = collapse(x, [group for group in ([*outer, *above], ends) if group]), collapse(out, groups)
    repeats = RepeatedElements(k.machine, kind, rows, length, wanted[-1], wanted[-3] if above else None)
    if outer:
        flat = repeats.all_rows(lanes, flat)
    else:
        flat = repeats.row(lanes if isinstance(length, int) else FEWEST, [], [], flat)
    return expand(flat, groups, dims(out))


def _few(size: relax_dims.Size) -> bool:
    return isinstance(size, int) and 2 <= size <= MOST


@dataclass(frozen=True)
class RepeatedElements:
    """Rows with each element of those of ``x`` several ``times``, each row ``copies`` times along an axis; None: without one."""

    machine: Machine
    kind: Element
    x: ir.Value
    length: Size
    times: int
    copies: int | None

    def all_rows(self, lanes: int, flat: ir.Value) -> ir.Value:
        """``flat`` with all rows, in parts for threads where that pays."""
        count, *others = dims(flat)
        known = [size for size in (count, *others) if isinstance(size, int)]
        if self.machine.threads < 2 or (len(known) == flat.type.rank and prod(known) < WORTH_IT):
            return self.some_rows(lanes, index(0), flat)
        part = quotient(plus(count, PIECES * self.machine.threads - 1), PIECES * self.machine.threads)
        parts = [size if isinstance(size, int) else largest(size, 1) for size in (part, *others)]
        return shared(flat, parts, lambda places, into: self.some_rows(lanes, places[0], into))

    def some_rows(self, lanes: int, first: ir.Value, flat: ir.Value) -> ir.Value:
        """``flat`` with its rows, of which the first is the one at ``first``: by vectors, or if they are shorter, which only the call
        knows, by vectors of fewer lanes. There is a loop for each; a branch would copy what it writes to."""
        def rows(count: Size, lanes: int, flat: ir.Value) -> ir.Value:
            return looped(count, [flat], lambda at, into: [self.row(lanes, [arith.addi(first, at)], [at], into)])[0]

        count = dim(flat, 0)
        if isinstance(self.length, int):
            return rows(count, lanes, flat)
        is_long = arith.cmpi(arith.CmpIPredicate.uge, self.length, index(lanes))
        flat = rows(arith.select(is_long, index(count), index(0)), lanes, flat)
        return rows(arith.select(is_long, index(0), index(count)), FEWEST, flat)

    def row(self, lanes: int, source: list[ir.Value], target: list[ir.Value], into: ir.Value) -> ir.Value:
        """``into`` with one row: whole vectors, the last of which ends with it, or a single one of which it has a part."""
        last = minus(self.length, lanes)
        many = quotient(plus(self.length, lanes - 1), lanes)

        def whole(number: ir.Value, into: ir.Value) -> list[ir.Value]:
            return [self.vector(index(smallest(times(number, lanes), last)), lanes, True, source, target, into)]

        def part(number: ir.Value, into: ir.Value) -> list[ir.Value]:
            return [self.vector(arith.muli(number, index(lanes)), lanes, False, source, target, into)]

        if isinstance(self.length, int) or lanes > FEWEST:
            return looped(many, [into], whole)[0]
        return looped(many, [into], part)[0]

    def vector(self, first: ir.Value, lanes: int, inside: bool, source: list[ir.Value], target: list[ir.Value],
               into: ir.Value) -> ir.Value:
        """``into`` with the elements from one on that a vector holds; all of them are ``inside`` the row, or some are."""
        found = read_vector(self.x, [*source, first], lanes, self.kind.const(0), inside)
        for number in range(self.times):
            order = [(number * lanes + lane) // self.times for lane in range(lanes)]
            some, place = vector.ShuffleOp(found, found, order).result, index(plus(times(first, self.times), number * lanes))
            for copy in [[index(copy)] for copy in range(self.copies)] if self.copies else [[]]:
                into = write_vector(some, into, [*target, *copy, place], inside)
        return into


RULES = (repeated_elements,)
