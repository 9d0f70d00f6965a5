"""Descriptions of values for messages."""
from legato.codegen.entry.abi import DLTensor, TVMFFIAny
from legato.codegen.entry.check import tensor_of
from legato.codegen.native.language import Text, snprintf
from legato.core.tvm_ffi_abi import ARRAY, BOOL, DICT, FLOAT, INT, LIST, MAP, NONE, RAW_STR, SMALL_STR, STR

DESCRIPTION_BYTES = 512


def describe(value: TVMFFIAny, to: Text) -> None:
    """Writes ``float32[1, 7]`` or ``an int`` to DESCRIPTION_BYTES of memory."""
    tensor = tensor_of(value)
    index = value.type_index
    if tensor:
        describe_type(tensor, to)
    elif index == NONE:
        append(to, 0, "None", 0)
    elif index == INT:
        append(to, 0, "an int", 0)
    elif index == BOOL:
        append(to, 0, "a bool", 0)
    elif index == FLOAT:
        append(to, 0, "a float", 0)
    elif index == STR or index == RAW_STR or index == SMALL_STR:
        append(to, 0, "a str", 0)
    elif index == ARRAY or index == LIST:
        append(to, 0, "a list or tuple", 0)
    elif index == MAP or index == DICT:
        append(to, 0, "a dict", 0)
    else:
        append(to, 0, "an object of type index %lld", index)


def describe_type(tensor: DLTensor, to: Text) -> None:
    """Writes a tensor's element type and shape."""
    dtype = tensor.dtype
    lanes = (dtype >> 16) & 65535
    used = append(to, 0, dtype_format(dtype & 255), (dtype >> 8) & 255)
    if lanes != 1:
        used = append(to, used, "x%lld", lanes)
    used = append(to, used, "[", 0)
    for axis in range(tensor.rank):
        used = append(to, used, "%lld" if axis == 0 else ", %lld", tensor.shape[axis])
    append(to, used, "]", 0)


def dtype_format(code: int) -> Text:
    """The format of an element type, for its bits, by DLPack's code."""
    if code == 0:
        return Text("int%lld")
    if code == 1:
        return Text("uint%lld")
    if code == 2:
        return Text("float%lld")
    if code == 4:
        return Text("bfloat%lld")
    return Text("bool" if code == 6 else "(another dtype of %lld bits)")


def append(to: Text, used: int, form: Text, value: int) -> int:
    """Formats a number after the ``used`` bytes of DESCRIPTION_BYTES. Returns the bytes used then."""
    end = used + snprintf(to + used, DESCRIPTION_BYTES - used, form, value)
    return end if end < DESCRIPTION_BYTES else DESCRIPTION_BYTES - 1
