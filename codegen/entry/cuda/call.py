"""The function of an instance on a device: checks its arguments, runs main, gives the results.

Nothing waits for the device where all arguments are there: the results are ready in the order of the caller's stream. Else the call waits
once, at its end.
"""
from legato.codegen.entry.abi import TVMFFIAny, TVMFFIFunctionCall
from legato.codegen.entry.call import check_requirements
from legato.codegen.entry.cuda.arguments import FROM_HOST, IN_PLACE, check_inputs, copy_inputs, is_any
from legato.codegen.entry.cuda.device import leave_context
from legato.codegen.entry.cuda.driver import cuCtxPushCurrent, cuEventRecord, cuStreamSynchronize, cuStreamWaitEvent
from legato.codegen.entry.cuda.lanes import give_lane, round_up_on_device, take_lane
from legato.codegen.entry.cuda.layouts import CUDA, DRIVER, CudaDevice, CudaRun, Lane, run_main
from legato.codegen.entry.cuda.outputs import copy_outputs, data_of, make_output, output_bytes
from legato.codegen.entry.cuda.refusals import refuse_driver
from legato.codegen.entry.layouts import COUNTS, Instance, main_sizes
from legato.codegen.entry.messages import refuse_number
from legato.codegen.entry.values import drop_values, set_value
from legato.codegen.native.language import Int32, Pointer, Words, address, extern, stack, use_model
from legato.core.tvm_ffi_abi import TENSOR


def call_on_device(instance: Instance, args: TVMFFIAny, given: Int32, result: TVMFFIAny) -> Int32:
    """A call of the model. 0, or nonzero with the error raised."""
    use_model(instance.model)
    if given != COUNTS.inputs:
        return refuse_number(given)
    device = CudaDevice(instance.device)
    symbols = stack(Words, COUNTS.symbols)
    sizes = stack(Words, COUNTS.sizes)      # the first is the arena's
    data = stack(Words, COUNTS.inputs + COUNTS.outputs)
    ways = stack(Words, COUNTS.inputs)
    bytes_ = stack(Words, COUNTS.inputs)
    tensors = stack(TVMFFIAny, COUNTS.outputs)
    if check_inputs(device, args, symbols, data, ways, bytes_) != 0:
        return -1
    main_sizes(symbols, sizes)
    if check_requirements(sizes) != 0:
        return -1
    on_device = COUNTS.inputs != 0 and not all_from_host(ways)
    code = cuCtxPushCurrent(DRIVER.cuCtxPushCurrent_v2, device.context)
    if code != 0:
        return refuse_driver("using the device's context", code)
    lane = take_lane(instance, device, room_of(ways, bytes_, sizes, on_device))
    done = -1
    if lane:
        done = make_outputs(instance, device, sizes, on_device, tensors)
        if done == 0:
            done = run_on(instance, device, lane, symbols, sizes, data, ways, bytes_, on_device, tensors)
            if done != 0:
                drop_values(tensors, COUNTS.outputs)
        give_lane(instance, lane)
    leave_context()
    return done if done != 0 else give_tensors(instance, tensors, result)


def all_from_host(ways: Words) -> bool:
    """Whether no argument is on the device."""
    for i in range(COUNTS.inputs):
        if ways[i] != FROM_HOST:
            return False
    return True


def room_of(ways: Words, bytes_: Words, sizes: Words, on_device: bool) -> int:
    """The bytes of a call's memory on the device: the arena, then copies of arguments, then results that go to the host."""
    total = round_up_on_device(sizes[0])
    for i in range(COUNTS.inputs):
        if ways[i] != IN_PLACE:
            total += round_up_on_device(bytes_[i])
    if not on_device:
        for o in range(COUNTS.outputs):
            total += round_up_on_device(output_bytes(o, sizes))
    return total


def make_outputs(instance: Instance, device: CudaDevice, sizes: Words, on_device: bool, tensors: TVMFFIAny) -> int:
    """Makes the tensors of all outputs. 0, or nonzero with the error raised, and none is left."""
    for o in range(COUNTS.outputs):
        if make_output(instance, device, o, sizes, on_device, tensors[o]) != 0:
            drop_values(tensors, o)
            return -1
    return 0


def run_on(instance: Instance, device: CudaDevice, lane: Lane, symbols: Words, sizes: Words, data: Words, ways: Words, bytes_: Words,
           on_device: bool, tensors: TVMFFIAny) -> int:
    """Copies, runs main, copies back, and waits if the host takes part. 0, or nonzero with the error raised."""
    run = stack(CudaRun)
    run.device = device
    run.failed = 0
    run.stream = TVMFFIEnvGetStream(CUDA, device.ordinal)
    if not run.stream and not on_device:
        run.stream = lane.stream
    if lane.pending != 0:
        cuStreamWaitEvent(DRIVER.cuStreamWaitEvent, run.stream, lane.event, 0)
        lane.pending = 0
    memory = lane.memory + round_up_on_device(sizes[0])
    results = address(data[COUNTS.inputs])
    place_outputs(sizes, results, tensors, on_device, memory + copied_bytes(ways, bytes_))
    done = copy_inputs(run, data, ways, bytes_, memory)
    if done == 0:
        done = run_main(instance, data, Words(lane.memory), symbols, run)
        if run.failed != 0:
            done = -1
    if done == 0 and not on_device:
        done = copy_outputs(run, sizes, results, tensors)
    return finish(run, lane, done, not on_device or is_any(ways, FROM_HOST))


def copied_bytes(ways: Words, bytes_: Words) -> int:
    """The bytes of the copies of arguments."""
    total = 0
    for i in range(COUNTS.inputs):
        if ways[i] != IN_PLACE:
            total += round_up_on_device(bytes_[i])
    return total


def place_outputs(sizes: Words, data: Words, tensors: TVMFFIAny, on_device: bool, memory: int) -> None:
    """Stores the addresses that main writes its outputs to: the tensors' own, or places from ``memory`` on."""
    for o in range(COUNTS.outputs):
        if on_device:
            data[o] = data_of(tensors[o])
        else:
            data[o] = memory
            memory += round_up_on_device(output_bytes(o, sizes))


def finish(run: CudaRun, lane: Lane, done: int, waits: bool) -> int:
    """Waits for the device, or notes when the lane is free again. ``done``: the code so far. 0, or nonzero with the error raised."""
    if not waits and done == 0:
        if cuEventRecord(DRIVER.cuEventRecord, lane.event, run.stream) == 0:
            lane.pending = 1
            return 0
    code = cuStreamSynchronize(DRIVER.cuStreamSynchronize, run.stream)
    if done == 0 and code != 0:
        return refuse_driver("running the model's kernels", code)
    return done


def give_tensors(instance: Instance, tensors: TVMFFIAny, result: TVMFFIAny) -> int:
    """Gives the caller the results, of several an array. 0, or nonzero with the error raised."""
    if COUNTS.outputs == 1:
        set_value(result, TENSOR, tensors.value)
        return 0
    code = TVMFFIFunctionCall(instance.array, tensors, COUNTS.outputs, result)
    drop_values(tensors, COUNTS.outputs)
    return code


@extern()
def TVMFFIEnvGetStream(kind: Int32, ordinal: Int32) -> Pointer: ...
