"""The C side of the entry: the structs of DLPack and tvm-ffi, and the functions of tvm-ffi and libc. See ``tvm/ffi/c_api.h``."""
from typing import Annotated

from legato.codegen.native.language import Inline, Int32, Pointer, Struct, Text, Words, extern

CPU = 1             # DLPack's device type


class Object(Pointer):
    """A reference-counted tvm-ffi object; a function's handle is its object."""


class TVMFFIAny(Struct):
    """An argument or a result: its type index (core/tvm_ffi_abi.py), and a number or an address."""

    type_index: Int32
    padding: Int32        # 0
    value: int


class TVMFFIByteArray(Struct):
    """A text and its length in bytes."""

    data: Text
    size: int


class DLTensor(Struct):
    """A tensor. ``dtype``: code, bits and lanes in 1, 1 and 2 bytes (core/dtypes.py). ``strides``: in elements; null for a dense tensor."""

    data: Pointer
    device_type: Int32
    device_id: Int32
    rank: Int32
    dtype: Int32
    shape: Words
    strides: Words
    byte_offset: int


class DLManagedTensor(Struct):
    """A tensor, and the function that frees it."""

    tensor: Annotated[DLTensor, Inline(1)]
    context: Pointer
    deleter: Pointer


class TensorObject(Struct):
    """A tvm-ffi Tensor: the object's header, then the tensor."""

    header: Annotated[Words, Inline(3)]
    tensor: Annotated[DLTensor, Inline(1)]


@extern()
def TVMFFIFunctionCreate(context: Pointer, code: Pointer, deleter: Pointer, to: Words) -> Int32: ...
@extern()
def TVMFFIFunctionGetGlobal(name: TVMFFIByteArray, to: Words) -> Int32: ...
@extern()
def TVMFFIFunctionCall(function: Object, args: TVMFFIAny, count: Int32, result: TVMFFIAny) -> Int32: ...
@extern()
def TVMFFITensorFromDLPack(tensor: DLManagedTensor, require_alignment: Int32, require_contiguous: Int32, to: Words) -> Int32: ...
@extern()
def TVMFFIObjectIncRef(of: Object) -> None: ...
@extern()
def TVMFFIObjectDecRef(of: Object) -> None: ...
@extern()
def TVMFFIErrorSetRaisedFromCStr(kind: Text, message: Text) -> None: ...
@extern()
def aligned_alloc(alignment: int, size: int) -> Pointer: ...
@extern()
def madvise(memory: Pointer, size: int, advice: Int32) -> Int32: ...
@extern()
def malloc(size: int) -> Pointer: ...
@extern()
def calloc(count: int, size: int) -> Pointer: ...
@extern()
def clock_gettime(clock: Int32, time: Words) -> Int32: ...
@extern()
def free(memory: Pointer) -> None: ...
@extern()
def getpid() -> Int32: ...
@extern()
def pthread_create(to: Words, attributes: Words, code: Pointer, argument: Pointer) -> Int32: ...
@extern()
def pthread_join(thread: int, result: Words) -> Int32: ...
@extern()
def pthread_sigmask(how: Int32, signals: Words, before: Words) -> Int32: ...
@extern()
def sched_yield() -> Int32: ...
@extern()
def syscall(number: int, place: Words, operation: int, value: int, timeout: int) -> int: ...
@extern()
def memcpy(to: Pointer, of: Pointer, size: int) -> Pointer: ...
