"""topk where only the call knows a row's length, or how many elements are wanted: rows are sorted, as ``topk_by_sorting`` does, where a
good part of them is wanted. Of others, and of rows whose indices do not fit 32 bits, the best are kept in heaps."""
from legato.core.errors import Refusal
from legato.core.mlir import arith, ir
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import Size, dims, largest, minus, smallest, times
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import filled, is_empty, looped
from legato.targets.cpu.keys import MOST, Keys
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.topk_by_sorting import FEWEST, KeyRow
from legato.targets.cpu.topk_rows import each_row
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
    if isinstance(count, int) and (isinstance(size, int) or count < FEWEST):
        return Refusal(f"its numbers are known, or fewer than {FEWEST} elements are wanted")
    if is_empty(out):
        return out
    wanted: Size = count if isinstance(count, int) else k.index(count)
    lanes, order = k.machine.lanes(64), Keys(kind, k.attrs["largest"])

    def one(x: ir.Value, at: list[ir.Value], places: ir.Value) -> ir.Value:
        row = KeyRow(kind, order, x, axis, lanes)
        return row.written(row.sorted(at), places, at, wanted)

    most = smallest(times(largest(wanted, lanes), PART), MOST)
    sorts = arith.cmpi(arith.CmpIPredicate.sle, index_value(size), index_value(most))
    how_often = arith.index_castui(ir.IndexType.get(), sorts)
    # loops of one step or none, one behind the other: a branch whose two sides write one tensor in place is not bufferized
    places = filled(out, element(k.output_types[0]).const(-1))
    places = looped(how_often, [places], lambda _, places: [each_row(k.machine, x, places, axis, one)])[0]
    return looped(minus(1, how_often), [places], lambda _, places: [by_heaps(k, x, places)])[0]


RULES = (topk_of_any_length,)
