"""Arguments whose memory results take: they share none with other arguments, and are given back."""
from legato.codegen.entry.abi import (
    DLManagedTensor,
    DLTensor,
    Object,
    TVMFFIAny,
    TVMFFIErrorSetRaisedFromCStr,
    TVMFFIObjectIncRef,
    TVMFFITensorFromDLPack,
    aligned_alloc,
    free,
)
from legato.codegen.entry.check import tensor_of
from legato.codegen.entry.copies import bytes_of, elements_of
from legato.codegen.entry.layouts import COUNTS, INPUTS, OUTPUTS, STRINGS
from legato.codegen.entry.messages import refuse_late
from legato.codegen.entry.results import DESCRIPTION, describe_tensor, round_up
from legato.codegen.entry.values import set_value
from legato.codegen.native.language import Words, address, stack
from legato.core.tvm_ffi_abi import TENSOR


def check_donors(args: TVMFFIAny, data: Words) -> int:
    """Checks that no other argument is in the memory of one that is donated. ``data``: the address of each argument's data. 0, or nonzero
    with the error raised."""
    ends = stack(Words, COUNTS.inputs)
    donates = False
    for o in range(COUNTS.outputs):
        donates = donates | (OUTPUTS[o].donor >= 0)
    if not donates:
        return 0
    for i in range(COUNTS.inputs):
        tensor = tensor_of(args[i])
        ends[i] = data[i] + bytes_of(tensor.dtype, elements_of(tensor.shape, tensor.rank))
    for o in range(COUNTS.outputs):
        donor = OUTPUTS[o].donor
        if donor >= 0:
            for i in range(COUNTS.inputs):
                if i != donor and data[i] < ends[donor] and data[donor] < ends[i]:
                    return refuse_shared(donor, i)
    return 0


def refuse_shared(donor: int, other: int) -> int:
    """For an argument in the memory of a donated one. Nonzero."""
    name = STRINGS + INPUTS[donor].name
    reader = STRINGS + INPUTS[other].name
    TVMFFIErrorSetRaisedFromCStr("ValueError", f"main: argument {donor} '{name}' is donated: a result takes its memory, which argument "
                                 f"{other} '{reader}' shares. Pass a copy of one of them")
    return -1


def same_tensor(tensor: DLTensor) -> DLManagedTensor:
    """A description of a dense tensor in the same memory, which stays the caller's. Null if out of memory."""
    block = DLManagedTensor(aligned_alloc(64, round_up(DESCRIPTION + 16 * tensor.rank)))
    if block:
        describe_tensor(block, tensor.data + tensor.byte_offset, tensor.dtype, tensor.rank, tensor.shape, Words(0))
        block.tensor.device_type = tensor.device_type
        block.tensor.device_id = tensor.device_id
    return block


def give_back(value: TVMFFIAny, to: TVMFFIAny) -> int:
    """Makes the result that takes the memory of a donated argument: that tensor again. 0, or nonzero with the error raised."""
    set_value(to, TENSOR, 0)
    if value.type_index == TENSOR:
        TVMFFIObjectIncRef(Object(value.value))
        to.value = value.value
        return 0
    block = same_tensor(tensor_of(value))
    if not block:
        return refuse_late()
    code = TVMFFITensorFromDLPack(block, 0, 0, address(to.value))
    if code != 0:
        free(block)
    return code
