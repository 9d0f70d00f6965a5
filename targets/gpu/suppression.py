"""Non-maximum suppression by a block of threads for each class of each batch, which takes boxes in groups of 32, best score first.

A launch orders the candidates. All threads compare a group of them with the boxes kept before, of which a thread has each 256th, and with
each other; what hides a candidate are the bits of words in shared memory, from which one thread says which of the group are kept. So
threads wait for each other a few times for 32 candidates, not for each box that is kept.
"""
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from math import nan

from legato.core.mlir import arith, bufferization, ir, memref, scf
from legato.dialects.tir.loops import THREAD, ForOp, loop, make_buffer
from legato.dialects.tir.markers import STATE, WRITES_ALL
from legato.dialects.tir.state import WRITTEN
from legato.targets.builders.element import Element
from legato.targets.builders.element import index as index_element
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import dim, dims, plus, quotient, shape_of, smallest, values_of
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import compute, extract, filled, loop_index, looped
from legato.targets.generic.suppression import overlaps
from legato.targets.generic.topk import when
from legato.targets.gpu.ordered import MOST, OrderedRows
from legato.targets.gpu.sorted_chunks import sorted_chunks
from legato.targets.rule import rewrite

GROUP = 32        # candidates that are looked at together: the bits of a word
THREADS = 256     # of a block
PARTS = THREADS // GROUP
Compare = arith.CmpIPredicate


@rewrite("relax.non_max_suppression")
def non_max_suppression(op, boxes, scores, candidates, threshold):
    """A kernel of the candidates' order and number, one that keeps boxes, and one that writes their numbers one behind the other."""
    word, long = (Element(ir.IntegerType.get_signless(bits)) for bits in (32, 64))
    shape = op.output_types[0].shape
    result, sizes = ir.RankedTensorType.get(shape, long.type), op.sizes(op.output_types[0])
    rows, (number,) = dims(op.plain(scores))[:2], dims(op.plain(scores))[2:]
    if 0 in (*shape, *shape_of([number])):
        return op.call_built(lambda _, outs: [filled(outs[0], long.const(-1))], [], [result], [sizes])
    place = word if isinstance(number, int) and number <= MOST else long
    asked = op.attrs["k"]
    most = smallest(asked if isinstance(asked, int) else op.index(asked), number)
    slots = quotient(plus(most, THREADS - 1), THREADS)
    kernels = _Kernels(element(boxes.type), element(scores.type), element(candidates.type), place, word)
    order, numbers, kept = (([*rows, *inner], e) for inner, e in (([number], place), ([], word), ([slots, THREADS], place)))
    chunks = sorted_chunks(op, [scores, candidates], rows, number, number, kernels.scores.wide, place, kernels.ordered)
    ordered = _call(op, kernels.order, [scores, candidates, *chunks], order, numbers)
    found = _call(op, kernels.keep, [boxes, threshold, *ordered, index_value(most)], kept, numbers)
    return op.call_built(kernels.written, found, [result], [sizes])


def _call(op, body, operands: Sequence[ir.Value], *outputs: tuple[list, Element]) -> list[ir.Value]:
    """Calls a kernel. ``outputs``: their sizes and elements."""
    types = [ir.RankedTensorType.get(shape_of(sizes), e.type) for sizes, e in outputs]
    return op.call_built(body, operands, types, [values_of(sizes) for sizes, _ in outputs])


@dataclass(frozen=True)
class _Kernels:
    """The kernels' bodies. ``boxes``, ``scores``, ``candidates``: the operands' elements; ``place``: of the numbers of boxes; ``word``: of
    bits, and of how many boxes there are."""

    boxes: Element
    scores: Element
    candidates: Element
    place: Element
    word: Element

    def ordered(self, ins: list[ir.Value]) -> OrderedRows:
        """The order of boxes: candidates first, and the best of these first."""
        scores, candidates = ins[:2]
        e = self.scores.wide

        def load(row: Sequence[ir.Value], number: ir.Value) -> ir.Value:
            """A score; NaN for a box that is no candidate."""
            score = read(extract(scores, [*row, number]), self.scores)
            return arith.select(read(extract(candidates, [*row, number]), self.candidates), score, e.const(nan))

        def beats(a: ir.Value, b: ir.Value) -> ir.Value:
            only = arith.andi(e.is_nan(b), arith.cmpf(arith.CmpFPredicate.ORD, a, a))
            return arith.ori(e.compare("gt", a, b), only)

        sizes = dims(scores)
        return OrderedRows(sizes[:2], sizes[2], load, beats, self.place, e)

    def order(self, ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
        """The numbers of boxes in their order, and how many are candidates."""
        scores, candidates, *chunks = ins
        word = self.word

        def is_candidate(candidate: ir.Value, score: ir.Value) -> ir.Value:
            return arith.andi(read(candidate, self.candidates), arith.cmpf(arith.CmpFPredicate.ORD, score, score))

        def counted(score: ir.Value, candidate: ir.Value, before: ir.Value) -> ir.Value:
            return word.add(before, arith.extui(word.type, is_candidate(candidate, read(score, self.scores))))

        first = self.ordered(ins).first(dim(scores, 2), *chunks)
        order = compute(outs[0], "b, c, n", [(first, "b, c, 0, n")], lambda number, _: number)
        count = compute(filled(outs[1], word.const(0)), "b, c, +n", [(scores, "b, c, n"), (candidates, "b, c, n")], counted)
        return [order, count]

    def keep(self, ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
        """The boxes that are kept, the m-th by thread m % THREADS as its number m // THREADS, and how many these are."""
        attributes = ir.InsertionPoint.current.block.owner.attributes
        attributes[STATE], attributes[WRITES_ALL] = ir.StringAttr.get(WRITTEN), ir.UnitAttr.get()
        boxes, threshold, order, counts, slots, numbers = (_buffer(tensor) for tensor in (*ins[:4], *outs))
        batches, classes = (index_value(dim(outs[1], axis)) for axis in (0, 1))
        zero = index_value(0)
        with (loop(zero, batches, THREAD, "batch", "blockIdx.y") as batch, loop(zero, classes, THREAD, "class", "blockIdx.x") as category):
            row = [batch.variable, category.variable]
            _Block(self, row, boxes, threshold, order, counts, ins[4], slots, numbers).build()
        return [bufferization.ToTensorOp(tensor.type, buffer, restrict=True, writable=True).result
                for tensor, buffer in zip(outs, (slots, numbers))]

    def written(self, ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
        """The result: the numbers of the boxes that are kept, and -1 behind them."""
        slots, numbers = ins
        long = Element(outs[0].type.element_type)

        def number(count: ir.Value, _: ir.Value) -> ir.Value:
            row, at, threads = [loop_index(0), loop_index(1)], loop_index(2), index_value(THREADS)
            inside = arith.cmpi(Compare.slt, at, self.word.cast(count, index_element()))
            slot = [*row, arith.divui(at, threads), arith.remui(at, threads)]
            return when(inside, [long.const(-1)], lambda: [self.place.cast(extract(slots, slot), long)])[0]

        return [compute(outs[0], "b, c, m", [(numbers, "b, c")], number)]


@dataclass(frozen=True)
class _Block:
    """What a block of threads does for one class of one batch. ``row``: their numbers; ``most``: how many boxes are kept at most."""

    kernels: _Kernels
    row: list[ir.Value]
    boxes: ir.Value
    threshold: ir.Value
    order: ir.Value
    counts: ir.Value
    most: ir.Value
    slots: ir.Value
    numbers: ir.Value

    def build(self) -> None:
        """Appends the loops."""
        zero = index_value(0)
        corners = self.shared("corners", [GROUP, 4], self.kernels.boxes.wide)
        places = self.shared("places", [GROUP], self.kernels.place)
        hidden, pairs = (self.shared(name, [PARTS, GROUP], self.kernels.word) for name in ("hidden", "pairs"))
        all_hidden, all_pairs = (self.shared(f"all_{name}", [GROUP], self.kernels.word) for name in ("hidden", "pairs"))
        lanes, total = self.shared("lanes", [GROUP], self.kernels.word), self.shared("total", [2], self.kernels.word)
        for at in (0, 1):
            memref.store(self.word(0), total, [index_value(at)])
        count = self.number(memref.load(self.counts, self.row))
        groups = arith.divui(arith.addi(count, index_value(GROUP - 1)), index_value(GROUP))
        with loop(zero, groups, name="group") as group:
            first = arith.muli(group.variable, index_value(GROUP))
            with _threads(GROUP) as t, self.unfinished(total):
                self.fetch(arith.minsi(arith.addi(first, t.variable), arith.subi(count, index_value(1))), t.variable, corners, places)
            with _threads(THREADS) as t, self.unfinished(total):
                self.compare(t.variable, corners, total, hidden, pairs)
            with _threads(GROUP) as t, self.unfinished(total):
                for parts, whole in ((hidden, all_hidden), (pairs, all_pairs)):
                    memref.store(self.any_of(parts, t.variable), whole, [t.variable])
            with self.unfinished(total):
                self.choose(arith.subi(count, first), all_hidden, all_pairs, lanes, total)
            with _threads(THREADS) as t:
                self.append(t.variable, places, lanes, total)
            memref.store(memref.load(total, [index_value(1)]), total, [zero])
        memref.store(memref.load(total, [zero]), self.numbers, self.row)

    @contextmanager
    def unfinished(self, total: ir.Value) -> Iterator[None]:
        """Where fewer boxes are kept than may be; ops built in the ``with`` block are under this condition."""
        test = scf.IfOp(arith.cmpi(Compare.slt, self.number(memref.load(total, [index_value(0)])), self.most))
        with ir.InsertionPoint(test.then_block):
            yield
            scf.YieldOp([])

    def fetch(self, place: ir.Value, lane: ir.Value, corners: ir.Value, places: ir.Value) -> None:
        """A thread's candidate, which is at a place of the order."""
        number = memref.load(self.order, [*self.row, place])
        memref.store(number, places, [lane])
        for axis, corner in enumerate(self.box(number)):
            memref.store(corner, corners, [lane, index_value(axis)])

    def compare(self, thread: ir.Value, corners: ir.Value, total: ir.Value, hidden: ir.Value, pairs: ir.Value) -> None:
        """The candidates that are hidden by the boxes that a thread has, as bits; and of candidate ``thread % GROUP`` by which of
        ``GROUP / PARTS`` candidates before it it would be."""
        limit = self.limit()
        part, lane = arith.divui(thread, index_value(GROUP)), arith.remui(thread, index_value(GROUP))

        def candidate(number: ir.Value) -> list[ir.Value]:
            return [memref.load(corners, [number, index_value(axis)]) for axis in range(4)]

        def by_kept(turn: ir.Value, bits: ir.Value) -> list[ir.Value]:
            mine = self.box(memref.load(self.slots, [*self.row, turn, thread]))
            return looped(GROUP, [bits], lambda number, bits: [self.with_bit(bits, number, overlaps(candidate(number), mine, limit))])

        kept = self.number(memref.load(total, [index_value(0)]))
        turns = arith.divui(arith.addi(kept, arith.subi(index_value(THREADS - 1), thread)), index_value(THREADS))
        memref.store(looped(turns, [self.word(0)], by_kept)[0], hidden, [part, lane])
        mine = candidate(lane)
        bits = self.word(0)
        for step in range(GROUP // PARTS):
            number = arith.addi(arith.muli(part, index_value(GROUP // PARTS)), index_value(step))
            hides = arith.andi(arith.cmpi(Compare.slt, number, lane), overlaps(mine, candidate(number), limit))
            bits = self.with_bit(bits, number, hides)
        memref.store(bits, pairs, [part, lane])

    def any_of(self, parts: ir.Value, lane: ir.Value) -> ir.Value:
        """The bits that any of the parts has."""
        found = memref.load(parts, [index_value(0), lane])
        for part in range(1, PARTS):
            found = arith.ori(found, memref.load(parts, [index_value(part), lane]))
        return found

    def choose(self, left: ir.Value, hidden: ir.Value, pairs: ir.Value, lanes: ir.Value, total: ir.Value) -> None:
        """By one thread: which candidates are kept, one behind the other, and how many boxes are with them. ``left``: candidates from the
        group's first on."""
        zero, one, most = self.word(0), self.word(1), index_element().cast(self.most, self.kernels.word)
        bits = looped(GROUP, [zero], lambda lane, bits: [arith.ori(bits, memref.load(hidden, [lane]))])[0]
        before = memref.load(total, [index_value(0)])

        def next_one(lane: ir.Value, kept: ir.Value, number: ir.Value) -> list[ir.Value]:
            at = index_element().cast(lane, self.kernels.word)
            covers = arith.ori(arith.andi(arith.shrui(bits, at), one), arith.andi(memref.load(pairs, [lane]), kept))
            free = arith.andi(arith.cmpi(Compare.eq, covers, zero), arith.cmpi(Compare.slt, lane, left))
            taken = arith.extui(self.kernels.word.type, arith.andi(free, arith.cmpi(Compare.slt, arith.addi(before, number), most)))
            memref.store(at, lanes, [self.number(number)])     # the next one overwrites it unless it is taken
            return [arith.ori(kept, arith.shli(taken, at)), arith.addi(number, taken)]

        number = looped(GROUP, [zero, zero], next_one)[1]
        memref.store(arith.addi(before, number), total, [index_value(1)])

    def append(self, thread: ir.Value, places: ir.Value, lanes: ir.Value, total: ir.Value) -> None:
        """A thread's box among those of the group that are kept, if there is one."""
        before, after = (self.number(memref.load(total, [index_value(at)])) for at in (0, 1))
        which = arith.remui(arith.subi(arith.addi(thread, index_value(THREADS)), arith.remui(before, index_value(THREADS))),
                            index_value(THREADS))
        test = scf.IfOp(arith.cmpi(Compare.slt, which, arith.subi(after, before)))
        with ir.InsertionPoint(test.then_block):
            place = memref.load(places, [self.number(memref.load(lanes, [which]))])
            memref.store(place, self.slots, [*self.row, arith.divui(arith.addi(before, which), index_value(THREADS)), thread])
            scf.YieldOp([])

    def box(self, number: ir.Value) -> list[ir.Value]:
        """The corners of a box."""
        at = self.kernels.place.cast(number, index_element())
        return [read(memref.load(self.boxes, [self.row[0], at, index_value(axis)]), self.kernels.boxes) for axis in range(4)]

    def limit(self) -> ir.Value:
        return read(memref.load(self.threshold, []), self.kernels.boxes)

    def shared(self, name: str, sizes: Sequence[int], e: Element) -> ir.Value:
        return make_buffer(ir.MemRefType.get(sizes, e.type), name, "shared")

    def word(self, number: int) -> ir.Value:
        return self.kernels.word.const(number)

    def number(self, word: ir.Value) -> ir.Value:
        return self.kernels.word.cast(word, index_element())

    def with_bit(self, bits: ir.Value, number: ir.Value, set_: ir.Value) -> ir.Value:
        """The bits with one more, where it is to be set."""
        bit = arith.extui(self.kernels.word.type, set_)
        return arith.ori(bits, arith.shli(bit, index_element().cast(number, self.kernels.word)))


def _threads(count: int) -> AbstractContextManager[ForOp]:
    """A loop over the first ``count`` threads of the block."""
    return loop(index_value(0), index_value(count), THREAD, "thread", "threadIdx.x")


def _buffer(tensor: ir.Value) -> ir.Value:
    type_ = ir.MemRefType.get(tensor.type.shape, tensor.type.element_type)
    return bufferization.ToBufferOp(type_, tensor).result


RULES = (non_max_suppression,)
