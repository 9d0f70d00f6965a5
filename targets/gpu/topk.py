"""topk along one axis, of all elements at once: the first of each chunk, then of each two chunks."""
from legato.core.mlir import ir
from legato.dialects import tir
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import Size, dims, values_of
from legato.targets.builders.structured import compute, extract, filled, is_empty, names
from legato.targets.generic.topk import ElementOrder
from legato.targets.gpu.ordered import ABSENT, MOST, OrderedRows
from legato.targets.gpu.sorted_chunks import sorted_chunks
from legato.targets.rule import rewrite


@rewrite("relax.topk")
def topk(op, x):
    """A kernel of the order of chunks, of long rows, and one that merges these."""
    given, axis = op.plain(x), op.attrs["axis"] % x.type.rank
    result = tir.plain_type(op.output_types[0])
    kind, place = element(x.type), element(op.output_types[0])
    sizes = dims(given)
    rows, size = [number for i, number in enumerate(sizes) if i != axis], sizes[axis]
    short = isinstance(size, int) and size <= MOST     # places fit 32 bits
    inner = Element(ir.IntegerType.get_signless(32)) if short else place
    count: Size = op.attrs["k"] if isinstance(op.attrs["k"], int) else op.index(op.attrs["k"])
    order = ElementOrder(kind.wide, inner, largest=op.attrs["largest"])

    def ordered(ins: list[ir.Value]) -> OrderedRows:
        sizes = dims(ins[0])
        return OrderedRows([number for i, number in enumerate(sizes) if i != axis], sizes[axis],
                           lambda at, number: read(extract(ins[0], [*at[:axis], number, *at[axis:]]), kind), order.beats, inner, kind.wide)

    def body(ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
        (out,), loops = outs, names(x.type.rank)
        if is_empty(out):
            return outs
        if is_empty(ins[0]):
            return [filled(out, place.const(ABSENT))]
        places = [*(loop for i, loop in enumerate(loops) if i != axis), "0", loops[axis]]
        first = ordered(ins).first(ins[1] if unknown else count, *ins[len(unknown) + 1:])
        return [compute(out, ", ".join(loops), [(first, ", ".join(places))], lambda at, _: inner.cast(at, place))]

    unknown = values_of([count])
    chunks = [] if 0 in result.shape else sorted_chunks(op, [given], rows, size, count, kind.wide, inner, ordered)
    return op.call_built(body, [given, *unknown, *chunks], [result], [op.sizes(op.output_types[0])])


RULES = (topk,)
