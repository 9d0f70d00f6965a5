"""Tensor maps: what the copy engine of sm_90 has to know of a buffer. passes/gpu/call_driver.py makes these calls, in front of a launch."""
from legato.codegen.entry.cuda.layouts import DRIVER, CudaRun
from legato.codegen.entry.cuda.refusals import refuse_work
from legato.codegen.native.language import Int32, Pointer, Words, address, pointed, stack

HEAD, EACH = 3, 2       # words of a description: address, type, number of axes; and of each axis: size, step in bytes; then the box
MOST, PAIRS = 5, 3      # axes; words of as many numbers of 32 bits
CORNER_PAIRS = 2        # likewise of numbers of the axes between the first and the last
ONES = 1 | 1 << 32      # two numbers of 32 bits
SWIZZLE_128, PROMOTE_256 = 3, 3
NOT_SUPPORTED = 801


def cuda_tensor_map(run: int, site: int, to: int, description: int) -> None:
    """Writes a map of 128 bytes to an address. ``description``: the address of words that describe the buffer, whose axes are listed from
    the last one on. ``site``: the call in main that wants it. Of an empty buffer there is no map, and nothing is copied."""
    of = CudaRun(run)
    given = Words(description)
    rank = given[2]
    sizes = stack(Words, MOST)
    steps = stack(Words, MOST)
    ones = stack(Words, PAIRS)
    empty = read_axes(given, sizes, steps)
    for pair in range(PAIRS):
        ones[pair] = ONES
    if of.failed != 0 or empty != 0:
        return
    code = NOT_SUPPORTED
    box = address(given[HEAD + EACH * rank])
    if DRIVER.cuTensorMapEncodeTiled:
        code = cuTensorMapEncodeTiled(DRIVER.cuTensorMapEncodeTiled, to, given[1], rank, given[0], sizes, steps, box, ones, 0, SWIZZLE_128,
                                      PROMOTE_256, 0)
    refuse_map(of, site, code)


def cuda_window_map(run: int, site: int, to: int, description: int) -> None:
    """As ``cuda_tensor_map``, of a buffer of images whose windows are copied."""
    of = CudaRun(run)
    given = Words(description)
    rank = given[2]
    sizes = stack(Words, MOST)
    steps = stack(Words, MOST)
    empty = read_axes(given, sizes, steps)
    if of.failed != 0 or empty != 0:
        return
    code = NOT_SUPPORTED
    strides = HEAD + EACH * rank
    lower = strides + PAIRS
    upper = lower + CORNER_PAIRS
    box = upper + CORNER_PAIRS
    if DRIVER.cuTensorMapEncodeIm2col:
        code = cuTensorMapEncodeIm2col(DRIVER.cuTensorMapEncodeIm2col, to, given[1], rank, given[0], sizes, steps, address(given[lower]),
                                       address(given[upper]), given[box], given[box + 1], address(given[strides]), 0, SWIZZLE_128,
                                       PROMOTE_256, 0)
    refuse_map(of, site, code)


def read_axes(given: Words, sizes: Words, steps: Words) -> int:
    """Writes a described buffer's sizes, and the steps of all axes but the last in bytes. 1 for an empty buffer, else 0."""
    empty = 0
    for axis in range(given[2]):
        sizes[axis] = given[HEAD + EACH * axis]
        if sizes[axis] == 0:
            empty = 1
        if axis > 0:
            steps[axis - 1] = given[HEAD + EACH * axis + 1]
    return empty


def refuse_map(of: CudaRun, site: int, code: int) -> None:
    """Raises the error of a driver that made no map."""
    if code != 0:
        refuse_work(of, "describing an operand to the copy engine, which takes a driver of CUDA 12 or later,", site, code)


@pointed
def cuTensorMapEncodeTiled(code: Pointer, to: int, kind: Int32, rank: Int32, memory: int, sizes: Words, steps: Words, boxes: Words,
                           ones: Words, interleave: Int32, swizzle: Int32, promotion: Int32, fill: Int32) -> Int32: ...
@pointed
def cuTensorMapEncodeIm2col(code: Pointer, to: int, kind: Int32, rank: Int32, memory: int, sizes: Words, steps: Words, lower: Words,
                            upper: Words, channels: Int32, pixels: Int32, strides: Words, interleave: Int32, swizzle: Int32,
                            promotion: Int32, fill: Int32) -> Int32: ...
