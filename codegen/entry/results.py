"""Allocation and description of tensors."""
from legato.codegen.entry.abi import CPU, DLManagedTensor, DLTensor, Object, TVMFFITensorFromDLPack, free
from legato.codegen.entry.layouts import OUTPUTS
from legato.codegen.entry.memory import allocate
from legato.codegen.native.language import Pointer, Words, code_of, stack

DESCRIPTION = 64    # bytes of a DLManagedTensor; its shape and strides follow, 16 bytes per axis


def new_tensor(number: int, shape: Words, room: int, data_to: Words) -> Object:
    """Allocates a tensor for an output of a shape, with room for so many bytes of data. Description and data are one block, which libc's
    ``free`` frees, since a result outlives the model's code. The data, whose address is stored, is aligned to 64 bytes; the block's
    context is its room. Null if out of memory."""
    row = OUTPUTS[number]
    head = data_offset(row.rank)
    made = stack(Words)
    block = DLManagedTensor(allocate(head + round_up(room)))
    if not block:
        return Object(0)
    describe_tensor(block, block + head, row.dtype, row.rank, shape, Words(0))
    block.context = Pointer(round_up(room))
    data_to[0] = int(block + head)
    if TVMFFITensorFromDLPack(block, 0, 0, made) != 0:
        free(block)
        return Object(0)
    return Object(made[0])


def data_offset(rank: int) -> int:
    """The offset of an output's data in its block."""
    return round_up(DESCRIPTION + 16 * rank)


def set_shape(tensor: DLTensor, shape: Words) -> None:
    """Writes the shape of a dense tensor, and its strides."""
    stride = 1
    for axis in reversed(range(tensor.rank)):
        tensor.shape[axis] = shape[axis]
        tensor.strides[axis] = stride
        stride *= shape[axis]


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
    set_shape(tensor, shape)
    if strides:
        for axis in range(rank):
            tensor.strides[axis] = strides[axis]
