"""argmax and argmin along one axis."""
from legato.core.mlir import arith, ir
from legato.targets.builders.element import boolean, index
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
    beyond, initial = ("gt", e.lowest) if k.name == "relax.argmax" else ("lt", e.highest)

    def better(x: ir.Value, best: ir.Value) -> ir.Value:
        """Whether the later element x replaces ``best``."""
        found = e.compare(beyond, x, best)
        if last:
            found = arith.ori(found, e.compare("eq", x, best))
        if not e.is_float:
            return found
        is_nan, best_is_number = e.is_nan(x), arith.xori(e.is_nan(best), boolean().const(True))
        return arith.ori(arith.andi(found, best_is_number), is_nan if last else arith.andi(is_nan, best_is_number))

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
        return [arith.select(wins, x, best), arith.select(wins, index().cast(loop_index(here), position), place)]

    values = filled(empty(dims(out), e.type), e.const(initial))
    places = filled(out, position.const(0))
    return compute([values, places], ", ".join(order), [(x, ", ".join(loops))], body)[1]


RULES = arg_reduction
