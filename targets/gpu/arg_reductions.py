"""argmax and argmin along one axis as two reductions that threads can share: of the elements, and of the indices where the best one is."""
from legato.core.mlir import arith, ir
from legato.targets.builders.element import Element, index
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import dims
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import compute, empty, loop_index, names, reduce
from legato.targets.rule import kernel


@kernel("relax.argmax", "relax.argmin")
def arg_reduction(k, x, out):
    """The best element, then the first, or last, index where it is. NaN beats every number, as in numpy."""
    axis, rank = k.attrs["axis"] % x.type.rank, x.type.rank
    kind, position = element(k.input_types[0]), element(k.output_types[0])
    e, last, sizes = kind.wide, k.attrs["select_last"], dims(x)
    known = not x.type.is_dynamic_dim(axis)
    # shuffles move 32 bits
    place = Element(ir.IntegerType.get_signless(32)) if known and x.type.shape[axis] < 1 << 31 else position
    best_of, initial = (e.max, e.lowest) if k.name == "relax.argmax" else (e.min, e.highest)
    others = [i for i in range(rank) if i != axis]

    def has_best(x: ir.Value, best: ir.Value) -> ir.Value:
        x = read(x, kind)
        equal = e.compare("eq", x, best)
        return arith.ori(equal, e.is_nan(x)) if e.is_float else equal    # with a NaN among them, the best is one

    nowhere = -1 if last else place.highest
    here = axis + (out.type.rank == rank)    # a loop of one iteration stands before that of a kept axis

    def found(x: ir.Value, best: ir.Value, place_before: ir.Value) -> ir.Value:
        at = arith.select(has_best(x, best), index().cast(loop_index(here), place), place.const(nowhere))
        return (place.max if last else place.min)(place_before, at)

    best = reduce(empty([sizes[i] for i in others], e.type), [x], [axis], e.const(initial), lambda x, best: best_of(best, read(x, kind)))
    places = reduce(empty(dims(out), place.type), [x, (best, others)], [axis], place.const(nowhere), found)

    def written(at: ir.Value, _: ir.Value) -> ir.Value:
        if known:
            return place.cast(at, position)
        inside = arith.cmpi(arith.CmpIPredicate.ult, at, index().cast(index_value(sizes[axis]), position))
        return arith.select(inside, at, position.const(0))     # 0 along an axis without elements, as on CPUs

    loops = ", ".join(names(out.type.rank))
    return compute(out, loops, [(places, loops)], written)


RULES = arg_reduction
