"""Allocation and description of tensors."""
from legato.codegen.entry.abi import CPU, DLManagedTensor, aligned_alloc, free
from legato.codegen.entry.layouts import OUTPUTS
from legato.codegen.native.language import Pointer, Words, code_of

DESCRIPTION = 64    # bytes of a DLManagedTensor; its shape and strides follow, 16 bytes per axis


def new_tensor(number: int, shape: Words, data_to: Words) -> DLManagedTensor:
    """Allocates an output of a shape. Description and data are one block, which libc's ``free`` frees, since a result outlives the
    model's code. The data, whose address is stored, is aligned to 64 bytes. Null if out of memory."""
    row = OUTPUTS[number]
    elements = 1
    for axis in range(row.rank):
        elements *= shape[axis]
    head = round_up(DESCRIPTION + 16 * row.rank)
    block = DLManagedTensor(aligned_alloc(64, head + round_up(elements * row.width)))
    if block:
        describe_tensor(block, block + head, row.dtype, row.rank, shape, Words(0))
        data_to[0] = int(block + head)
    return block


def round_up(size: int) -> int:
    """The next multiple of 64."""
    return (size + 63) & -64


def describe_tensor(block: DLManagedTensor, data: Pointer, dtype: int, rank: int, shape: Words, strides: Words) -> None:
    """Writes the description of a tensor into a block of sufficient size. ``strides``: null for a dense tensor."""
    tensor = block.tensor
    tensor.data = data
    tensor.device_type = CPU
    tensor.device_id = 0
    tensor.rank = rank
    tensor.dtype = dtype
    tensor.shape = Words(block + DESCRIPTION)
    tensor.strides = Words(block + DESCRIPTION + 8 * rank)
    tensor.byte_offset = 0
    block.context = Pointer(0)
    block.deleter = code_of(free)
    stride = 1
    for axis in reversed(range(rank)):
        tensor.shape[axis] = shape[axis]
        tensor.strides[axis] = strides[axis] if strides else stride
        stride *= shape[axis]
