"""Calls of packed functions. The arguments are described in a table of words, one after the other, which passes/calls/arguments.py
writes: the type index, then for a tensor data, dtype, rank and sizes; for a strided tensor also its strides; for a shape rank and
sizes; for anything else its value. Tensors and shapes become objects for the duration of the call."""
from legato.codegen.entry.abi import (
    DLManagedTensor,
    Object,
    TVMFFIAny,
    TVMFFIErrorSetRaisedFromCStr,
    TVMFFIFunctionCall,
    TVMFFITensorFromDLPack,
    free,
    malloc,
)
from legato.codegen.entry.describe import DESCRIPTION_BYTES, describe
from legato.codegen.entry.results import DESCRIPTION, describe_tensor
from legato.codegen.entry.values import call_registered, drop, drop_values, set_value
from legato.codegen.native.language import Int32, Pointer, Text, Words, address, double_bits, stack
from legato.core.tvm_ffi_abi import BOOL, INT, NONE, SHAPE, STRIDED_TENSOR, TENSOR


def call_packed(function: int, table: Words, count: int) -> Int32:
    """Calls a function and drops its result. 0, or nonzero with the error raised."""
    result = stack(TVMFFIAny)
    code = invoke(Object(function), table, count, result)
    drop(result)
    return code


def call_value(function: int, table: Words, count: int, name: Text, kind: int, to: Words) -> Int32:
    """Calls a function that returns a number. Stores an i64 if ``kind`` is INT, the bits of an f64 if it is FLOAT. ``name``: the
    function's, for messages. 0, or nonzero with the error raised."""
    result = stack(TVMFFIAny)
    code = invoke(Object(function), table, count, result)
    if code == 0:
        index = result.type_index
        if index == kind or (kind == INT and index == BOOL):
            to[0] = result.value
            return 0
        if index == INT or index == BOOL:
            to[0] = double_bits(result.value)
            return 0
        code = refuse_value(name, kind, result)
    drop(result)
    return code


def refuse_value(name: Text, kind: int, result: TVMFFIAny) -> int:
    """Raises the error for a function that did not return a number, or a float instead of an int. Nonzero."""
    given = stack(Text, DESCRIPTION_BYTES)
    describe(result, given)
    expected = "an int" if kind == INT else "a float"
    TVMFFIErrorSetRaisedFromCStr("TypeError", f"the packed function '{name}' must return {expected}, but {given} came back")
    return -1


def invoke(function: Object, table: Words, count: int, result: TVMFFIAny) -> int:
    """Calls a function; the caller must drop its result. 0, or nonzero with the error raised."""
    args = stack(TVMFFIAny, count)
    set_value(result, NONE, 0)
    row = table
    made = 0
    code = 0
    while made < count and code == 0:
        code = make_argument(row, args[made])
        if code == 0:
            row = next_row(row)
            made += 1
    if code == 0:
        code = TVMFFIFunctionCall(function, args, count, result)
    drop_values(args, made)
    return code


def next_row(row: Words) -> Words:
    """The description of the next argument."""
    if row[0] == TENSOR:
        return address(row[4 + row[3]])
    if row[0] == STRIDED_TENSOR:
        return address(row[4 + 2 * row[3]])
    return address(row[2 + row[1]]) if row[0] == SHAPE else address(row[2])


def make_argument(row: Words, to: TVMFFIAny) -> int:
    """Creates the value that a row describes. 0, or nonzero with the error raised."""
    if row[0] == TENSOR or row[0] == STRIDED_TENSOR:
        return make_tensor(row, to)
    if row[0] == SHAPE:
        return make_shape(row, to)
    set_value(to, row[0], row[1])
    return 0


def make_tensor(row: Words, to: TVMFFIAny) -> int:
    """Creates a Tensor object that does not own its memory. 0, or nonzero with the error raised."""
    rank = row[3]
    shape = address(row[4])
    block = DLManagedTensor(malloc(DESCRIPTION + 16 * rank))
    if not block:
        TVMFFIErrorSetRaisedFromCStr("MemoryError", "no memory to describe a tensor for a packed function")
        return -1
    describe_tensor(block, Pointer(row[1]), row[2], rank, shape, Words(0) if row[0] == TENSOR else address(shape[rank]))
    set_value(to, TENSOR, 0)
    code = TVMFFITensorFromDLPack(block, 0, 0, address(to.value))
    if code != 0:
        free(block)
    return code


def make_shape(row: Words, to: TVMFFIAny) -> int:
    """Creates a Shape object. 0, or nonzero with the error raised."""
    rank = row[1]
    args = stack(TVMFFIAny, rank)
    for axis in range(rank):
        set_value(args[axis], INT, row[2 + axis])
    return call_registered("ffi.Shape", 9, args, rank, to)
