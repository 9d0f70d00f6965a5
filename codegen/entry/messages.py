"""The errors of a call. Each function raises one, for tvm-ffi, and returns nonzero."""
from legato.codegen.entry.abi import DLTensor, TVMFFIAny, TVMFFIErrorSetRaisedFromCStr
from legato.codegen.entry.check import ALIGNMENT, DEVICE, DTYPE, NO_DATA, NO_TENSOR, RANK, SIZE, STRIDES, SYMBOL, tensor_of
from legato.codegen.entry.describe import DESCRIPTION_BYTES, describe
from legato.codegen.entry.layouts import AXES, COUNTS, INPUTS, REQUIREMENTS, STRINGS, SYMBOLS, InputRow
from legato.codegen.native.language import Text, Words, snprintf, stack

REASON_BYTES = 512


def refuse(value: TVMFFIAny, number: int, symbols: Words, wrong: int, detail: int) -> int:
    """For a value that does not fit a row of the inputs: an argument, or a packed function's result. ``wrong``, ``detail``: the
    results of ``check``."""
    row = INPUTS[number]
    name = STRINGS + row.name
    expected = STRINGS + row.expected
    given = stack(Text, DESCRIPTION_BYTES)
    reason = stack(Text, REASON_BYTES)
    describe(value, given)
    if wrong == SYMBOL:
        explain_symbol(reason, tensor_of(value), number, symbols, detail)
    else:
        explain(reason, tensor_of(value), row, wrong, detail)
    kind = "TypeError" if wrong == NO_TENSOR or wrong == DTYPE else "ValueError"
    if number < COUNTS.inputs:
        TVMFFIErrorSetRaisedFromCStr(kind, f"main: argument {number} '{name}' must be {expected}, but {given} was given{reason}")
    else:
        TVMFFIErrorSetRaisedFromCStr(kind, f"the packed function '{name}' must return {expected}, but {given} came back{reason}")
    return -1


def explain(to: Text, tensor: DLTensor, row: InputRow, wrong: int, detail: int) -> None:
    """Writes the mismatch, other than of a symbol."""
    if wrong == DEVICE:
        snprintf(to, REASON_BYTES, f": it is on a device of type {tensor.device_type}, not on the CPU")
    elif wrong == DTYPE:
        snprintf(to, REASON_BYTES, ": the element type differs")
    elif wrong == RANK:
        snprintf(to, REASON_BYTES, ": the number of dimensions differs")
    elif wrong == SIZE:
        snprintf(to, REASON_BYTES, f": dimension {detail} is {tensor.shape[detail]}, not {AXES[row.first_axis + detail].offset}")
    elif wrong == STRIDES:
        snprintf(to, REASON_BYTES, ": it is not contiguous: pass a copy that is (of a torch tensor, x.contiguous())")
    elif wrong == NO_DATA:
        snprintf(to, REASON_BYTES, ": its data pointer is null")
    elif wrong == ALIGNMENT:
        snprintf(to, REASON_BYTES, f": its data is not aligned to {detail} bytes")
    else:
        snprintf(to, REASON_BYTES, "")


def explain_symbol(to: Text, tensor: DLTensor, number: int, symbols: Words, axis: int) -> None:
    """Writes the value that the symbol of an axis has, and the input that defines it."""
    row = INPUTS[number]
    symbol = AXES[row.first_axis + axis].symbol
    name = STRINGS + SYMBOLS[symbol].name
    value = symbols[symbol]
    size = tensor.shape[axis]
    giver = STRINGS + INPUTS[first_with(symbol)].name
    if value < 0:
        snprintf(to, REASON_BYTES, f": dimension {axis} is {size}, which no value of '{name}' gives")
    elif number < COUNTS.inputs or giver != STRINGS + row.name:
        snprintf(to, REASON_BYTES, f": dimension {axis} is {size}, but '{name}' is {value} in '{giver}'")
    else:
        snprintf(to, REASON_BYTES, f": dimension {axis} is {size}, not {value}, which '{name}' is")


def first_with(symbol: int) -> int:
    """The first row of the inputs that has a symbol in its shape."""
    number = 0
    while not has(INPUTS[number], symbol):      # one of them has it, or there would be no mismatch
        number += 1
    return number


def has(row: InputRow, symbol: int) -> bool:
    """Whether the shape of a row has a symbol."""
    for axis in range(row.rank):
        if AXES[row.first_axis + axis].symbol == symbol:
            return True
    return False


def refuse_number(given: int) -> int:
    """For a wrong number of arguments."""
    expected = COUNTS.inputs
    plural = "" if expected == 1 else "s"
    TVMFFIErrorSetRaisedFromCStr("TypeError", f"{STRINGS} takes {expected} argument{plural}, but {given} given")
    return -1


def require(number: int, value: int, other: int) -> int:
    """Checks a requirement: a size must not be negative, or must be another one. 0, or nonzero with the error raised."""
    row = REQUIREMENTS[number]
    if value == other if row.equal != 0 else value >= 0:
        return 0
    return refuse_sizes(STRINGS + row.text, row.equal != 0, value, other)


def refuse_sizes(text: Text, equal: bool, value: int, other: int) -> int:
    """For a requirement that does not hold."""
    if equal:
        TVMFFIErrorSetRaisedFromCStr("ValueError", f"main cannot run on these sizes: {text} (expected {other}, found {value})")
    else:
        TVMFFIErrorSetRaisedFromCStr("ValueError", f"main cannot run on inputs of these sizes: {text} (off by {-value})")
    return -1


def refuse_memory(size: int) -> int:
    """For a call that is out of memory."""
    TVMFFIErrorSetRaisedFromCStr("MemoryError", f"no memory for this call: it needs an arena of {size} bytes, and room for the results")
    return -1


def refuse_late() -> int:
    """For memory that main requested in the middle of a call."""
    TVMFFIErrorSetRaisedFromCStr("MemoryError", "no memory for buffers or results whose size was known only in the middle of this call")
    return -1
