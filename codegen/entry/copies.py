"""Copies of tensors that packed functions return."""
from legato.codegen.entry.abi import DLTensor, aligned_alloc, memcpy
from legato.codegen.entry.packed import next_row
from legato.codegen.entry.results import round_up
from legato.codegen.native.language import Pointer, Words, address
from legato.core.tvm_ffi_abi import TENSOR


def in_arguments(data: Pointer, table: Words, count: int) -> bool:
    """Whether an address is in the memory of a tensor in a table of arguments (packed.py)."""
    row = table
    for _ in range(count):
        if row[0] == TENSOR:
            start = Pointer(row[1])
            if start <= data and data < start + bytes_of(row[2], elements_of(address(row[4]), row[3])):
                return True
        row = next_row(row)
    return False


def copy_tensor(tensor: DLTensor) -> Words:
    """A contiguous copy of a tensor of any strides, aligned to 64 bytes, to be freed. Null if out of memory."""
    elements = elements_of(tensor.shape, tensor.rank)
    width = bytes_of(tensor.dtype, 1)
    copy = Words(aligned_alloc(64, round_up(elements * width + 1)))
    if copy:
        data = tensor.data + tensor.byte_offset
        for i in range(elements):
            memcpy(copy + i * width, data + offset_of(tensor, i) * width, width)
    return copy


def offset_of(tensor: DLTensor, element: int) -> int:
    """The offset of an element, in elements, by its number in row-major order."""
    if not tensor.strides:
        return element
    offset = 0
    for axis in reversed(range(tensor.rank)):
        rest = element // tensor.shape[axis]
        offset += (element - rest * tensor.shape[axis]) * tensor.strides[axis]
        element = rest
    return offset


def elements_of(shape: Words, rank: int) -> int:
    """The number of elements."""
    count = 1
    for axis in range(rank):
        count *= shape[axis]
    return count


def bytes_of(dtype: int, elements: int) -> int:
    """The bytes of ``elements`` elements of a DLPack dtype."""
    return elements * ((((dtype >> 8) & 255) + 7) >> 3)
