"""Rows of topk and of places, which threads share, and the choice of a way when their sizes are known."""
from collections.abc import Callable, Sequence
from math import prod

from legato.core.mlir import arith, ir
from legato.targets.builders.sizes import dims, index
from legato.targets.builders.structured import looped, window
from legato.targets.cpu.channels import shared
from legato.targets.cpu.machine import Machine
from legato.targets.generic.topk import rows

WORTH_IT = 1 << 13      # elements from which on threads pay
ROWS = 4                # of a part, at least
PIECES = 4              # parts for each thread, which takes the next one when it is through

Row = Callable[[ir.Value, list[ir.Value], ir.Value], ir.Value]
Way = Callable[[ir.Value], ir.Value]    # to the places of all rows, from an output that is filled


def each_row(machine: Machine, x: ir.Value, out: ir.Value, axis: int, row: Row, worth_it: int = WORTH_IT) -> ir.Value:
    """``out`` after ``row(x, at, out)`` for the index ``at`` of each row of x along an axis: without the axis. Threads share the rows
    along the longest of the other axes, each with slices of x and ``out``, from so many elements on."""
    others = [a for a in range(x.type.rank) if a != axis]

    def all_rows(x: ir.Value, out: ir.Value) -> ir.Value:
        return rows([dims(x)[a] for a in others], [], out, lambda at, out: row(x, at, out))

    lengths = {a: 1 if x.type.is_dynamic_dim(a) else x.type.shape[a] for a in others}
    longest = max(lengths, key=lambda a: lengths[a], default=None)
    work = prod(size for size in dims(x) if isinstance(size, int))
    if machine.threads < 2 or longest is None or lengths[longest] < ROWS * machine.threads or work < worth_it:
        return all_rows(x, out)
    part = dims(out)
    part[longest] = max(ROWS, -(-lengths[longest] // (PIECES * machine.threads)))

    def some(places: list[ir.Value], into: ir.Value) -> ir.Value:
        sizes = dims(into)
        sizes[axis] = dims(x)[axis]
        return all_rows(window(x, places, sizes), into)

    return shared(out, part, some)


def by_first_that_fits(ways: Sequence[tuple[ir.Value, Way]], otherwise: Way, places: ir.Value) -> ir.Value:
    """The places by the first way whose condition, an i1, holds.

    Loops of one step or none, one behind the other: a branch whose two sides write one tensor in place is not bufferized.
    """
    left = index(1)
    for fits, way in ways:
        here = arith.minui(left, arith.index_castui(ir.IndexType.get(), fits))
        places = looped(here, [places], lambda _, places, way=way: [way(places)])[0]
        left = arith.subi(left, here)
    return looped(left, [places], lambda _, places: [otherwise(places)])[0]
