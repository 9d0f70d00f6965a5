"""What @main calls on the way: passes/gpu/call_driver.py makes these calls. After a failure they do nothing; the call of the model is then
an error."""
from legato.codegen.entry.cuda.driver import (
    DYNAMIC_SHARED,
    cuFuncSetAttribute,
    cuLaunchKernel,
    cuMemcpyDtoDAsync,
    cuMemcpyDtoHAsync,
    cuMemcpyHtoDAsync,
    cuStreamSynchronize,
)
from legato.codegen.entry.cuda.layouts import DRIVER, CudaRun
from legato.codegen.entry.cuda.nodes import SIZES, add_copy, add_launch
from legato.codegen.entry.cuda.refusals import refuse_launch, refuse_work
from legato.codegen.native.language import Pointer, Words, address, stack

MOST_ON_X, MOST_BLOCKS = 2**31 - 1, 65535       # blocks on the axes of a grid
INVALID_VALUE = 1


def cuda_launch(run: int, site: int, kernel: int, parameters: int, count: int) -> None:
    """Launches a kernel. ``parameters``: the address of ``SIZES`` words, then of ``count`` parameters, eight bytes each, of tensor maps
    their addresses. ``site``: the call in main that wants it."""
    of = CudaRun(run)
    sizes = Words(parameters)
    if of.failed != 0 or sizes[0] * sizes[1] * sizes[2] == 0:
        return
    places = stack(Words, count)
    for i in range(count):
        places[i] = int(address(sizes[SIZES + i])) if i < count - sizes[7] else sizes[SIZES + i]
    function = Pointer(of.device.functions[kernel])
    code = 0
    if sizes[0] > MOST_ON_X or sizes[1] > MOST_BLOCKS or sizes[2] > MOST_BLOCKS:    # the driver would be given their lower 32 bits
        code = INVALID_VALUE
    elif sizes[6] > 0:      # with the kernel's other shared memory it may be more than what needs no attribute
        code = cuFuncSetAttribute(DRIVER.cuFuncSetAttribute, function, DYNAMIC_SHARED, sizes[6])
    if code == 0 and of.graph:
        return add_launch(of, kernel, sizes, places, count)
    if code == 0:
        code = cuLaunchKernel(DRIVER.cuLaunchKernel, function, sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], sizes[6],
                              of.stream, places, Words(0))
    if code != 0:
        refuse_launch(of, kernel, site, sizes, code)


def cuda_multiprocessors(run: int, site: int) -> int:
    """The number of multiprocessors of a call's device."""
    return CudaRun(run).device.multiprocessors


def cuda_copy(run: int, site: int, to: int, source: int, size: int) -> None:
    """Copies on the device."""
    of = CudaRun(run)
    if of.failed != 0 or size == 0:
        return
    if of.graph:
        return add_copy(of, to, source, size)
    code = cuMemcpyDtoDAsync(DRIVER.cuMemcpyDtoDAsync_v2, to, source, size, of.stream)
    if code != 0:
        refuse_work(of, "copying on the device", site, code)


def cuda_read(run: int, site: int, source: int, size: int) -> int:
    """Waits for the device, and gives the bits of a number there, of up to eight bytes; 0 after a failure."""
    of = CudaRun(run)
    bits = stack(Words)
    bits[0] = 0
    if of.failed != 0:
        return 0
    code = cuMemcpyDtoHAsync(DRIVER.cuMemcpyDtoHAsync_v2, int(bits), source, size, of.stream)
    if code == 0:
        code = cuStreamSynchronize(DRIVER.cuStreamSynchronize, of.stream)
    if code != 0:
        refuse_work(of, "reading a number from the device", site, code)
        return 0
    return bits[0]


def cuda_write(run: int, site: int, to: int, bits: int, size: int) -> None:
    """Writes a number of up to eight bytes on the device."""
    of = CudaRun(run)
    word = stack(Words)
    word[0] = bits
    if of.failed != 0:
        return
    code = cuMemcpyHtoDAsync(DRIVER.cuMemcpyHtoDAsync_v2, to, int(word), size, of.stream)
    if code == 0:
        code = cuStreamSynchronize(DRIVER.cuStreamSynchronize, of.stream)   # the word is on the stack
    if code != 0:
        refuse_work(of, "writing a number to the device", site, code)
