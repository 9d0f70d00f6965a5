"""The conditions under which an op on buffers stays inside of them, as IR in front of it.

An access has a row for each axis that it indexes: the first and the last index, and how many elements there are. Accesses with a mask, and
those of single elements at many places, have one row with the least and the greatest place that they touch.
"""
from collections.abc import Callable
from dataclasses import dataclass, replace

from legato.core.ir_helpers import index, mixed
from legato.core.mlir import arith, ir, memref, vector
from legato.core.vector_loops import value_of

DYNAMIC = ir.ShapedType.get_dynamic_size()
UNKNOWN = ir.ShapedType.get_dynamic_stride_or_offset()
BY_ELEMENT = -1     # the axis of a row that counts all elements of a buffer in their order in memory


@dataclass(frozen=True)
class IndexCheck:
    """That ``first`` is not negative, and ``last`` below ``extent``: index values. ``holds``: an i1 that is true where nothing is accessed,
    or None. ``is_open``: ``last`` does not matter, since what lies behind the extent is masked."""

    axis: int
    first: ir.Value
    last: ir.Value
    extent: ir.Value
    holds: ir.Value | None = None
    is_open: bool = False

    def build(self) -> ir.Value:
        """The condition, as an i1 at the insertion point."""
        good = arith.cmpi(arith.CmpIPredicate.sge, self.first, index(0))
        if not self.is_open:
            good = arith.andi(good, arith.cmpi(arith.CmpIPredicate.slt, self.last, self.extent))
        return good if self.holds is None else arith.ori(good, self.holds)


def checks_of(op: ir.Operation) -> list[IndexCheck]:
    """The checks of an op, built at the insertion point; none for an op that accesses no buffer by an index."""
    return CHECKS[op.name](op) if op.name in CHECKS else []


def size_of(buffer: ir.Value, axis: int) -> ir.Value:
    """The size of an axis of a buffer as an index value."""
    size = buffer.type.shape[axis]
    return memref.dim(buffer, index(axis)) if size == DYNAMIC else index(size)


def _rows(buffer: ir.Value, indices: list[ir.Value], lanes: dict[int, int], is_open: frozenset[int] = frozenset()) -> list[IndexCheck]:
    """A row for each axis. ``lanes``: how many elements along an axis, where more than one."""
    rows = []
    for axis, first in enumerate(indices):
        last = arith.addi(first, index(lanes[axis] - 1)) if lanes.get(axis, 1) > 1 else first
        rows.append(IndexCheck(axis, first, last, size_of(buffer, axis), is_open=axis in is_open))
    return rows


def _indexed(op: ir.Operation, at: int) -> tuple[ir.Value, list[ir.Value]]:
    """The buffer that is operand ``at``, and the indices behind it."""
    operands = list(op.operands)
    return operands[at], operands[at + 1:at + 1 + operands[at].type.rank]


def _scalar(at: int) -> Callable[[ir.Operation], list[IndexCheck]]:
    return lambda op: _rows(*_indexed(op, at), {})


def _vector(at: int, type_of: Callable[[ir.Operation], ir.Type]) -> Callable[[ir.Operation], list[IndexCheck]]:
    """A vector along the last axes; one element of a buffer of vectors."""
    def build(op: ir.Operation) -> list[IndexCheck]:
        buffer, indices = _indexed(op, at)
        if isinstance(buffer.type.element_type, ir.VectorType):
            return _rows(buffer, indices, {})
        shape = type_of(op).shape
        return _rows(buffer, indices, {len(indices) - len(shape) + d: size for d, size in enumerate(shape)})

    return build


def _transfer(op: ir.Operation) -> list[IndexCheck]:
    is_read = op.name == "vector.transfer_read"
    buffer, indices = _indexed(op, 0 if is_read else 1)
    if not isinstance(buffer.type, ir.MemRefType):
        return []
    type_ = (op.results[0] if is_read else op.operands[0]).type
    shape = [] if not isinstance(type_, ir.VectorType) else list(type_.shape)
    if isinstance(buffer.type.element_type, ir.VectorType):
        shape = shape[:len(shape) - len(buffer.type.element_type.shape)]
    places = op.attributes["permutation_map"].value.results
    inside = [bool(one) for one in op.attributes["in_bounds"]]
    axis_of = {d: place.position for d, place in enumerate(places) if isinstance(place, ir.AffineDimExpr)}
    has_mask = op.attributes["operandSegmentSizes"][3] == 1
    if has_mask:
        if len(shape) == 1 and 0 in axis_of:
            return _masked(buffer, indices, op.operands[len(op.operands) - 1], axis_of[0])
        inside = [False] * len(shape)
    lanes = {axis: shape[d] for d, axis in axis_of.items()}
    return _rows(buffer, indices, lanes, frozenset(axis for d, axis in axis_of.items() if not inside[d]))


def _masked(buffer: ir.Value, indices: list[ir.Value], mask: ir.Value, axis: int = -1) -> list[IndexCheck]:
    """Lanes of a mask along an axis, by default the last one. A mask without lanes accesses nothing, whatever the indices are."""
    axis, nothing = axis % len(indices), _is_empty(mask)
    others = [replace(row, holds=nothing) for row in _rows(buffer, indices, {}) if row.axis != axis]
    lanes = ir.VectorType(mask.type).shape[0]
    at = arith.addi(_broadcast(_as_i64(indices[axis]), lanes), _iota(lanes))
    return [*others, _of_lanes(axis, at, mask, size_of(buffer, axis))]


def _masked_op(at: int, mask: Callable[[int], int]) -> Callable[[ir.Operation], list[IndexCheck]]:
    """``mask``: the number of the mask's operand, from the rank."""
    def build(op: ir.Operation) -> list[IndexCheck]:
        buffer, indices = _indexed(op, at)
        return _masked(buffer, indices, op.operands[mask(len(indices))])

    return build


def _gathered(op: ir.Operation) -> list[IndexCheck]:
    """Elements at offsets, from indices on, in the order of memory."""
    buffer, indices = _indexed(op, 0)
    if not isinstance(buffer.type, ir.MemRefType):
        return []
    offsets, mask = op.operands[1 + len(indices)], op.operands[2 + len(indices)]
    lanes = offsets.type.shape[0]
    start, end = _places(buffer, indices)
    wide = ir.VectorType.get([lanes], ir.IntegerType.get_signless(64))
    element = offsets.type.element_type
    if isinstance(element, ir.IndexType):
        offsets = arith.index_cast(wide, offsets)
    elif element.width < 64:
        offsets = arith.extsi(wide, offsets)
    return [_of_lanes(BY_ELEMENT, arith.addi(_broadcast(_as_i64(start), lanes), offsets), mask, end)]


def _places(buffer: ir.Value, indices: list[ir.Value]) -> tuple[ir.Value, ir.Value]:
    """The place of an element in the memory of a buffer, and that behind its last one, both from its first on."""
    strides = _strides(buffer)
    at, end = index(0), index(1)
    for axis, (one, stride) in enumerate(zip(indices, strides, strict=True)):
        at = arith.addi(at, arith.muli(one, stride))
        end = arith.addi(end, arith.muli(arith.subi(size_of(buffer, axis), index(1)), stride))
    return at, end


def _strides(buffer: ir.Value) -> list[ir.Value]:
    strides, _ = buffer.type.get_strides_and_offset()
    if UNKNOWN not in strides:
        return [index(stride) for stride in strides]
    rank, type_ = buffer.type.rank, ir.IndexType.get()
    base = ir.MemRefType.get([], buffer.type.element_type)
    parts = ir.Operation.create("memref.extract_strided_metadata", [base, type_, *([type_] * (2 * rank))], [buffer])
    return list(parts.results)[2 + rank:]


def _of_lanes(axis: int, places: ir.Value, mask: ir.Value, extent: ir.Value) -> IndexCheck:
    """A row for the least and the greatest place among the lanes of a mask."""
    i64, lanes = ir.IntegerType.get_signless(64), places.type.shape[0]
    zero = _constant(places.type, [0] * lanes)
    kept = arith.select(mask, places, zero)     # where a masked lane would be does not matter
    least, greatest = (vector.reduction(i64, ir.Attribute.parse(f"#vector.kind<{kind}>"), kept) for kind in ("minsi", "maxsi"))
    index_ = ir.IndexType.get()
    return IndexCheck(axis, arith.index_cast(index_, least), arith.index_cast(index_, greatest), extent, _is_empty(mask))


def _is_empty(mask: ir.Value) -> ir.Value:
    i1 = ir.IntegerType.get_signless(1)
    return arith.xori(vector.reduction(i1, ir.Attribute.parse("#vector.kind<or>"), mask), arith.constant(i1, True))


def _copy(op: ir.Operation) -> list[IndexCheck]:
    """The sizes of the two buffers are equal: what has none of the source's elements is too small or too large."""
    source, target = op.operands
    rows = []
    for axis in range(source.type.rank):
        if source.type.shape[axis] == target.type.shape[axis] != DYNAMIC:
            continue
        sizes = [size_of(one, axis) for one in (source, target)]
        same = arith.cmpi(arith.CmpIPredicate.eq, *sizes)
        rows.append(IndexCheck(axis, index(-1), arith.subi(sizes[0], index(1)), sizes[1], same))
    return rows


def _subview(op: ir.Operation) -> list[IndexCheck]:
    """Each axis ends inside of the source. A part without elements may be anywhere."""
    offsets, sizes, strides = ([value_of(size) for size in mixed(op, name)] for name in ("offsets", "sizes", "strides"))
    source = op.operands[0]
    empty = _any_is_zero(sizes)
    rows = []
    for axis, (offset, size, stride) in enumerate(zip(offsets, sizes, strides, strict=True)):
        last = arith.addi(offset, arith.muli(arith.subi(size, index(1)), stride))
        rows.append(IndexCheck(axis, offset, last, size_of(source, axis), empty))
    return rows


def _reinterpret(op: ir.Operation) -> list[IndexCheck]:
    """A new shape ends inside of the source's memory, which is known where its own layout begins at its first element."""
    source = op.operands[0]
    if source.type.rank == 0 or not isinstance(source.type, ir.MemRefType) or source.type.get_strides_and_offset()[1] != 0:
        return []
    (offset,), sizes, strides = ([value_of(size) for size in mixed(op, name)] for name in ("offsets", "sizes", "strides"))
    last = offset
    for size, stride in zip(sizes, strides, strict=True):
        last = arith.addi(last, arith.muli(arith.subi(size, index(1)), stride))
    _, end = _places(source, [index(0)] * source.type.rank)
    return [IndexCheck(BY_ELEMENT, offset, last, end, _any_is_zero(sizes))]


def _view(op: ir.Operation) -> list[IndexCheck]:
    """A buffer in memory of bytes ends inside of it."""
    source, shift, *dynamic = op.operands
    type_, given = op.results[0].type, iter(dynamic)
    sizes = [next(given) if size == DYNAMIC else index(size) for size in type_.shape]
    element = type_.element_type
    length = index(8 if isinstance(element, ir.IndexType) else max(element.width // 8, 1))
    for size in sizes:
        length = arith.muli(length, size)
    last = arith.subi(arith.addi(shift, length), index(1))
    return [IndexCheck(0, shift, last, size_of(source, 0), _any_is_zero(sizes))]


def _cast(op: ir.Operation) -> list[IndexCheck]:
    """The sizes that a cast states are those that the buffer has."""
    source, type_ = op.operands[0], op.results[0].type
    if not isinstance(source.type, ir.MemRefType) or not isinstance(type_, ir.MemRefType):
        return []
    rows = []
    for axis, (have, want) in enumerate(zip(source.type.shape, type_.shape, strict=True)):
        if have == DYNAMIC != want:
            size = size_of(source, axis)
            rows.append(IndexCheck(axis, index(-1), index(want - 1), size, arith.cmpi(arith.CmpIPredicate.eq, size, index(want))))
    return rows


def _any_is_zero(sizes: list[ir.Value]) -> ir.Value:
    found = arith.constant(ir.IntegerType.get_signless(1), False)
    for size in sizes:
        found = arith.ori(found, arith.cmpi(arith.CmpIPredicate.eq, size, index(0)))
    return found


def _as_i64(value: ir.Value) -> ir.Value:
    return arith.index_cast(ir.IntegerType.get_signless(64), value)


def _broadcast(value: ir.Value, lanes: int) -> ir.Value:
    return vector.broadcast(ir.VectorType.get([lanes], value.type), value)


def _iota(lanes: int) -> ir.Value:
    return _constant(ir.VectorType.get([lanes], ir.IntegerType.get_signless(64)), list(range(lanes)))


def _constant(type_: ir.VectorType, values: list[int]) -> ir.Value:
    numbers = [ir.IntegerAttr.get(type_.element_type, value) for value in values]
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get(numbers, type_)).result


CHECKS: dict[str, Callable[[ir.Operation], list[IndexCheck]]] = {
    "memref.load": _scalar(0), "memref.store": _scalar(1), "memref.atomic_rmw": _scalar(1), "memref.generic_atomic_rmw": _scalar(0),
    "vector.load": _vector(0, lambda op: op.results[0].type), "vector.store": _vector(1, lambda op: op.operands[0].type),
    "vector.transfer_read": _transfer, "vector.transfer_write": _transfer,
    "vector.maskedload": _masked_op(0, lambda rank: 1 + rank), "vector.maskedstore": _masked_op(0, lambda rank: 1 + rank),
    "vector.expandload": _masked_op(0, lambda rank: 1 + rank), "vector.compressstore": _masked_op(0, lambda rank: 1 + rank),
    "vector.gather": _gathered, "vector.scatter": _gathered,
    "memref.copy": _copy, "memref.subview": _subview, "memref.reinterpret_cast": _reinterpret, "memref.view": _view, "memref.cast": _cast,
}
