"""Short names for the ops that loops on vectors are made of, where these are written by hand. All build at the insertion point."""
from collections.abc import Callable, Sequence

from legato.core.constants import constant, filled
from legato.core.cpu_table import LINE
from legato.core.dtypes import element_bytes
from legato.core.ir_helpers import index
from legato.core.mlir import arith, ir, memref, scf, vector

WORD = 32   # bits of the narrowest elements that vectors of all CPUs have masks for
THREADS = "tir.threads"     # of a parallel loop: each step is what one thread does
Size = int | ir.Value
Body = Callable[..., Sequence[ir.Value] | None]


def value_of(size: Size) -> ir.Value:
    """A size as an index value."""
    return index(size) if isinstance(size, int) else size


def _fold(a: Size, b: Size, compute: Callable[[int, int], int], op: Callable[..., ir.Value]) -> Size:
    return compute(a, b) if isinstance(a, int) and isinstance(b, int) else op(value_of(a), value_of(b))


def plus(a: Size, b: Size) -> Size:
    """a + b."""
    return a if isinstance(b, int) and b == 0 else _fold(a, b, lambda x, y: x + y, arith.addi)


def minus(a: Size, b: Size) -> Size:
    """a - b."""
    return a if isinstance(b, int) and b == 0 else _fold(a, b, lambda x, y: x - y, arith.subi)


def times(a: Size, b: Size) -> Size:
    """a * b."""
    return a if isinstance(b, int) and b == 1 else _fold(a, b, lambda x, y: x * y, arith.muli)


def quotient(a: Size, b: Size) -> Size:
    """a // b, of sizes."""
    return a if isinstance(b, int) and b == 1 else _fold(a, b, lambda x, y: x // y, arith.divui)


def remainder(a: Size, b: Size) -> Size:
    """a % b, of sizes."""
    return _fold(a, b, lambda x, y: x % y, arith.remui)


def least(a: Size, b: Size) -> Size:
    """min(a, b)."""
    return _fold(a, b, min, arith.minsi)


def most(a: Size, b: Size) -> Size:
    """max(a, b)."""
    return _fold(a, b, max, arith.maxsi)


def rounded_up(a: Size, b: Size) -> Size:
    """The number of blocks of b that cover a."""
    return quotient(plus(a, minus(b, 1)), b)


def loop(lower: Size, upper: Size, step: int, body: Body, starts: Sequence[ir.Value] = ()) -> list[ir.Value]:
    """A loop; ``body(i, *carried)`` returns what it carries on. A loop of one step is its body alone."""
    if isinstance(lower, int) and isinstance(upper, int) and lower < upper <= lower + step:
        return list(body(index(lower), *starts) or ())
    made = scf.ForOp(value_of(lower), value_of(upper), index(step), list(starts))
    with ir.InsertionPoint(made.body):
        scf.YieldOp(list(body(made.induction_variable, *made.inner_iter_args) or ()))
    return list(made.results)


def repeated(start: list[ir.Value], condition: Callable[..., ir.Value], step: Callable[..., list[ir.Value]]) -> list[ir.Value]:
    """The values at the end of a loop that goes on while a condition on them holds."""
    types = [value.type for value in start]
    made = scf.WhileOp(types, start)
    before = made.before.blocks.append(*types)
    with ir.InsertionPoint(before):
        scf.ConditionOp(condition(*before.arguments), list(before.arguments))
    after = made.after.blocks.append(*types)
    with ir.InsertionPoint(after):
        scf.YieldOp(step(*after.arguments))
    return list(made.results)


def when(condition: bool | ir.Value, body: Callable[[], None]) -> None:
    """Builds ``body`` in a branch, or where the condition is known, not at all or without one."""
    if isinstance(condition, bool):
        if condition:
            body()
        return
    made = scf.IfOp(condition)
    with ir.InsertionPoint(made.then_block):
        body()
        scf.YieldOp([])


def if_else(condition: ir.Value, body: Body, other: Body, types: Sequence[ir.Type] = ()) -> list[ir.Value]:
    """Builds two branches, which return values of these types."""
    made = scf.IfOp(condition, list(types), has_else=True)
    for block, build in ((made.then_block, body), (made.else_block, other)):
        with ir.InsertionPoint(block):
            scf.YieldOp(list(build() or ()))
    return list(made.results)


def below(size: Size, bound: Size) -> ir.Value:
    """Whether a size is less than another."""
    return arith.cmpi(arith.CmpIPredicate.slt, value_of(size), value_of(bound))


def exceeds(size: Size, bound: int) -> bool | ir.Value:
    """Whether a size is greater than a number."""
    return size > bound if isinstance(size, int) else arith.cmpi(arith.CmpIPredicate.sgt, size, index(bound))


class Vectors:
    """Vectors of f32 of one register."""

    def __init__(self, lanes: int):
        self.lanes = lanes
        self.f32 = ir.F32Type.get()
        self.type = self.of(self.f32)

    def of(self, element: ir.Type) -> ir.VectorType:
        """The vector type with this element."""
        return ir.VectorType.get([self.lanes], element)

    def number(self, value: float) -> ir.Value:
        """A scalar constant."""
        return constant(ir.FloatAttr.get(self.f32, value), self.f32)

    def splat(self, value: float) -> ir.Value:
        """A vector constant."""
        return filled(self.type, ir.FloatAttr.get(self.f32, value))

    def constant(self, value: float, element: ir.Type) -> ir.Value:
        """A vector constant of another element."""
        number = ir.FloatAttr.get(element, value) if isinstance(element, ir.FloatType) else ir.IntegerAttr.get(element, int(value))
        return filled(self.of(element), number)

    def spread(self, scalar: ir.Value) -> ir.Value:
        """A vector whose elements are a scalar."""
        return vector.BroadcastOp(self.of(scalar.type), scalar).result

    def load(self, buffer: ir.Value, *at: Size) -> ir.Value:
        """A vector from neighbouring elements."""
        return vector.LoadOp(self.of(buffer.type.element_type), buffer, [*map(value_of, at)]).result

    def zeros(self, element: ir.Type) -> ir.Value:
        """A vector of zeros."""
        return self.constant(0, element)

    def load_if(self, mask: ir.Value | None, buffer: ir.Value, *at: Size) -> ir.Value:
        """A vector from neighbouring elements, with zeros in the lanes that a mask leaves out; None: none."""
        if mask is None:
            return self.load(buffer, *at)
        zeros = self.zeros(buffer.type.element_type)
        return vector.MaskedLoadOp(zeros.type, buffer, [*map(value_of, at)], mask, zeros).result

    def store(self, value: ir.Value, buffer: ir.Value, *at: Size) -> None:
        """Writes neighbouring elements."""
        vector.StoreOp(value, buffer, [*map(value_of, at)])

    def store_if(self, mask: ir.Value | None, value: ir.Value, buffer: ir.Value, *at: Size) -> None:
        """Writes neighbouring elements, but those of the lanes that a mask leaves out; None: none."""
        if mask is None:
            self.store(value, buffer, *at)
        else:
            vector.MaskedStoreOp(buffer, [*map(value_of, at)], mask, value)

    def load_first(self, count: int, others: ir.Value, buffer: ir.Value, *at: Size) -> ir.Value:
        """The first ``count`` elements of a vector, and those of another one behind them, without a mask, which few CPUs have for elements
        of less than 32 bits."""
        *before, last = at
        for first, size in parts_of(count):
            piece = Vectors(size).load(buffer, *before, plus(last, first))
            others = vector.InsertStridedSliceOp(piece, others, [first], [1]).result
        return others

    def store_first(self, count: int, value: ir.Value, buffer: ir.Value, *at: Size) -> None:
        """Writes the first ``count`` elements, without a mask."""
        *before, last = at
        for first, size in parts_of(count):
            self.store(part(value, first, size), buffer, *before, plus(last, first))

    def load_some(self, count: Size, buffer: ir.Value, *at: Size) -> ir.Value:
        """The first ``count`` elements, all where there are more, and zeros in the lanes behind them: of narrow ones without a mask."""
        if isinstance(count, int) and element_bytes(buffer.type.element_type) * 8 < WORD:
            return self.load_first(min(count, self.lanes), self.zeros(buffer.type.element_type), buffer, *at)
        return self.load_if(self.mask(count), buffer, *at)

    def store_some(self, count: int, value: ir.Value, buffer: ir.Value, *at: Size) -> None:
        """Writes the first ``count`` elements, all where there are more: narrow ones without a mask."""
        if element_bytes(buffer.type.element_type) * 8 < WORD:
            self.store_first(min(count, self.lanes), value, buffer, *at)
        else:
            self.store_if(self.mask(count), value, buffer, *at)

    def interleaved(self, even: ir.Value, odd: ir.Value) -> ir.Value:
        """The elements of two vectors in turns, as one of twice as many."""
        return vector.ShuffleOp(even, odd, [lane + side for lane in range(self.lanes) for side in (0, self.lanes)]).result

    def mask(self, count: Size) -> ir.Value:
        """The first ``count`` lanes; all where there are more."""
        return vector.CreateMaskOp(self.of(ir.IntegerType.get_signless(1)), [value_of(count)]).result

    def reduce(self, kind: str, value: ir.Value) -> ir.Value:
        """The sum ("add") or maximum ("maxnumf") of a vector."""
        return vector.ReductionOp(value.type.element_type, ir.Attribute.parse(f"#vector.kind<{kind}>"), value).result

    def transposed(self, rows: Sequence[ir.Value]) -> list[ir.Value]:
        """The columns of a square: its halves are interleaved, row by row, as often as halving takes."""
        half, columns = self.lanes // 2, list(rows)
        low = [lane + side for lane in range(half) for side in (0, self.lanes)]
        for _ in range(self.lanes.bit_length() - 1):
            pairs = list(zip(columns[:half], columns[half:]))
            columns = [vector.ShuffleOp(a, b, order).result for a, b in pairs for order in (low, [lane + half for lane in low])]
        return columns


def parts_of(count: int) -> list[tuple[int, int]]:
    """A number of elements in parts of powers of two, the largest first: where each begins, and its size."""
    found, first = [], 0
    while first < count:
        size = 1 << (count - first).bit_length() - 1
        found.append((first, size))
        first += size
    return found


def part(value: ir.Value, at: int, count: int) -> ir.Value:
    """Neighbouring elements of a vector, from element ``at`` on."""
    if value.type.shape == [count]:
        return value
    return vector.ExtractStridedSliceOp(ir.VectorType.get([count], value.type.element_type), value, [at], [count], [1]).result


def free_registers(names: Sequence[str]) -> None:
    """Empties registers: what is in them and needed later is kept in memory, or loaded again. To be built before and after a loop whose
    sums need nearly all of them. LLVM would keep there constants of other loops that it takes for more frequent, and sums in memory."""
    text = ir.StringAttr.get(",".join(f"~{{{name}}}" for name in names))
    ir.Operation.create("llvm.inline_asm", attributes={
        "asm_string": ir.StringAttr.get(""), "constraints": text, "has_side_effects": ir.UnitAttr.get()})


def scratch(*shape: Size, element: ir.Type | None = None) -> ir.Value:
    """A buffer of f32, or of another element."""
    sizes = [size if isinstance(size, int) else ir.ShapedType.get_dynamic_size() for size in shape]
    unknown = [size for size in shape if not isinstance(size, int)]
    return memref.AllocOp(ir.MemRefType.get(sizes, element or ir.F32Type.get()), unknown, [], alignment=64).result


def read(buffer: ir.Value, *at: Size) -> ir.Value:
    """One element."""
    return memref.LoadOp(buffer, [*map(value_of, at)]).result


def write(value: ir.Value, buffer: ir.Value, *at: Size) -> None:
    """Writes one element."""
    memref.StoreOp(value, buffer, [*map(value_of, at)])


def joined(combine: Callable[[ir.Value, ir.Value], ir.Value], values: Sequence[ir.Value]) -> ir.Value:
    """Several values, combined into one."""
    result = values[0]
    for value in values[1:]:
        result = combine(result, value)
    return result


def in_parts(count: Size, threads: int, body: Callable[[ir.Value, Size], None], begin: Callable[[Size], None] | None = None) -> None:
    """Runs ``body(item, thread)`` for each item, in equal parts on the threads. ``begin(thread)`` builds what each thread does first:
    buffers that are allocated there are its own."""
    if threads == 1:
        if begin is not None:
            begin(0)
        loop(0, count, 1, lambda item: body(item, 0))
        return
    part = rounded_up(count, threads)

    def run(thread: ir.Value) -> None:
        if begin is not None:
            begin(thread)
        first = least(times(thread, part), count)
        loop(first, least(plus(first, part), count), 1, lambda item: body(item, thread))

    on_threads(threads, run)


def in_turns(count: Size, threads: int, body: Callable[[ir.Value, ir.Value], None], begin: Callable[[Size], None] | None = None) -> None:
    """Runs ``body(item, thread)`` for each item. A thread takes items of a part of its own, as in ``in_parts``, which are those that it
    took in the kernel before; then what others have not begun, so that one that is held up does fewer. ``begin``: as there."""
    i64 = ir.IntegerType.get_signless(64)
    part, apart = rounded_up(count, threads), LINE // 8     # counters of two threads are not in one line
    taken = scratch(threads * apart, element=i64)
    zero, one = (arith.ConstantOp(i64, number).result for number in (0, 1))
    for thread in range(threads):
        write(zero, taken, thread * apart)

    def run(thread: ir.Value) -> None:
        if begin is not None:
            begin(thread)

        def take(others: ir.Value) -> None:
            whose = remainder(plus(thread, others), threads)
            first = times(whose, part)
            counter, size = value_of(times(whose, apart)), least(part, minus(count, first))

            def following() -> ir.Value:
                return arith.index_cast(ir.IndexType.get(), memref.AtomicRMWOp(arith.AtomicRMWKind.addi, one, taken, [counter]).result)

            def step(item: ir.Value) -> list[ir.Value]:
                body(plus(first, item), thread)
                return [following()]

            repeated([following()], lambda item: below(item, size), step)

        loop(0, threads, 1, take)

    on_threads(threads, run)


def on_threads(threads: int, body: Callable[[ir.Value], None]) -> None:
    """Runs ``body(thread)`` on each of so many threads. Buffers that are allocated in it are the thread's own."""
    in_parallel(threads, body).attributes[THREADS] = ir.UnitAttr.get()


def in_parallel(count: Size, body: Callable[[ir.Value], None]) -> ir.Operation:
    """A parallel loop of so many steps."""
    segments = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 1, 0])}
    made = ir.Operation.create("scf.parallel", [], [index(0), value_of(count), index(1)], segments, regions=1)
    block = made.regions[0].blocks.append(ir.IndexType.get())
    with ir.InsertionPoint(block):
        body(block.arguments[0])
        ir.Operation.create("scf.reduce")
    return made
