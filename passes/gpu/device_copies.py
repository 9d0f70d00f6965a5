"""Copies between buffers of the device, by addresses: of a whole buffer at once if both are contiguous, else of the parts that are."""
from collections.abc import Callable, Sequence

from legato.core.ir_helpers import index
from legato.core.mlir import arith, ir, memref, scf

Copy = Callable[[ir.Value, ir.Value, ir.Value], object]     # of an address to another one, and bytes
DYNAMIC = ir.ShapedType.get_dynamic_size()


def copies(op: ir.Operation, copy: Copy) -> None:
    """Emits what a memref.copy of two buffers does, at the insertion point: ``copy`` of each contiguous part, in loops around it."""
    source, to = op.operands
    type_ = ir.MemRefType(source.type)
    outer = type_.rank - min(contiguous_axes(ir.MemRefType(one.type)) for one in (source, to))
    width = item_bytes(type_.element_type)

    def part(axis: int, indices: list[ir.Value]) -> None:
        if axis < outer:
            loop = scf.ForOp(index(0), memref.dim(source, index(axis)), index(1))
            with ir.InsertionPoint(loop.body):
                part(axis + 1, [*indices, loop.induction_variable])
                scf.yield_([])
            return
        size = index(width)
        for inner in range(outer, type_.rank):
            size = arith.muli(size, memref.dim(source, index(inner)))
        copy(element(to, indices, width), element(source, indices, width), size)

    part(0, [])


def contiguous_axes(type_: ir.MemRefType) -> int:
    """How many of the last axes lie in memory one after the other, whatever the sizes are that are not known."""
    if type_.affine_map == ir.AffineMap.get_identity(type_.rank):
        return type_.rank
    strides, _ = type_.get_strides_and_offset()
    count, step = 0, 1
    for size, stride in reversed(list(zip(type_.shape, strides))):
        if size != 1 and stride != step:
            break
        count += 1
        if size == DYNAMIC:
            break
        step *= size
    return count


def element(buffer: ir.Value, indices: Sequence[ir.Value], width: int) -> ir.Value:
    """The address of an element, or, with fewer indices than axes, of the first one of a part. ``width``: bytes of an element."""
    rank = ir.MemRefType(buffer.type).rank
    _, offset, *layout = memref.ExtractStridedMetadataOp(buffer).results
    for at, stride in zip(indices, layout[rank:]):
        offset = arith.addi(offset, arith.muli(at, stride))
    return arith.addi(memref.extract_aligned_pointer_as_index(buffer), arith.muli(offset, index(width)))


def item_bytes(type_: ir.Type) -> int:
    """The bytes of an element; truth values are bytes."""
    if isinstance(type_, ir.IndexType):
        return 8
    assert isinstance(type_, ir.IntegerType | ir.FloatType)
    return max(1, type_.width // 8)
