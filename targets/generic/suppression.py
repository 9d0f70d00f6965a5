"""Non-maximum suppression: boxes are taken from a heap, best score first, and compared with those kept before."""
from collections.abc import Callable, Sequence

from legato.core.mlir import arith, ir, scf, tensor
from legato.targets.builders.element import boolean
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import dim
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import empty, extract, filled, is_empty, looped
from legato.targets.rule import kernel

I64 = ir.IntegerType.get_signless


@kernel("relax.non_max_suppression")
def non_max_suppression(k, boxes, scores, candidates, threshold, out):
    """For each class of each batch: the candidates become a heap with the best at its root, in linear time, and boxes are taken from it
    until as many are kept as are asked for."""
    if is_empty(out):
        return out
    e, is_candidate = element(k.input_types[0]), element(k.input_types[2])
    limit = read(extract(threshold, []), e)

    def row(batch: ir.Value, category: ir.Value, kept: ir.Value) -> ir.Value:
        number, most = index_value(dim(scores, 2)), index_value(dim(out, 2))

        def corners(place: ir.Value) -> list[ir.Value]:
            at = arith.index_cast(ir.IndexType.get(), place)
            return [read(extract(boxes, [batch, at, index_value(i)]), e) for i in range(4)]

        heap = [empty([dim(scores, 2)], e.wide.type), empty([dim(scores, 2)], I64(64))]

        def gather(place: ir.Value, size: ir.Value, values: ir.Value, places: ir.Value) -> list[ir.Value]:
            """Stores each box behind the candidates so far, where the next overwrites it unless it is one."""
            at = [batch, category, place]
            score = read(extract(scores, at), e)
            values = tensor.InsertOp(score, values, [size]).result
            places = tensor.InsertOp(arith.index_cast(I64(64), place), places, [size]).result
            counts = arith.andi(read(extract(candidates, at), is_candidate), arith.cmpf(arith.CmpFPredicate.ORD, score, score))
            counts = arith.extui(I64(64), counts)
            return [arith.addi(size, arith.index_cast(ir.IndexType.get(), counts)), values, places]

        size, *heap = looped(number, [index_value(0), *heap], gather)
        half = arith.divui(size, index_value(2))

        def order(step: ir.Value, values: ir.Value, places: ir.Value) -> list[ir.Value]:
            hole = arith.subi(arith.subi(half, step), index_value(1))
            return _sift(_Item(extract(values, [hole]), extract(places, [hole])), hole, size, values, places)

        heap = looped(half, heap, order)

        def take(_: ir.Value, left: ir.Value, count: ir.Value, values: ir.Value, places: ir.Value, kept: ir.Value) -> list[ir.Value]:
            test = scf.IfOp(_less(count, most), [v.type for v in (left, count, values, places, kept)], has_else=True)
            with ir.InsertionPoint(test.then_block):
                best, end = extract(places, [index_value(0)]), arith.subi(left, index_value(1))
                last = _Item(extract(values, [end]), extract(places, [end]))
                hidden = _is_hidden(corners, limit, best, lambda n: extract(kept, [batch, category, n]), count)
                shown = arith.select(hidden, arith.ConstantOp(I64(64), -1).result, best)
                later = tensor.InsertOp(shown, kept, [batch, category, count]).result
                following = arith.addi(count, arith.select(hidden, index_value(0), index_value(1)))
                scf.YieldOp([end, following, *_sift(last, index_value(0), end, values, places), later])
            with ir.InsertionPoint(test.else_block):
                scf.YieldOp([left, count, values, places, kept])
            return list(test.results)

        return looped(size, [size, index_value(0), *heap, kept], take)[-1]

    def rows(batch: ir.Value, kept: ir.Value) -> list[ir.Value]:
        return looped(index_value(dim(scores, 1)), [kept], lambda category, inner: [row(batch, category, inner)])

    return looped(index_value(dim(scores, 0)), [filled(out, arith.ConstantOp(I64(64), -1).result)], rows)[0]


class _Item:
    """A box in the heap: its score, and its number."""

    def __init__(self, value: ir.Value, place: ir.Value) -> None:
        self.value, self.place = value, place

    def precedes(self, other: "_Item") -> ir.Value:
        """Whether the box comes before another one: by score, and of equal scores by number."""
        higher = arith.cmpf(arith.CmpFPredicate.OGT, self.value, other.value)
        equal = arith.cmpf(arith.CmpFPredicate.OEQ, self.value, other.value)
        return arith.ori(higher, arith.andi(equal, arith.cmpi(arith.CmpIPredicate.slt, self.place, other.place)))


def _sift(item: _Item, hole: ir.Value, size: ir.Value, values: ir.Value, places: ir.Value) -> list[ir.Value]:
    """The heap of ``size`` boxes with an item in place of that at ``hole``, moved below the children that precede it."""
    carried = [values, places, hole, boolean().const(True)]
    types = [value.type for value in carried]
    made = scf.WhileOp(types, carried)
    before, after = (region.blocks.append(*types) for region in made.operation.regions)
    with ir.InsertionPoint(before):
        scf.ConditionOp(before.arguments[3], list(before.arguments))
    with ir.InsertionPoint(after):
        values, places, hole, _ = after.arguments
        left = arith.addi(arith.muli(hole, index_value(2)), index_value(1))
        right = arith.addi(left, index_value(1))
        last = arith.maxsi(arith.subi(size, index_value(1)), index_value(0))     # what is read beyond the heap is not used
        a, b = (_Item(extract(values, [at]), extract(places, [at])) for at in (arith.minui(left, last), arith.minui(right, last)))
        other = arith.andi(_less(right, size), b.precedes(a))
        child = _Item(arith.select(other, b.value, a.value), arith.select(other, b.place, a.place))
        down = arith.andi(_less(left, size), child.precedes(item))
        values = tensor.InsertOp(arith.select(down, child.value, item.value), values, [hole]).result
        places = tensor.InsertOp(arith.select(down, child.place, item.place), places, [hole]).result
        scf.YieldOp([values, places, arith.select(down, arith.select(other, right, left), hole), down])
    return list(made.results)[:2]


def _is_hidden(corners: Callable[[ir.Value], list[ir.Value]], limit: ir.Value, place: ir.Value, kept: Callable[[ir.Value], ir.Value],
               count: ir.Value) -> ir.Value:
    """Whether a box overlaps one of the ``count`` kept ones too much; it stops at the first."""
    mine = corners(place)
    carried = [index_value(0), boolean().const(False)]
    types = [value.type for value in carried]
    made = scf.WhileOp(types, carried)
    before, after = (region.blocks.append(*types) for region in made.operation.regions)
    with ir.InsertionPoint(before):
        number, hidden = before.arguments
        going = arith.andi(_less(number, count), arith.xori(hidden, boolean().const(True)))
        scf.ConditionOp(going, list(before.arguments))
    with ir.InsertionPoint(after):
        number = after.arguments[0]
        found = overlaps(mine, corners(kept(number)), limit)
        scf.YieldOp([arith.addi(number, index_value(1)), found])
    return made.results[1]


def overlaps(a: Sequence[ir.Value], b: Sequence[ir.Value], limit: ir.Value) -> ir.Value:
    """Whether intersection / union exceeds the limit; boxes without an area overlap none."""
    zero = arith.ConstantOp(limit.type, 0.0).result
    height, width = (arith.subf(arith.minimumf(a[i + 2], b[i + 2]), arith.maximumf(a[i], b[i])) for i in (0, 1))
    areas = [arith.mulf(arith.subf(box[2], box[0]), arith.subf(box[3], box[1])) for box in (a, b)]
    common = arith.mulf(height, width)
    union = arith.subf(arith.addf(*areas), common)
    exceeds = arith.cmpf(arith.CmpFPredicate.OGT, arith.divf(common, union), limit)
    for positive in (height, width, common, *areas, union):
        exceeds = arith.andi(exceeds, arith.cmpf(arith.CmpFPredicate.OGT, positive, zero))
    return exceeds


def _less(a: ir.Value, b: ir.Value) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.slt, a, b)


RULES = (non_max_suppression,)
