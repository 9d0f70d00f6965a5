"""topk along one axis, of all elements at once: the first of each chunk, then of each two chunks."""
from legato.core.mlir import ir
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import Size, dims
from legato.targets.builders.structured import compute, extract, filled, is_empty, names
from legato.targets.generic.topk import ElementOrder
from legato.targets.gpu.ordered import ABSENT, OrderedRows
from legato.targets.rule import kernel


@kernel("relax.topk")
def topk(k, x, out):
    """The places of the first elements, merged from those of chunks."""
    axis, rank = k.attrs["axis"] % x.type.rank, x.type.rank
    kind, place = element(k.input_types[0]), element(k.output_types[0])
    if is_empty(out):
        return out
    if is_empty(x):
        return filled(out, place.const(ABSENT))
    count: Size = k.attrs["k"] if isinstance(k.attrs["k"], int) else k.index(k.attrs["k"])
    sizes = dims(x)
    short = not x.type.is_dynamic_dim(axis) and x.type.shape[axis] < 1 << 31     # places fit 32 bits
    inner = Element(ir.IntegerType.get_signless(32)) if short else place
    order = ElementOrder(kind.wide, inner, largest=k.attrs["largest"])
    rows = OrderedRows([size for i, size in enumerate(sizes) if i != axis], sizes[axis],
                       lambda at, number: read(extract(x, [*at[:axis], number, *at[axis:]]), kind), order.beats, inner)
    loops = names(rank)
    places = [*(loop for i, loop in enumerate(loops) if i != axis), "0", loops[axis]]
    return compute(out, ", ".join(loops), [(rows.first(count), ", ".join(places))], lambda at, _: inner.cast(at, place))


RULES = (topk,)
