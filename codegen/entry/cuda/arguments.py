"""The arguments of a call: tensors of the device, which are used in place, and of the host, which are copied."""
from legato.codegen.entry.abi import CPU, TVMFFIAny
from legato.codegen.entry.check import DEVICE, NO_TENSOR, RIGHT, check_tensor, tensor_of
from legato.codegen.entry.copies import elements_of
from legato.codegen.entry.cuda.driver import cuMemcpyDtoDAsync, cuMemcpyHtoDAsync
from legato.codegen.entry.cuda.layouts import CUDA, CUDA_MANAGED, DRIVER, CudaDevice, CudaRun
from legato.codegen.entry.cuda.refusals import refuse_argument, refuse_driver
from legato.codegen.entry.layouts import COUNTS, INPUTS, STRINGS
from legato.codegen.native.language import Text, Words, address, stack

CUDA_HOST = 3                           # DLPack's type of the host's memory that CUDA allocated
IN_PLACE, FROM_HOST, FROM_DEVICE = range(3)     # how an argument gets to the kernels
ALIGNED = 16                            # bytes, of a buffer that kernels take


def check_inputs(device: CudaDevice, args: TVMFFIAny, symbols: Words, data: Words, ways: Words, bytes_: Words) -> int:
    """Stores, for each argument, the address of its data, how it gets to the kernels, and its bytes, and the symbols' values. 0, or nonzero
    with the error raised."""
    detail = stack(Words)
    for s in range(COUNTS.symbols):
        symbols[s] = -1     # no value yet
    for i in range(COUNTS.inputs):
        wrong = check_input(device, args[i], i, symbols, address(data[i]), detail)
        if wrong != RIGHT:
            return refuse_argument(args[i], i, symbols, wrong, detail[0], device)
        tensor = tensor_of(args[i])
        bytes_[i] = elements_of(tensor.shape, tensor.rank) * INPUTS[i].width
        ways[i] = way_of(tensor.device_type, data[i])
    return 0


def way_of(device_type: int, data: int) -> int:
    """How an argument gets to the kernels, which expect aligned buffers."""
    if is_of_host(device_type):
        return FROM_HOST
    return IN_PLACE if data & (ALIGNED - 1) == 0 else FROM_DEVICE


def is_of_host(device_type: int) -> bool:
    """Whether the host has a tensor, by DLPack's type of its device."""
    return device_type == CPU or device_type == CUDA_HOST


def check_input(device: CudaDevice, value: TVMFFIAny, number: int, symbols: Words, data_to: Words, detail_to: Words) -> int:
    """``check.check``, for a value that may be on the device, too."""
    tensor = tensor_of(value)
    if not tensor:
        return NO_TENSOR
    kind = tensor.device_type
    is_here = (kind == CUDA or kind == CUDA_MANAGED) and tensor.device_id == device.ordinal
    if not is_of_host(kind) and not is_here:
        return DEVICE
    return check_tensor(tensor, INPUTS[number], symbols, data_to, detail_to)


def is_any(ways: Words, way: int) -> bool:
    """Whether some argument gets to the kernels that way."""
    for i in range(COUNTS.inputs):
        if ways[i] == way:
            return True
    return False


def copy_inputs(run: CudaRun, data: Words, ways: Words, bytes_: Words, memory: int) -> int:
    """Copies arguments that are not used in place to ``memory``, one after the other, where their data are then. 0, or nonzero with the
    error raised."""
    for i in range(COUNTS.inputs):
        if ways[i] != IN_PLACE:
            code = 0
            if bytes_[i] != 0:
                if ways[i] == FROM_HOST:
                    code = cuMemcpyHtoDAsync(DRIVER.cuMemcpyHtoDAsync_v2, memory, data[i], bytes_[i], run.stream)
                else:
                    code = cuMemcpyDtoDAsync(DRIVER.cuMemcpyDtoDAsync_v2, memory, data[i], bytes_[i], run.stream)
            if code != 0:
                return refuse_copy(STRINGS + INPUTS[i].name, bytes_[i], code)
            data[i] = memory
            memory += (bytes_[i] + 255) & -256
    return 0


def refuse_copy(name: Text, size: int, code: int) -> int:
    """For an argument that the driver does not copy."""
    return refuse_driver(f"copying '{name}', {size} bytes, to the device", code)
