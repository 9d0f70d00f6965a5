"""Results of packed functions. They are checked against rows of the inputs, owned by the frame, and copied if they are not contiguous
or not aligned, or are in an argument's memory, which main may reuse while it still needs the result."""
from legato.codegen.entry.abi import Object, TVMFFIAny, TVMFFIErrorSetRaisedFromCStr
from legato.codegen.entry.check import ALIGNMENT, RIGHT, STRIDES, check, tensor_of
from legato.codegen.entry.copies import copy_tensor, in_arguments
from legato.codegen.entry.frame import release
from legato.codegen.entry.layouts import INPUTS, STRINGS, Frame
from legato.codegen.entry.messages import refuse, refuse_late
from legato.codegen.entry.packed import invoke
from legato.codegen.entry.values import call_registered, drop, set_value
from legato.codegen.native.language import Int32, Pointer, Words, address, stack
from legato.core.tvm_ffi_abi import ARRAY, INT, LIST, OBJECT


def call_returning(function: int, table: Words, count: int, frame: Frame, slot: int, first_row: int, n: int, to: Words) -> Int32:
    """Calls a function and takes its n results; rows of the inputs from ``first_row`` on describe them, and slots of the frame from
    ``slot`` on own them. Stores the address and the sizes of each. 0, or nonzero with the error raised."""
    result = stack(TVMFFIAny)
    code = invoke(Object(function), table, count, result)
    if code == 0 and n > 0:
        if result.type_index == ARRAY or result.type_index == LIST:
            code = take_items(result, frame, slot, first_row, n, table, count, to)
        elif n == 1:
            return take_result(result, frame, slot, first_row, table, count, to)
        else:
            code = refuse_results(first_row, n, 1)
    drop(result)
    return code


def take_items(sequence: TVMFFIAny, frame: Frame, slot: int, first_row: int, n: int, table: Words, count: int, to: Words) -> int:
    """Takes each item of an array or a list as a result. 0, or nonzero with the error raised."""
    item = stack(TVMFFIAny)
    size = sequence_size(sequence)
    if size != n:
        return refuse_results(first_row, n, size)
    for i in range(n):
        code = sequence_item(sequence, i, item)
        if code == 0:
            code = take_result(item, frame, slot + i, first_row + i, table, count, to)
        if code != 0:
            return code
        to = address(to[1 + INPUTS[first_row + i].rank])
    return 0


def take_result(value: TVMFFIAny, frame: Frame, slot: int, row: int, table: Words, count: int, to: Words) -> int:
    """Takes a value as a result; the frame owns the reference. 0, or nonzero with the error raised."""
    detail = stack(Words)
    held = frame.held[slot]
    release(held)
    if value.type_index >= OBJECT:
        held.object = Object(value.value)
    wrong = check(value, row, frame.symbols, to, detail)
    if wrong != RIGHT and wrong != STRIDES and wrong != ALIGNMENT:
        return refuse(value, row, frame.symbols, wrong, detail[0])
    tensor = tensor_of(value)
    if wrong != RIGHT or in_arguments(Pointer(to[0]), table, count):
        held.copy = copy_tensor(tensor)
        if not held.copy:
            return refuse_late()
        to[0] = int(held.copy)
    for axis in range(tensor.rank):
        to[1 + axis] = tensor.shape[axis]
    return 0


def sequence_size(sequence: TVMFFIAny) -> int:
    """The length of an array or a list; 0 if tvm-ffi fails."""
    result = stack(TVMFFIAny)
    if sequence.type_index == LIST:
        call_registered("ffi.ListSize", 12, sequence, 1, result)
    else:
        call_registered("ffi.ArraySize", 13, sequence, 1, result)
    return result.value


def sequence_item(sequence: TVMFFIAny, i: int, to: TVMFFIAny) -> int:
    """Stores an item of an array or a list. 0, or nonzero with the error raised."""
    args = stack(TVMFFIAny, 2)
    set_value(args, sequence.type_index, sequence.value)
    set_value(args[1], INT, i)
    if sequence.type_index == LIST:
        return call_registered("ffi.ListGetItem", 15, args, 2, to)
    return call_registered("ffi.ArrayGetItem", 16, args, 2, to)


def refuse_results(row: int, expected: int, found: int) -> int:
    """Raises the error for a wrong number of returned values. Nonzero."""
    name = STRINGS + INPUTS[row].name
    plural = "" if expected == 1 else "s"
    TVMFFIErrorSetRaisedFromCStr("TypeError", f"the packed function '{name}' must return {expected} tensor{plural}, but {found} came back")
    return -1
