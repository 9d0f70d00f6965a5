"""pad by a constant: one kernel, which writes each element once."""
from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, scf
from legato.targets.builders.element import index
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import dim
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import compute, extract, is_empty, loop_index, names
from legato.targets.generic.movement import memory_of
from legato.targets.rule import kernel


@kernel("relax.pad", priority=1)
def constant_pad(k, x, out):
    """The element of the input, or the constant where there is none. Where all padded axes are known to have elements, the nearest one is
    read there: without a branch, neighbours are moved together."""
    pads, rank = k.attrs["pads"], x.type.rank
    if k.attrs["mode"] != "constant" or is_empty(x) or is_empty(out):
        return Refusal("it has another mode, or there is nothing in it")
    e = memory_of(element(k.input_types[0]), x)
    is_known = not any(x.type.is_dynamic_dim(axis) for axis in range(rank) if pads[axis] or pads[rank + axis])

    def pick(_) -> ir.Value:
        places, tests = [loop_index(axis) for axis in range(rank)], []
        for axis in range(rank):
            low, high = pads[axis], pads[rank + axis]
            if low:
                places[axis] = arith.subi(places[axis], index_value(low))
            if low > 0:
                tests.append(index().compare("ge", places[axis], index_value(0)))
            if high > 0:
                tests.append(index().compare("lt", places[axis], index_value(dim(x, axis))))
            if low > 0 and is_known:
                places[axis] = arith.maxsi(places[axis], index_value(0))
            if high > 0 and is_known:
                places[axis] = arith.minsi(places[axis], index_value(x.type.shape[axis] - 1))
        if not tests:
            return extract(x, places)
        inside = tests[0]
        for test in tests[1:]:
            inside = arith.andi(inside, test)
        constant = e.const(k.attrs["value"])
        return arith.select(inside, extract(x, places), constant) if is_known else _read(inside, x, places, constant)

    return compute(out, ", ".join(names(rank)), [], pick)


def _read(inside: ir.Value, x: ir.Value, places: list[ir.Value], otherwise: ir.Value) -> ir.Value:
    """An element, if it is there."""
    found = scf.IfOp(inside, [otherwise.type], has_else=True)
    with ir.InsertionPoint(found.then_block):
        scf.YieldOp([extract(x, places)])
    with ir.InsertionPoint(found.else_block):
        scf.YieldOp([otherwise])
    return found.results[0]


RULES = (constant_pad,)
