"""AMX's instructions as calls of LLVM's intrinsics, and the addresses that they take."""
from __future__ import annotations

from legato.core.ir_helpers import index
from legato.core.mlir import arith, ir, memref, vector
from legato.passes.cpu.matrices.products import Access


def address(access: Access, size: int) -> ir.Value:
    """The place of an access's first element, of ``size`` bytes, as an index."""
    source, dynamic = access.memref, ir.ShapedType.get_dynamic_stride_or_offset()
    strides, offset = source.type.get_strides_and_offset()
    if offset == dynamic or dynamic in strides:
        rank, type_ = source.type.rank, ir.IndexType.get()
        base = ir.MemRefType.get([], source.type.element_type, None, source.type.memory_space)
        metadata = ir.Operation.create("memref.extract_strided_metadata", [base, *[type_] * (1 + 2 * rank)], [source])
        start = metadata.results[1] if offset == dynamic else index(offset)
        steps = [metadata.results[2 + rank + d] if stride == dynamic else index(stride) for d, stride in enumerate(strides)]
    else:
        start, steps = index(offset), [index(stride) for stride in strides]
    for place, step in zip(access.indices, steps):
        start = arith.addi(start, arith.muli(place, step))
    return arith.addi(memref.ExtractAlignedPointerAsIndexOp(source).result, arith.muli(start, index(size)))


def pointer(place: ir.Value, more: int = 0) -> ir.Value:
    """An address as a pointer, ``more`` bytes after it."""
    if more:
        place = arith.addi(place, index(more))
    words = arith.IndexCastOp(ir.IntegerType.get_signless(64), place).result
    return ir.Operation.create("llvm.inttoptr", [ir.Type.parse("!llvm.ptr")], [words]).results[0]


def register(which: int) -> ir.Value:
    """The number of a tile register, as intrinsics take it."""
    return _constant(which, 8)


def number(value: int) -> ir.Value:
    """A number of bytes, as intrinsics take it."""
    return _constant(value, 64)


def _constant(value: int, bits: int) -> ir.Value:
    type_ = ir.IntegerType.get_signless(bits)
    return ir.Operation.create("llvm.mlir.constant", [type_], attributes={"value": ir.IntegerAttr.get(type_, value)}).results[0]


def intrinsic(name: str, *operands: ir.Value) -> None:
    """A call of one of LLVM's intrinsics without a result."""
    ir.Operation.create("llvm.call_intrinsic", [], list(operands), {
        "intrin": ir.StringAttr.get(name if name.startswith("llvm.") else f"llvm.x86.{name}"),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]), "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0])})


def write_all(value: ir.Value, buffer: ir.Value) -> None:
    """Stores a vector into a buffer of its shape."""
    rank = buffer.type.rank
    vector.TransferWriteOp(None, value, buffer, [index(0)] * rank, ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank)), _in_bounds(rank))


def read_all(buffer: ir.Value, type_: ir.Type) -> ir.Value:
    """A buffer as a vector of its shape."""
    rank = buffer.type.rank
    zero = arith.ConstantOp(type_.element_type, 0 if isinstance(type_.element_type, ir.IntegerType) else 0.0).result
    identity = ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))
    return vector.TransferReadOp(type_, buffer, [index(0)] * rank, identity, zero, _in_bounds(rank)).result


def _in_bounds(rank: int) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.BoolAttr.get(True)] * rank)
