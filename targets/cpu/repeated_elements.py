"""Each element of a last axis several times, as a resize of images of free sizes to nearest elements has them: vectors are shuffled."""
from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, vector
from legato.dialects.relax import dims as relax_dims
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import dims, index, plus, quotient, times
from legato.targets.builders.structured import collapse, expand, is_empty, looped
from legato.targets.builders.vectors import read_vector, write_vector
from legato.targets.cpu.machine import Machine
from legato.targets.generic.scatter import loop_nest
from legato.targets.rule import kernel

MOST = 4    # times


@kernel("relax.broadcast_to", priority=1)
def repeated_elements(k, x, out):
    """Of a last axis of 1, and what is in front of it as it is, for a reshape alone: others read it where it is."""
    kind, rank, count = element(k.input_types[0]), x.type.rank, out.type.shape[-1]
    given, wanted = (relax_dims.dims(type_) for type_ in (k.input_types[0], k.output_types[0]))
    if not isinstance(k.machine, Machine) or kind.is_narrow or kind.is_bool or is_empty(out) or not k.machine.masks(kind.bits):
        return Refusal("its elements are not read in vectors")
    if rank < 2 or x.type.shape[-1] != 1 or not 2 <= count <= MOST or given[:-1] != wanted[:-1]:
        return Refusal(f"it does not repeat single elements up to {MOST} times")
    if any(use.owner.name != "relax.reshape" for use in k.op.operation.results[0].uses):
        return Refusal("it is not for a reshape alone")
    k.writes_all()
    lanes, ends = k.machine.lanes(kind.bits), [rank - 2, rank - 1]
    groups = [*([axis] for axis in range(rank - 2)), ends]
    rows, flat = collapse(x, groups), collapse(out, groups)

    *outer, length = dims(rows)

    def repeated(at: list[ir.Value], number: ir.Value, into: ir.Value, inside: bool) -> ir.Value:
        first = arith.muli(number, index(lanes))
        found = read_vector(rows, [*at, first], lanes, kind.const(0), inside)
        for part in range(count):
            some = vector.ShuffleOp(found, found, [(part * lanes + lane) // count for lane in range(lanes)]).result
            into = write_vector(some, into, [*at, index(plus(times(first, count), part * lanes))], inside)
        return into

    def row(at: list[ir.Value], into: ir.Value) -> ir.Value:
        whole, all_ = quotient(length, lanes), quotient(plus(length, lanes - 1), lanes)
        into = looped(whole, [into], lambda number, into: [repeated(at, number, into, True)])[0]
        return looped(all_, [into], lambda number, into: [repeated(at, number, into, False)], whole)[0]

    return expand(loop_nest(outer, flat, row), groups, dims(out))


RULES = (repeated_elements,)
