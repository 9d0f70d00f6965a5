"""argmax and argmin along one axis."""
from legato.core.mlir import arith, ir
from legato.targets.builders.element import Element, index
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import dims
from legato.targets.builders.structured import compute, empty, filled, loop_index, names
from legato.targets.rule import kernel


@kernel("relax.argmax", "relax.argmin")
def arg_reduction(k, x, out):
    """A reduction of pairs of element and index. NaN beats every number, as in numpy."""
    axis, rank = k.attrs["axis"] % x.type.rank, x.type.rank
    kind, position = element(k.input_types[0]), element(k.output_types[0])
    e, last = kind.wide, k.attrs["select_last"]
    # of as many bits as the elements, if these are enough: vectors hold as many of both
    here_as = Element(ir.IntegerType.get_signless(32)) if e.bits <= 32 and 0 <= x.type.shape[axis] < 1 << 31 else position
    is_max = k.name == "relax.argmax"
    initial = e.lowest if is_max else e.highest

    def better(x: ir.Value, best: ir.Value) -> ir.Value:
        """Whether the later element x replaces ``best``."""
        if not e.is_float:
            return e.compare(("g" if is_max else "l") + ("e" if last else "t"), x, best)
        predicate = arith.CmpFPredicate
        beyond = (predicate.UGE if last else predicate.UGT) if is_max else (predicate.ULE if last else predicate.ULT)
        found = arith.andi(arith.cmpf(beyond, x, best), arith.cmpf(predicate.ORD, best, best))    # a NaN x is beyond
        return arith.ori(found, e.is_nan(x)) if last else found

    loops = names(rank)
    kept = out.type.rank == rank
    order = [f"+{l}" if i == axis else l for i, l in enumerate(loops)]
    here = axis
    if kept:
        order.insert(axis, "u")
        here = axis + 1

    def body(x: ir.Value, best: ir.Value, place: ir.Value):
        x = read(x, kind)
        wins = better(x, best)
        return [arith.select(wins, x, best), arith.select(wins, index().cast(loop_index(here), here_as), place)]

    values = filled(empty(dims(out), e.type), e.const(initial))
    places = filled(out if position == here_as else empty(dims(out), here_as.type), here_as.const(0))
    found = compute([values, places], ", ".join(order), [(x, ", ".join(loops))], body)[1]
    written = ", ".join(names(out.type.rank))
    return found if position == here_as else compute(out, written, [(found, written)], lambda place, _: here_as.cast(place, position))


RULES = arg_reduction
