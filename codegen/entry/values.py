"""Values and functions of tvm-ffi."""
from legato.codegen.entry.abi import (
    Object,
    TVMFFIAny,
    TVMFFIByteArray,
    TVMFFIFunctionCall,
    TVMFFIFunctionGetGlobal,
    TVMFFIObjectDecRef,
)
from legato.codegen.native.language import Text, Words, stack
from legato.core.tvm_ffi_abi import NONE, OBJECT


def set_value(to: TVMFFIAny, type_index: int, value: int) -> None:
    """Writes a value."""
    to.type_index = type_index
    to.padding = 0
    to.value = value


def drop(value: TVMFFIAny) -> None:
    """Releases the reference that a value holds, if it is an object."""
    if value.type_index >= OBJECT:
        TVMFFIObjectDecRef(Object(value.value))


def drop_values(values: TVMFFIAny, count: int) -> None:
    """Releases the references that the first ``count`` values hold."""
    for i in range(count):
        drop(values[i])


def drop_object(held: Object) -> None:
    """Releases a reference, if it is not null."""
    if held:
        TVMFFIObjectDecRef(held)


def find_function(name: Text, length: int, to: Words) -> int:
    """Stores the handle of the function registered under a name of ``length`` bytes; null if there is none. 0, or nonzero with the
    error raised."""
    text = stack(TVMFFIByteArray)
    text.data = name
    text.size = length
    return TVMFFIFunctionGetGlobal(text, to)


def call_registered(name: Text, length: int, args: TVMFFIAny, count: int, result: TVMFFIAny) -> int:
    """Calls one of tvm-ffi's own functions by name. 0, or nonzero with the error raised."""
    handle = stack(Words)
    set_value(result, NONE, 0)
    code = find_function(name, length, handle)
    if code == 0:
        code = TVMFFIFunctionCall(Object(handle[0]), args, count, result)
        TVMFFIObjectDecRef(Object(handle[0]))
    return code
