"""topk along one axis, of keys of 64 bits (``keys``), in any number.

The best elements so far are a heap with the worst of them at its root. Of n elements in random order about k * log(n / k) enter it; vectors
of elements none of which is better than the root are passed over by one comparison.
"""
from collections.abc import Sequence

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, tensor, vector
from legato.targets.builders.element import boolean
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import Size, dims, minus, plus, times
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import empty, extract, filled, is_empty, looped
from legato.targets.builders.vectors import read_vector
from legato.targets.cpu.keys import FREE, MOST, Keys, constant, in_vectors
from legato.targets.cpu.machine import Machine
from legato.targets.generic.topk import bit_length, rows, when
from legato.targets.rule import kernel

BEYOND = (1 << 63) - 1      # the key of what would be children beyond a heap


@kernel("relax.topk")
def topk(k, x, out):
    """One pass over each row; then the heap is sorted."""
    axis, size = k.attrs["axis"] % x.type.rank, x.type.shape[k.attrs["axis"] % x.type.rank]
    kind, place = element(k.input_types[0]), element(k.output_types[0])
    if kind.wide.bits > 32 or x.type.is_dynamic_dim(axis) or size > MOST:
        return Refusal("an element and its index do not surely fit 64 bits")
    if is_empty(out):
        return out
    count: Size = k.attrs["k"] if isinstance(k.attrs["k"], int) else k.index(k.attrs["k"])
    keys, heap = Keys(kind, k.attrs["largest"]), _KeyHeap(count)
    vectors = isinstance(k.machine, Machine) and in_vectors(kind) and axis == x.type.rank - 1
    lanes = 2 * k.machine.lanes(32) if vectors else 1
    root = index_value(0)

    def row(at: list[ir.Value], places: ir.Value) -> ir.Value:
        """``places`` with those of the row with the index ``at``; -1 marks a free slot."""
        def slot(number: ir.Value) -> list[ir.Value]:
            return [*at[:axis], number, *at[axis:]]

        def offer(number: ir.Value, slots: ir.Value, worst: ir.Value) -> Sequence[ir.Value]:
            key = keys.key(read(extract(x, slot(number)), kind), number)

            def sifted() -> Sequence[ir.Value]:
                found = heap.sift(key, slots)
                return [found, extract(found, [root])]

            return when(arith.cmpi(arith.CmpIPredicate.sgt, key, worst), [slots, worst], sifted)

        def offer_vector(number: ir.Value, slots: ir.Value, worst: ir.Value) -> Sequence[ir.Value]:
            first = arith.muli(number, index_value(lanes))
            elements = read_vector(x, slot(first), lanes, kind.const(0))
            better = vector.ReductionOp(boolean().type, vector.CombiningKind.OR, keys.beat(elements, worst)).result
            is_free = arith.cmpi(arith.CmpIPredicate.eq, worst, constant(worst.type, FREE))
            return when(arith.ori(better, is_free), [slots, worst],
                        lambda: looped(plus(lanes, first), [slots, worst], offer, first))

        def take(number: ir.Value, slots: ir.Value, places: ir.Value) -> Sequence[ir.Value]:
            """Moves the root, the worst in the heap, to the end; the key from there is sifted into the smaller heap."""
            end = arith.subi(index_value(minus(count, 1)), number)
            worst, moved = extract(slots, [root]), extract(slots, [end])
            slots = tensor.InsertOp(constant(moved.type, BEYOND), slots, [end]).result
            is_free = arith.cmpi(arith.CmpIPredicate.eq, worst, constant(worst.type, FREE))
            found = arith.select(is_free, place.const(-1), keys.place(worst, place.type))
            return [heap.sift(moved, slots), tensor.InsertOp(found, places, slot(end)).result]

        found = [slots := heap.empty(), extract(slots, [root])]
        whole = size // lanes if lanes > 1 else 0
        if whole:
            found = looped(whole, found, offer_vector)
        found = looped(size, found, offer, whole * lanes)
        return looped(count, [found[0], places], take)[1]

    sizes = [size for i, size in enumerate(dims(x)) if i != axis]
    return rows(sizes, [], filled(out, place.const(-1)), row)


class _KeyHeap:
    """A heap of ``count`` keys, the least at its root, in a tensor with room for the children of all of them."""

    def __init__(self, count: Size) -> None:
        self.count = count

    def empty(self) -> ir.Value:
        """One with free slots."""
        i64 = ir.IntegerType.get_signless(64)
        slots = filled(empty([plus(times(self.count, 2), 1)], i64), constant(i64, BEYOND))
        free = constant(i64, FREE)
        return looped(self.count, [slots], lambda number, slots: [tensor.InsertOp(free, slots, [number]).result])[0]

    def sift(self, item: ir.Value, slots: ir.Value) -> ir.Value:
        """The slots after the root is replaced by an item."""
        def descend(_: ir.Value, hole: ir.Value, slots: ir.Value) -> Sequence[ir.Value]:
            left = arith.addi(arith.muli(hole, index_value(2)), index_value(1))
            right = arith.addi(left, index_value(1))
            a, b = extract(slots, [left]), extract(slots, [right])
            other = arith.cmpi(arith.CmpIPredicate.slt, b, a)
            child, least = arith.select(other, right, left), arith.select(other, b, a)
            down = arith.cmpi(arith.CmpIPredicate.slt, least, item)
            slots = tensor.InsertOp(arith.select(down, least, item), slots, [hole]).result
            return [arith.select(down, child, hole), slots]

        levels = (self.count - 1).bit_length() if isinstance(self.count, int) else bit_length(index_value(minus(self.count, 1)))
        hole, slots = looped(levels, [index_value(0), slots], descend)
        return tensor.InsertOp(item, slots, [hole]).result


RULES = (topk,)
