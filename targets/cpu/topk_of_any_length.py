"""topk where only the call knows a row's length, or how many elements are wanted.

The best are in registers, as ``topk_in_registers`` has them, if they are few, in a known number. Rows of which a good part is wanted are
sorted, as ``topk_by_sorting`` does; of longer ones the best are gathered and sorted, if their number is known. Of others, and of rows whose
indices do not fit 32 bits, they are kept in heaps.
"""
from legato.core.errors import Refusal
from legato.core.mlir import arith, ir
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import Size, dims, largest, smallest, times
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import filled, is_empty
from legato.targets.cpu.keys import MOST, Keys, in_vectors
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.topk_by_sorting import FEWEST, KeyRow
from legato.targets.cpu.topk_in_registers import VECTORS, BestOfRow
from legato.targets.cpu.topk_rows import Row, Way, by_first_that_fits, each_row
from legato.targets.cpu.vectorizer import next_power_of_two
from legato.targets.generic.topk import by_heaps
from legato.targets.rule import kernel

PART = 4    # of a row, its inverse, from which on it is sorted


@kernel("relax.topk", priority=4)
def topk_of_any_length(k, x, out):
    """Of elements of up to 32 bits."""
    axis, kind = k.attrs["axis"] % x.type.rank, element(k.input_types[0])
    size, count = dims(x)[axis], k.attrs["k"]
    if not isinstance(k.machine, Machine) or kind.wide.bits > 32:
        return Refusal("an element and its index do not fit 64 bits")
    if isinstance(count, int) and (isinstance(size, int) or count < 1):
        return Refusal("its numbers are known, or no elements are wanted")
    lanes, order = k.machine.lanes(64), Keys(kind, k.attrs["largest"])
    in_registers = isinstance(count, int) and count <= VECTORS * lanes and in_vectors(kind) and axis == x.type.rank - 1
    if isinstance(count, int) and count < FEWEST and not in_registers:
        return Refusal(f"fewer than {FEWEST} elements are wanted, not of vectors along the last axis")
    if is_empty(out):
        return out
    wanted: Size = count if isinstance(count, int) else k.index(count)

    def sorted_row(x: ir.Value, at: list[ir.Value], places: ir.Value) -> ir.Value:
        row = KeyRow(kind, order, x, axis, lanes)
        return row.written(row.sorted(at), places, at, wanted)

    def selected_row(x: ir.Value, at: list[ir.Value], places: ir.Value) -> ir.Value:
        row = KeyRow(kind, order, x, axis, lanes)
        return row.written(row.selected(at, count), places, at, wanted)

    def all_rows(row: Row) -> Way:
        return lambda places: each_row(k.machine, x, places, axis, row)

    sorts, most = all_rows(sorted_row), times(largest(next_power_of_two(count) if isinstance(count, int) else wanted, lanes), PART)
    ways: list[tuple[Size, Way]]    # each for rows of up to so many elements
    if in_registers:
        ways = [(MOST, all_rows(BestOfRow(kind, k.attrs["largest"], lanes, count).written))]
    elif isinstance(count, int):
        ways = [(most, sorts), (MOST, all_rows(selected_row))]
    else:
        ways = [(smallest(most, MOST), sorts)]
    fitting = [(arith.cmpi(arith.CmpIPredicate.sle, index_value(size), index_value(limit)), way) for limit, way in ways]
    return by_first_that_fits(fitting, lambda places: by_heaps(k, x, places), filled(out, element(k.output_types[0]).const(-1)))


RULES = (topk_of_any_length,)
