"""Places of elements in their order within chunks of rows, by a block of threads for each chunk, in shared memory.

Runs of one element are merged two by two. A thread finds by bisection where each of its places of a merged run comes from, so that threads
wait for each other once for each doubling.
"""
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from legato.core.mlir import arith, bufferization, ir, memref, scf
from legato.dialects.tir.loops import SERIAL, THREAD, loop, make_buffer
from legato.dialects.tir.markers import STATE, WRITES_ALL
from legato.dialects.tir.state import WRITTEN
from legato.targets.builders.element import Element
from legato.targets.builders.element import index as index_element
from legato.targets.builders.sizes import Size, product, shape_of, times, values_of
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import looped
from legato.targets.gpu.ordered import ABSENT, OrderedRows, chunk_of

SHORTEST = 256      # rows of so many elements and fewer are ordered by counting, an element by a thread
THREADS = 1024      # of a block
FEW_THREADS = 256   # on Vulkan, whose devices seldom have fewer
Compare = arith.CmpIPredicate
OrderOf = Callable[[list[ir.Value]], OrderedRows]


def sorted_chunks(op, operands: Sequence[ir.Value], rows: Sequence[Size], size: Size, count: Size, key: Element, place: Element,
                  order: OrderOf) -> list[ir.Value]:
    """A call of a kernel that orders chunks of rows, for ``OrderedRows.first`` of ``count``; no call where the size is unknown, or small.

    ``operands``: of the kernel; ``order``: their order, inside a kernel; ``key``: the elements' type, ``place``: that of places.
    """
    if not isinstance(size, int) or size <= SHORTEST or 0 in rows:
        return []
    chunk = chunk_of(size, key)
    runs = -(-size // chunk)
    sizes = [times(product(rows), runs), min(chunk, count) if isinstance(count, int) else chunk]
    kernel = _ChunkKernel(order, key, place, chunk, runs, min(THREADS if op.machine.warp > 1 else FEW_THREADS, chunk))
    return op.call_built(kernel.build, operands, [ir.RankedTensorType.get(shape_of(sizes), place.type)], [values_of(sizes)])


@dataclass(frozen=True)
class _ChunkKernel:
    """The kernel's body. ``chunk``: elements of a block; ``runs``: chunks of a row; ``threads``: of a block; others as for
    ``sorted_chunks``."""

    order: OrderOf
    key: Element
    place: Element
    chunk: int
    runs: int
    threads: int

    def build(self, ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
        """The first places of each chunk in their order, ABSENT behind the last: chunks of all rows by places."""
        attributes = ir.InsertionPoint.current.block.owner.attributes
        attributes[STATE], attributes[WRITES_ALL] = ir.StringAttr.get(WRITTEN), ir.UnitAttr.get()
        order, out = self.order(ins), outs[0]
        result = bufferization.ToBufferOp(ir.MemRefType.get(out.type.shape, out.type.element_type), out).result
        blocks = index_value(times(product(order.rows), self.runs))
        with loop(index_value(0), blocks, THREAD, "chunk", "blockIdx.x") as block:
            row = arith.divui(block.variable, index_value(self.runs))
            begin = arith.muli(arith.remui(block.variable, index_value(self.runs)), index_value(self.chunk))
            _Chunk(self, order, _along(row, order.rows), begin, block.variable, result).build()
        return [bufferization.ToTensorOp(out.type, result, restrict=True, writable=True).result]


@dataclass(frozen=True)
class _Chunk:
    """What a block does. ``row``: the indices of its row; ``begin``: the place of its first element; ``number``: of the chunk."""

    kernel: _ChunkKernel
    order: OrderedRows
    row: list[ir.Value]
    begin: ir.Value
    number: ir.Value
    result: ir.Value

    def build(self) -> None:
        """Appends the loops."""
        kernel, word = self.kernel, Element(ir.IntegerType.get_signless(32))
        keys = make_buffer(ir.MemRefType.get([kernel.chunk], kernel.key.type), "keys", "shared")
        before, after = (make_buffer(ir.MemRefType.get([kernel.chunk], word.type), name, "shared") for name in ("before", "after"))
        last = arith.subi(index_value(self.order.size), index_value(1))
        with self.places() as at:
            memref.store(self.order.load(self.row, arith.minsi(arith.addi(self.begin, at), last)), keys, [at])
            memref.store(index_element().cast(at, word), before, [at])
        number = arith.subi(index_value(self.order.size), self.begin)
        length = 1
        while length < kernel.chunk:
            with self.places() as at:
                memref.store(_Merge(self.order, keys, before, word, length, number).source(at), after, [at])
            before, after, length = after, before, length * 2
        with self.places() as at:
            found = arith.addi(self.begin, word.cast(memref.load(before, [at]), index_element()))
            inside = arith.cmpi(Compare.slt, at, number)
            place = arith.select(inside, index_element().cast(found, kernel.place), kernel.place.const(ABSENT))
            first = scf.IfOp(arith.cmpi(Compare.slt, at, index_value(self.result.type.shape[1])))
            with ir.InsertionPoint(first.then_block):
                memref.store(place, self.result, [self.number, at])
                scf.YieldOp([])

    @contextmanager
    def places(self) -> Iterator[ir.Value]:
        """Loops over the places of the chunk, of which a thread has each ``threads``-th."""
        kernel = self.kernel
        with (loop(index_value(0), index_value(kernel.threads), THREAD, "thread", "threadIdx.x") as thread,
              loop(index_value(0), index_value(kernel.chunk // kernel.threads), SERIAL, "turn") as turn):
            yield arith.addi(arith.muli(turn.variable, index_value(kernel.threads)), thread.variable)


@dataclass(frozen=True)
class _Merge:
    """Each two runs of ``length`` places become one. ``keys``: the chunk's elements; ``runs``: places in it, a run behind the other;
    ``number``: elements that there are: the others come last."""

    order: OrderedRows
    keys: ir.Value
    runs: ir.Value
    word: Element
    length: int
    number: ir.Value

    def source(self, at: ir.Value) -> ir.Value:
        """The place that is at one of the merged runs."""
        zero, one, size = index_value(0), index_value(1), index_value(self.length)
        place = arith.remui(at, index_value(2 * self.length))
        left = arith.subi(at, place)
        right, last = arith.addi(left, size), arith.subi(size, one)

        def pair(first: ir.Value, second: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
            """A place of each run, and whether that of the first one comes before."""
            a, b = (memref.load(self.runs, [arith.addi(run, number)]) for run, number in ((left, first), (right, second)))
            x, y = (memref.load(self.keys, [self.word.cast(number, index_element())]) for number in (a, b))
            absent = arith.cmpi(Compare.sge, self.word.cast(b, index_element()), self.number)
            beats = self.order.beats(y, x)
            return a, b, arith.ori(absent, arith.xori(beats, arith.ConstantOp(beats.type, True).result))

        def further(_: ir.Value, taken: ir.Value, power: ir.Value) -> Sequence[ir.Value]:
            more = arith.addi(taken, power)
            _, _, is_first = pair(arith.minsi(arith.subi(more, one), last), arith.minsi(arith.maxsi(arith.subi(place, more), zero), last))
            taken = arith.select(arith.andi(is_first, arith.cmpi(Compare.sle, more, most)), more, taken)
            return [taken, arith.divui(power, index_value(2))]

        most = arith.minsi(place, size)     # the first run's elements among the first ``place`` of both are found bit by bit
        taken, _ = looped(self.length.bit_length(), [arith.maxsi(arith.subi(place, size), zero), size], further)
        other = arith.subi(place, taken)
        a, b, is_first = pair(arith.minsi(taken, last), arith.minsi(other, last))
        is_first = arith.andi(arith.cmpi(Compare.slt, taken, size), arith.ori(is_first, arith.cmpi(Compare.sge, other, size)))
        return arith.select(is_first, a, b)


def _along(number: ir.Value, sizes: Sequence[Size]) -> list[ir.Value]:
    """The indices along several axes of a number."""
    found: list[ir.Value] = []
    for size in reversed(sizes[1:]):
        found.insert(0, arith.remui(number, index_value(size)))
        number = arith.divui(number, index_value(size))
    return [number, *found] if sizes else []
