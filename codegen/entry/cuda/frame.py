"""Requests of main in the middle of a call whose sizes depend on data: memory of the device, and results (codegen/entry/frame.py has them
for CPUs). What they take belongs to the call, which gives it back at its end."""
from legato.codegen.entry.copies import elements_of
from legato.codegen.entry.cuda.lanes import add_lane
from legato.codegen.entry.cuda.layouts import CudaRun, Lane
from legato.codegen.entry.cuda.outputs import data_of, make_output
from legato.codegen.entry.frame import late_arenas
from legato.codegen.entry.layouts import FRAME_COUNTS, OUTPUTS, Frame, Instance
from legato.codegen.entry.values import set_value
from legato.codegen.native.language import Pointer, Words
from legato.core.tvm_ffi_abi import NONE


def cuda_open_frame(frame: Frame, instance: Instance, run: Words, symbols: Words) -> None:
    """Initializes a frame. ``run``: the call, in the place of a CPU's results."""
    frame.instance = instance
    frame.results = run
    frame.symbols = symbols
    lanes = late_arenas(frame)
    for number in range(FRAME_COUNTS.arenas):
        lanes[number] = 0


def cuda_frame_arena(frame: Frame, number: int, size: int) -> Pointer:
    """Memory for buffers: in a loop that of the step before, if it suffices. Null with the error raised, of a failure before, too."""
    run = CudaRun(frame.results)
    if run.failed != 0:
        return Pointer(0)
    lanes = late_arenas(frame)
    lane = Lane(lanes[number])
    if lane:
        if lane.size >= size:
            return Pointer(lane.memory)
        size += size >> 1       # kernels may still use the lane, which stays the call's: sizes that grow take few
    lane = add_lane(frame.instance, run, size if size > 0 else 1)
    lanes[number] = int(lane)
    return Pointer(lane.memory if lane else 0)


def cuda_frame_turn(frame: Frame, number: int, size: int) -> Pointer:
    """Memory for what a loop carries to its next step: of two lanes the one that was not given at the call before. Null as above."""
    lanes = late_arenas(frame)
    other = lanes[number]
    lanes[number] = lanes[number + 1]
    lanes[number + 1] = other
    return cuda_frame_arena(frame, number, size)


def cuda_frame_result(frame: Frame, number: int, shape: Words) -> Pointer:
    """Memory for a result of main: its tensor's, or, where that is the host's or has no elements, memory of the call. Null with the error
    raised, of a failure before, too."""
    run = CudaRun(frame.results)
    if run.failed != 0:
        return Pointer(0)
    if make_output(frame.instance, run, number, shape) != 0:
        set_value(run.tensors[number], NONE, 0)
        return Pointer(0)
    row = OUTPUTS[number]
    size = elements_of(shape, row.rank) * row.width
    if run.on_device != 0 and size != 0:
        run.results[number] = data_of(run.tensors[number])
    else:
        lane = add_lane(frame.instance, run, size if size > 0 else 1)
        run.results[number] = lane.memory if lane else 0
    return Pointer(run.results[number])
