"""Tensor maps: what the copy engine of sm_90 has to know of a buffer. passes/gpu/call_driver.py makes these calls, in front of a launch."""
from legato.codegen.entry.cuda.layouts import DRIVER, CudaRun
from legato.codegen.entry.cuda.refusals import refuse_work
from legato.codegen.native.language import Int32, Pointer, Words, address, pointed, stack

HEAD, EACH = 3, 2       # words of a description: address, type, number of axes; and of each axis: size, step in bytes; then the box
MOST, PAIRS = 5, 3      # axes; words of as many numbers of 32 bits
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
    empty = 0
    for axis in range(rank):
        sizes[axis] = given[HEAD + EACH * axis]
        if sizes[axis] == 0:
            empty = 1
        if axis > 0:
            steps[axis - 1] = given[HEAD + EACH * axis + 1]
    for pair in range(PAIRS):
        ones[pair] = ONES
    if of.failed != 0 or empty != 0:
        return
    code = NOT_SUPPORTED
    box = address(given[HEAD + EACH * rank])
    if DRIVER.cuTensorMapEncodeTiled:
        code = cuTensorMapEncodeTiled(DRIVER.cuTensorMapEncodeTiled, to, given[1], rank, given[0], sizes, steps, box, ones, 0, SWIZZLE_128,
                                      PROMOTE_256, 0)
    if code != 0:
        refuse_work(of, "describing an operand to the copy engine, which takes a driver of CUDA 12 or later,", site, code)


@pointed
def cuTensorMapEncodeTiled(code: Pointer, to: int, kind: Int32, rank: Int32, memory: int, sizes: Words, steps: Words, boxes: Words,
                           ones: Words, interleave: Int32, swizzle: Int32, promotion: Int32, fill: Int32) -> Int32: ...
