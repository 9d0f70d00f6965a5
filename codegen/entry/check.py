"""Checks of a value against the model's inputs."""
from legato.codegen.entry.abi import CPU, DLTensor, TensorObject, TVMFFIAny
from legato.codegen.entry.layouts import AXES, INPUTS, AxisRow, InputRow
from legato.codegen.native.language import Words
from legato.core.tvm_ffi_abi import DL_TENSOR, TENSOR

RIGHT = -1
NO_TENSOR, DEVICE, DTYPE, RANK, SIZE, SYMBOL, STRIDES, NO_DATA, ALIGNMENT = range(9)    # kinds of mismatch


def check(value: TVMFFIAny, number: int, symbols: Words, data_to: Words, detail_to: Words) -> int:
    """Checks a value against a row of the inputs; stores its data's address, and the symbols in its shape. RIGHT, or the kind of
    mismatch; ``detail_to`` gets the wrong axis, or the required alignment in bytes."""
    tensor = tensor_of(value)
    if not tensor:
        return NO_TENSOR
    if tensor.device_type != CPU:
        return DEVICE
    return check_tensor(tensor, INPUTS[number], symbols, data_to, detail_to)


def check_tensor(tensor: DLTensor, row: InputRow, symbols: Words, data_to: Words, detail_to: Words) -> int:
    """``check``, for a tensor wherever it is."""
    if tensor.dtype != row.dtype:
        return DTYPE
    if tensor.rank != row.rank:
        return RANK
    count = 1
    dense = True
    empty = False
    for axis in reversed(range(row.rank)):
        size = tensor.shape[axis]
        wrong = check_size(size, AXES[row.first_axis + axis], symbols)
        if wrong != RIGHT:
            detail_to[0] = axis
            return wrong
        if tensor.strides:
            dense = dense & ((tensor.strides[axis] == count) | (size == 1))
        empty = empty | (size == 0)
        count *= size
    data = tensor.data + tensor.byte_offset
    data_to[0] = int(data)
    if empty:       # a tensor without elements may have any strides, and no data
        return RIGHT
    if not tensor.data:
        return NO_DATA
    if not dense:
        return STRIDES
    if int(data) & (row.width - 1) != 0:
        detail_to[0] = row.width
        return ALIGNMENT
    return RIGHT


def check_size(size: int, axis: AxisRow, symbols: Words) -> int:
    """Checks a size, which defines its symbol if that has no value yet."""
    if axis.symbol < 0:
        return RIGHT if size == axis.offset else SIZE
    value = symbols[axis.symbol]
    if value >= 0:
        return RIGHT if size == value * axis.scale + axis.offset else SYMBOL
    value = (size - axis.offset) // axis.scale
    if value < 0 or size != value * axis.scale + axis.offset:
        return SYMBOL
    symbols[axis.symbol] = value
    return RIGHT


def tensor_of(value: TVMFFIAny) -> DLTensor:
    """The tensor in a value: a Tensor object's, or a bare one; null for anything else."""
    if value.type_index == TENSOR:
        return TensorObject(value.value).tensor
    return DLTensor(value.value) if value.type_index == DL_TENSOR else DLTensor(0)
