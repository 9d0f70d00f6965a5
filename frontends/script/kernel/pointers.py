"""Addresses of elements, for C functions."""

from typing import Any

from legato.core.mlir import arith, ir, llvm, memref
from legato.frontends.script.kernel.arithmetic import binary
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.values import Scalar, as_index, as_scalar, cast
from legato.frontends.script.kernel.views import Part, View, unravel

POINTER = "!llvm.ptr"


class PointerValue:
    """The address of an element as an ``llvm.ptr``."""

    def __init__(self, value: ir.Value):
        self.value = value


def c_value(x: Any) -> ir.Value:
    """A scalar as an argument of a C function: an index is passed as int32, as TVM passes it."""
    x = as_scalar(x)
    return cast(x, "int32").value if x.dtype == "index" else x.value


def extern_value(x: Any) -> ir.Value:
    """An argument of a C function or of a device's op: a number, an address, or a buffer, for the address of its first element."""
    if isinstance(x, Buffer):
        x = pointer(x, [0] * x.rank)
    return x.value if isinstance(x, PointerValue) else c_value(x)


def pointer(buffer: Buffer, indices: list[Any]) -> PointerValue:
    """The address of the element at indices."""
    while isinstance(buffer, View):
        buffer, indices = buffer.base, buffer.in_base(indices)
    element = buffer.value.type.element_type
    bytes_ = max(1, (64 if isinstance(element, ir.IndexType) else element.width) // 8)
    _, offset, *rest = memref.ExtractStridedMetadataOp(buffer.value).results
    place: Any = Scalar(offset, "index")
    for stride, i in zip(rest[buffer.rank:], indices):
        place = binary("+", place, binary("*", Scalar(stride, "index"), i))
    base = memref.ExtractAlignedPointerAsIndexOp(buffer.value).result
    address = arith.AddIOp(base, as_index(binary("*", place, bytes_))).result
    integer = arith.IndexCastOp(ir.IntegerType.get_signless(64), address).result
    return PointerValue(llvm.IntToPtrOp(ir.Type.parse(POINTER), integer).result)


def strides_in_memory(buffer: Buffer) -> tuple[Any, ...]:
    """The strides in elements where the kernel runs, which may be inside of a kernel with larger buffers."""
    if isinstance(buffer, Part):
        strides = strides_in_memory(buffer.base)
        return tuple(strides[dimension] for dimension in buffer.kept)
    if isinstance(buffer, View):
        return buffer.strides()
    _, _, *rest = memref.ExtractStridedMetadataOp(buffer.value).results
    return tuple(Scalar(stride, "index") for stride in rest[buffer.rank:])


def pointer_behind(buffer: Buffer, elements: Any) -> PointerValue:
    """The address of element number ``elements``, row-major."""
    return pointer(buffer, unravel(elements, buffer.shape))
