"""Buffers of one dimension in place of those of any rank: loads and stores by one index."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from legato.core.errors import UnsupportedError
from legato.core.ir_helpers import index
from legato.core.locations import describe
from legato.core.mlir import arith, ir, memref, vector

Number = int | ir.Value
MATRICES = {"gpu.subgroup_mma_load_matrix": 0, "gpu.subgroup_mma_store_matrix": 1}    # the operand that is the buffer
WORD = 4     # bytes
STORAGE, WORKGROUP, FUNCTION = (f"#spirv.storage_class<{name}>" for name in ("StorageBuffer", "Workgroup", "Function"))


@dataclass(frozen=True)
class Flat:
    """A buffer as a one-dimensional one. ``offset``: of its first element; ``strides``, ``sizes``: by dimension, in elements; ``words``:
    whether the elements of the one-dimensional one are words, of four bytes of the buffer each."""

    base: ir.Value
    offset: Number
    strides: tuple[Number, ...]
    sizes: tuple[Number, ...]
    words: bool = False

    def place(self, indices: Sequence[ir.Value], lane: int = 0) -> ir.Value:
        """The index of an element, or of the one that stands ``lane`` after it in the last dimension."""
        found: Number = self.offset
        for one, stride in zip(indices, self.strides, strict=True):
            found = plus(found, times(one, stride))
        return value_of(plus(found, times(lane, self.strides[-1])) if lane else found)


def value_of(number: Number) -> ir.Value:
    """A number as an index value."""
    return index(number) if isinstance(number, int) else number


def times(a: Number, b: Number) -> Number:
    """The product of two numbers, without an op where they are constants or one is 1."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 1 or b == 1:
        return b if isinstance(a, int) else a
    return arith.muli(value_of(a), value_of(b))


def plus(a: Number, b: Number) -> Number:
    """The sum of two numbers, without an op where they are constants or one is 0."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if (isinstance(a, int) and a == 0) or (isinstance(b, int) and b == 0):
        return b if isinstance(a, int) else a
    return arith.addi(value_of(a), value_of(b))


def stored_type(element: ir.Type) -> ir.Type:
    """The element type in memory: i1 takes a byte."""
    return ir.IntegerType.get_signless(8) if element == ir.IntegerType.get_signless(1) else element


def buffer_type(type_: ir.MemRefType, space: str, count: int | None = None, words: bool = False) -> ir.MemRefType:
    """The flat type of a buffer, with ``count`` elements or a size that is not known; of ``words``: with a quarter of them."""
    size = ir.ShapedType.get_dynamic_size() if count is None else -(-count // WORD) if words else count
    element = ir.IntegerType.get_signless(8 * WORD) if words else stored_type(ir.MemRefType(type_).element_type)
    return ir.MemRefType.get([size], element, memory_space=ir.Attribute.parse(space))


def moves_in_words(buffer: ir.Value) -> bool:
    """Whether a buffer of bytes is read and written in whole words only, which are aligned."""
    if ir.MemRefType(buffer.type).element_type != ir.IntegerType.get_signless(8):
        return False
    for use in buffer.uses:
        op = use.owner.operation if isinstance(use.owner, ir.OpView) else use.owner
        if op.name == "memref.dim":
            continue
        moved = op.results[0].type if op.name == "vector.load" else op.operands[0].type if op.name == "vector.store" else None
        known = op.attributes["alignment"].value if "alignment" in op.attributes else 1
        if moved is None or not is_row(moved) or ir.VectorType(moved).shape[0] % WORD or known % WORD:
            return False
    return True


def layout_of(type_: ir.MemRefType) -> tuple[list[int | None] | None, int | None]:
    """Strides and offset, None where known only at run time; no strides at all for dense buffers in row-major order."""
    if ir.AffineMap.get_identity(type_.rank) == type_.affine_map:
        return None, 0
    strides, offset = type_.get_strides_and_offset()
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    return [None if one == unknown else one for one in strides], None if offset == unknown else offset


def flatten_users(buffer: ir.Value, flat: Flat) -> None:
    """Rewrites all uses of a buffer. UnsupportedError for an op that has no flat form."""
    for use in list(buffer.uses):
        op = use.owner.operation if isinstance(use.owner, ir.OpView) else use.owner
        with ir.InsertionPoint(op), op.location:
            if op.name == "memref.reinterpret_cast":
                flatten_users(op.results[0], recast(op, flat))
            elif op.name == "memref.extract_strided_metadata":
                flatten_users(op.results[0], Flat(flat.base, 0, (), ()))
                numbers = [flat.offset, *flat.sizes, *flat.strides]
                for old, new in zip(list(op.results)[1:], numbers, strict=True):
                    old.replace_all_uses_with(value_of(new))
            else:
                results = rewritten(op, buffer, flat)
                for old, new in zip(op.results, results, strict=True):
                    old.replace_all_uses_with(new)
        op.erase()


def recast(op: ir.Operation, flat: Flat) -> Flat:
    """The buffer that memref.reinterpret_cast makes: another view from the same first byte."""
    rest = iter(list(op.operands)[1:])
    stride, size = ir.ShapedType.get_dynamic_stride_or_offset(), ir.ShapedType.get_dynamic_size()
    offsets, sizes, strides = ([next(rest) if one == unknown else one for one in ir.DenseI64ArrayAttr(op.attributes[name])]
                               for name, unknown in (("static_offsets", stride), ("static_sizes", size), ("static_strides", stride)))
    return Flat(flat.base, offsets[0], tuple(strides), tuple(sizes))


def rewritten(op: ir.Operation, buffer: ir.Value, flat: Flat) -> list[ir.Value]:
    """The values that replace the results of an op on a buffer."""
    if op.name == "memref.load":
        return [load(flat, flat.place(list(op.operands)[1:]), op.results[0].type)]
    if op.name == "memref.store":
        store(flat, op.operands[0], flat.place(list(op.operands)[2:]))
        return []
    if op.name == "memref.dim":
        return [dim(op, flat)]
    if op.name == "memref.dealloc":
        return []
    if flat.words and op.name in ("vector.load", "vector.store"):
        return in_words(op, flat)
    if op.name == "vector.load" and is_row(op.results[0].type):
        lanes = ir.VectorType(op.results[0].type)
        values = [load(flat, flat.place(list(op.operands)[1:], lane), lanes.element_type) for lane in range(lanes.shape[0])]
        return [vector.from_elements(lanes, values)]
    if op.name == "vector.store" and is_row(op.operands[0].type):
        for lane in range(ir.VectorType(op.operands[0].type).shape[0]):
            element = vector.extract(op.operands[0], dynamic_position=[], static_position=[lane])
            store(flat, element, flat.place(list(op.operands)[2:], lane))
        return []
    if op.name in MATRICES:    # whose attribute says how far rows are apart
        place = MATRICES[op.name]
        given = [*list(op.operands)[:place], flat.base, flat.place(list(op.operands)[place + 1:])]
        attributes = {name: op.attributes[name] for name in op.attributes}
        return list(ir.Operation.create(op.name, [r.type for r in op.results], given, attributes).results)
    raise UnsupportedError(f"{describe(op)}: {op.name} on a buffer of type {buffer.type} has no form for Vulkan's storage buffers")


def in_words(op: ir.Operation, flat: Flat) -> list[ir.Value]:
    """A vector of bytes by loads or stores of words."""
    loads = op.name == "vector.load"
    type_ = ir.VectorType(op.results[0].type if loads else op.operands[0].type)
    first = arith.divui(flat.place(list(op.operands)[1 if loads else 2:]), index(WORD))
    places = [first, *(arith.addi(first, index(number)) for number in range(1, type_.shape[0] // WORD))]
    whole = ir.VectorType.get([len(places)], ir.MemRefType(flat.base.type).element_type)
    if loads:
        return [vector.bitcast(type_, vector.from_elements(whole, [memref.load(flat.base, [place]) for place in places]))]
    words = vector.bitcast(whole, op.operands[0])
    for number, place in enumerate(places):
        memref.store(vector.extract(words, dynamic_position=[], static_position=[number]), flat.base, [place])
    return []


def is_row(type_: ir.Type) -> bool:
    """Whether a vector has one dimension."""
    return ir.VectorType(type_).rank == 1


def load(flat: Flat, place: ir.Value, element: ir.Type) -> ir.Value:
    """An element; a byte that is a truth value is compared with 0."""
    found = memref.load(flat.base, [place])
    if found.type == element:
        return found
    return arith.cmpi(arith.CmpIPredicate.ne, found, arith.constant(found.type, 0))


def store(flat: Flat, element: ir.Value, place: ir.Value) -> None:
    """Writes an element; a truth value as a byte."""
    wanted = ir.MemRefType(flat.base.type).element_type
    memref.store(element if element.type == wanted else arith.extui(wanted, element), flat.base, [place])


def dim(op: ir.Operation, flat: Flat) -> ir.Value:
    """The size of a dimension that a constant chooses."""
    chosen = op.operands[1].owner
    if not isinstance(chosen, ir.OpView) or chosen.operation.name != "arith.constant":
        raise UnsupportedError(f"{describe(op)}: the size of a dimension that is chosen at run time has no form for Vulkan's storage "
                               "buffers")
    return value_of(flat.sizes[ir.IntegerAttr(chosen.operation.attributes["value"]).value])
