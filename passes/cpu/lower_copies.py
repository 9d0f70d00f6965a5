"""tir-lower-copies: copies of strided buffers become loops around contiguous copies; upstream would call a library function.

A contiguous part of static size is a ``memcpy``, or a few vectors: LLVM stores those that it makes of a short one out of order, which takes
a third more time where memory is the limit. One of dynamic size is copied by vectors, the last of which is under a mask, or on CPUs without
AVX-512, where masks take long, overlaps the one before it.
"""
from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from legato.core import fills
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import ancestors, find, index
from legato.core.mlir import arith, ir, memref, scf, vector
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import EXACT, Rounding

DYNAMIC = ir.ShapedType.get_dynamic_size()
MANY = 16       # copies in a function
FEW = range(2, 9)   # vectors of a memcpy that LLVM makes instructions of
SHORTEST = 4    # elements of a vector: fewer are copied one by one
UNKNOWN_STRIDE = ir.ShapedType.get_dynamic_stride_or_offset()


@dataclass(frozen=True)
class LowerCopies(ModulePass):
    """Copies between strided buffers become loops of memcpys, or of loads and stores of the target's vectors."""

    name: ClassVar[str] = "tir-lower-copies"
    rounding: ClassVar[Rounding] = EXACT
    target: TargetText = option("llvm", "the target whose vector width and masks are used")

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            lower_copies(module.module, context.cpu(self.target))


def lower_copies(module: ir.Module, machine: CpuMachine) -> None:
    """Replaces every ``memref.copy`` of ``module`` that is not a single ``memcpy`` of more than a few vectors."""
    copies = [op for op in find(module.operation, "memref.copy")
              if not all(contiguous(v.type) for v in op.operands) or vectors_of(op.operands[0].type, machine) in FEW]
    homes = [ancestors(op)[-1] for op in copies]
    number = Counter(homes)
    for op, home in zip(copies, homes):
        if number[home] > MANY:
            hide_offsets(op.operands[1].owner)
        with ir.InsertionPoint(op), op.location:
            Copy(op.operands[0], op.operands[1], machine).build()
        op.erase()


def hide_offsets(part: ir.Operation | ir.Block) -> None:
    """Hides from LLVM what the dynamic offsets of a subview are computed from. Behind one another, parts begin at sums of all sizes before
    them, and LLVM's time for the loops that copy 90 of them is a second: it writes each place as such a sum, in each loop."""
    if isinstance(part, ir.Block) or part.name != "memref.subview":
        return
    for place in range(1, 1 + len(part.opview.offsets)):
        offset = part.operands[place]
        if isinstance(offset.owner, ir.Block) or offset.owner.name != "arith.addi":
            continue
        with ir.InsertionPoint(part), part.location:
            i64 = ir.IntegerType.get_signless(64)
            hidden = ir.Operation.create("llvm.inline_asm", [i64], [arith.index_cast(i64, offset)], attributes={
                "asm_string": ir.StringAttr.get(""), "constraints": ir.StringAttr.get("=r,0")}).result     # no instruction
            part.operands[place] = arith.index_cast(ir.IndexType.get(), hidden)


def strides_of(type_: ir.MemRefType) -> list[int]:
    """The strides of a memref type, in elements."""
    strides, _ = type_.get_strides_and_offset()
    return list(strides)


def dense_from(type_: ir.MemRefType) -> int:
    """The first of the trailing dimensions that are row-major without gaps; the rank where the last dimension has a stride."""
    strides, expected = strides_of(type_), 1
    for d in reversed(range(type_.rank)):
        size = type_.shape[d]
        if size != 1 and (expected == DYNAMIC or strides[d] != expected):
            return d + 1
        expected = DYNAMIC if size == DYNAMIC or expected == DYNAMIC else expected * size
    return 0


def contiguous(type_: ir.MemRefType) -> bool:
    """Whether upstream lowers a copy of the buffer to one memcpy: it looks at the strides of sizes of 1 too, but of leading ones."""
    if type_ == ir.MemRefType.get(type_.shape, type_.element_type):
        return True
    shape, strides, expected = list(type_.shape), strides_of(type_), 1
    if DYNAMIC in shape or 0 in shape:
        return False
    while shape and strides.pop() == expected:
        expected *= shape.pop()
    return set(shape) <= {1}


def vectors_of(type_: ir.MemRefType, machine: CpuMachine) -> int:
    """How many vectors hold all elements of a buffer; 0 where one vector has more, or their number or width in memory is not known."""
    bits = bits_of(type_.element_type)
    if DYNAMIC in type_.shape or bits < 8:
        return 0
    lanes, size = machine.lanes(bits), prod(type_.shape)
    return 0 if size < lanes else -(-size // lanes)


def bits_of(element: ir.Type) -> int:
    """The bits of an element in memory, where it takes whole bytes."""
    return 64 if isinstance(element, ir.IndexType) else element.width


def without_units(buffer: ir.Value) -> ir.Value:
    """A buffer without its dimensions of size 1, whose strides mean nothing."""
    type_ = buffer.type
    shape, (strides, offset) = list(type_.shape), type_.get_strides_and_offset()
    kept = [d for d, size in enumerate(shape) if size != 1]
    if len(kept) == type_.rank:
        return buffer
    reduced = ir.MemRefType.get([shape[d] for d in kept], type_.element_type, layout([strides[d] for d in kept], offset))
    sizes = [memref.dim(buffer, index(d)) for d, size in enumerate(shape) if size == DYNAMIC]
    return memref.SubViewOp(reduced, buffer, [], sizes, [], [0] * type_.rank, shape, [1] * type_.rank).result


def of_one_shape(*buffers: ir.Value) -> list[ir.Value]:
    """Buffers of equal sizes, of which the types of some may not say what those of others do, with all of them in their types."""
    shape = [max(sizes) for sizes in zip(*(one.type.shape for one in buffers))]     # DYNAMIC is less than any size
    return [one if list(one.type.shape) == shape else
            memref.CastOp(ir.MemRefType.get(shape, one.type.element_type, one.type.layout, one.type.memory_space), one).result
            for one in buffers]


def flat(buffer: ir.Value) -> ir.Value:
    """A contiguous buffer as one of rank 1."""
    type_ = buffer.type
    if type_.rank == 1:
        return buffer
    _, offset = type_.get_strides_and_offset()
    is_plain = type_ == ir.MemRefType.get(type_.shape, type_.element_type)     # with no layout of its own
    flattened = ir.MemRefType.get([prod(type_.shape)], type_.element_type, None if is_plain else layout([1], offset))
    return memref.CollapseShapeOp(flattened, buffer, [list(range(type_.rank))]).result


def layout(strides: list[int], offset: int) -> ir.Attribute:
    """The layout of these strides and this offset, each of which may be dynamic."""
    *texts, last = ["?" if number == UNKNOWN_STRIDE else str(number) for number in (*strides, offset)]
    return ir.Attribute.parse(f"strided<[{', '.join(texts)}], offset: {last}>")


class Copy:
    """Builds one copy at the insertion point."""

    def __init__(self, source: ir.Value, target: ir.Value, machine: CpuMachine):
        source, target = of_one_shape(source, target)
        self.source, self.target, self.machine = without_units(source), without_units(target), machine
        self.rank = self.source.type.rank
        self.dense = max(dense_from(self.source.type), dense_from(self.target.type))

    def build(self) -> None:
        """Builds the copy: loops over the strided dimensions around copies of the contiguous ones."""
        if self.dense == self.rank:
            fills.copy(self.source, self.target)  # single elements
        else:
            self.loop([])

    def size(self, d: int) -> ir.Value:
        """The size of dimension d as an index value."""
        if self.source.type.shape[d] == DYNAMIC:
            return memref.dim(self.source, index(d))
        return index(self.source.type.shape[d])

    def loop(self, places: list[ir.Value]) -> None:
        """Loops over the dimensions ``len(places)`` to ``dense`` around ``piece``."""
        if len(places) == self.dense:
            self.piece(places)
            return
        around = scf.ForOp(index(0), self.size(len(places)), index(1))
        with ir.InsertionPoint(around.body):
            self.loop([*places, around.induction_variable])
            scf.YieldOp([])

    def piece(self, places: list[ir.Value]) -> None:
        """Copies the contiguous part at the indices ``places`` of the leading dimensions."""
        if DYNAMIC in self.source.type.shape[self.dense:]:
            self.vectors(places)
            return
        source, target = (self.part(one, places) if places else one for one in (self.source, self.target))
        if vectors_of(source.type, self.machine) in FEW:
            self.few_vectors(source, target)
        else:
            memref.CopyOp(source, target)

    def few_vectors(self, source: ir.Value, target: ir.Value) -> None:
        """Copies a contiguous part from its first vector to its last one, which begins where it ends with the part."""
        element = source.type.element_type
        lanes, size = self.machine.lanes(bits_of(element)), prod(source.type.shape)
        type_ = ir.VectorType.get([lanes], element)
        source, target = flat(source), flat(target)
        for start in range(0, size, lanes):
            at = [index(min(start, size - lanes))]
            vector.StoreOp(vector.LoadOp(type_, source, at).result, target, at)

    def part(self, buffer: ir.Value, places: list[ir.Value]) -> ir.Value:
        """The contiguous part of a buffer as a subview of rank 1 or more."""
        shape = list(buffer.type.shape[self.dense:])
        type_ = ir.MemRefType.get(shape, buffer.type.element_type, layout(strides_of(buffer.type)[self.dense:], UNKNOWN_STRIDE))
        offsets = [UNKNOWN_STRIDE] * self.dense + [0] * len(shape)
        return memref.SubViewOp(type_, buffer, places, [], [], offsets, [1] * self.dense + shape, [1] * self.rank).result

    def vectors(self, places: list[ir.Value]) -> None:
        """Copies a part of dynamic size: its last dimension by vectors, the others by loops."""
        last = self.rank - 1
        if len(places) < last:
            around = scf.ForOp(index(0), self.size(len(places)), index(1))
            with ir.InsertionPoint(around.body):
                self.vectors([*places, around.induction_variable])
                scf.YieldOp([])
            return
        lanes, size = self.machine.lanes(bits_of(self.source.type.element_type)), self.size(last)
        if self.machine.has("avx512bw"):
            self.vectors_and_part(places, size, lanes)
        else:
            self.overlapping(places, size, lanes)

    def vectors_and_part(self, places: list[ir.Value], size: ir.Value, lanes: int) -> None:
        """Copies a row by vectors, the last under a mask."""
        element = self.source.type.element_type
        type_ = ir.VectorType.get([lanes], element)
        whole = arith.subi(size, arith.remui(size, index(lanes)))
        self.steps(places, whole, lanes)
        mask = vector.CreateMaskOp(ir.VectorType.get([lanes], ir.IntegerType.get_signless(1)), [arith.subi(size, whole)]).result
        zero = arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, zero_of(element))).result
        value = vector.MaskedLoadOp(type_, self.source, [*places, whole], mask, zero).result
        vector.MaskedStoreOp(self.target, [*places, whole], mask, value)

    def overlapping(self, places: list[ir.Value], size: ir.Value, lanes: int) -> None:
        """Copies a row by vectors, of which the last begins where it ends with the row; a shorter one by shorter vectors."""
        either = scf.IfOp(arith.cmpi(arith.CmpIPredicate.uge, size, index(lanes)), has_else=True)
        with ir.InsertionPoint(either.then_block):
            last = arith.subi(size, index(lanes))
            self.steps(places, last, lanes)
            self.piece_at([*places, last], lanes)
            scf.YieldOp([])
        with ir.InsertionPoint(either.else_block):
            if lanes // 2 >= SHORTEST:
                self.overlapping(places, size, lanes // 2)
            else:
                self.steps(places, size, 1)
            scf.YieldOp([])

    def steps(self, places: list[ir.Value], end: ir.Value, lanes: int) -> None:
        """Copies the elements of a row up to one, so many at a time."""
        around = scf.ForOp(index(0), end, index(lanes))
        with ir.InsertionPoint(around.body):
            self.piece_at([*places, around.induction_variable], lanes)
            scf.YieldOp([])

    def piece_at(self, at: list[ir.Value], lanes: int) -> None:
        """Copies neighbouring elements."""
        if lanes == 1:
            memref.StoreOp(memref.LoadOp(self.source, at).result, self.target, at)
        else:
            type_ = ir.VectorType.get([lanes], self.source.type.element_type)
            vector.StoreOp(vector.LoadOp(type_, self.source, at).result, self.target, at)


def zero_of(element: ir.Type) -> ir.Attribute:
    """The zero attribute of a scalar type."""
    return ir.FloatAttr.get(element, 0.0) if isinstance(element, ir.FloatType) else ir.IntegerAttr.get(element, 0)
