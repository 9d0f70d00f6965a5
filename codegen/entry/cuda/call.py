"""The function of an instance on a device: checks its arguments, runs main, gives the results.

Nothing waits for the device where all arguments are there: the results are ready in the order of the caller's stream. Else the call waits
once, at its end; so does one that is recorded for a profile.
"""
from legato.codegen.entry.abi import TVMFFIAny, TVMFFIFunctionCall
from legato.codegen.entry.call import check_requirements
from legato.codegen.entry.cuda.arguments import FROM_HOST, IN_PLACE, check_inputs, copy_inputs, is_any
from legato.codegen.entry.cuda.device import leave_context
from legato.codegen.entry.cuda.driver import cuCtxPushCurrent, cuStreamIsCapturing, cuStreamSynchronize
from legato.codegen.entry.cuda.graphs import drop_graph, graph_of, launch_graph
from legato.codegen.entry.cuda.lanes import add_lane, give_lanes, mark_lanes, round_up_on_device
from legato.codegen.entry.cuda.layouts import CUDA, DRIVER, MODEL, CudaDevice, CudaRun, Lane, LaunchGraph, run_main
from legato.codegen.entry.cuda.outputs import copy_outputs, data_of, make_output, output_bytes
from legato.codegen.entry.cuda.profile import begin_profile, end_profile
from legato.codegen.entry.cuda.refusals import refuse_capture, refuse_driver
from legato.codegen.entry.donated import check_donors, give_back
from legato.codegen.entry.layouts import COUNTS, OUTPUTS, Instance, main_sizes
from legato.codegen.entry.messages import refuse_number
from legato.codegen.entry.values import drop_values, set_value
from legato.codegen.native.language import Int32, Pointer, Words, address, extern, stack, use_model
from legato.core.tvm_ffi_abi import NONE, TENSOR


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
    run = stack(CudaRun)
    run.device = device
    run.failed = 0
    run.tensors = stack(TVMFFIAny, COUNTS.outputs)
    run.results = address(data[COUNTS.inputs])
    run.lanes = Lane(0)
    run.graph = LaunchGraph(0)
    if check_inputs(device, args, symbols, data, ways, bytes_) != 0 or check_donors(args, data) != 0:
        return -1
    main_sizes(symbols, sizes)
    if check_requirements(sizes) != 0:
        return -1
    run.on_device = 1 if COUNTS.inputs != 0 and not all_from_host(ways) else 0
    code = cuCtxPushCurrent(DRIVER.cuCtxPushCurrent_v2, device.context)
    if code != 0:
        return refuse_driver("using the device's context", code)
    run.stream = TVMFFIEnvGetStream(CUDA, device.ordinal)
    if is_captured(run.stream):
        leave_context()
        return refuse_capture()
    lane = add_lane(instance, run, room_of(ways, bytes_, sizes, run))
    done = -1
    if lane:
        done = make_outputs(instance, run, sizes, args)
        if done == 0:
            done = run_on(instance, run, lane, symbols, sizes, data, ways, bytes_)
            if done != 0:
                drop_values(run.tensors, COUNTS.outputs)
        give_lanes(instance, run)
    leave_context()
    return done if done != 0 else give_tensors(instance, run.tensors, result)


def is_captured(stream: Pointer) -> bool:
    """Whether what is submitted to a stream is not done, but becomes a graph of the caller's, done whenever the caller launches it."""
    status = stack(Words)
    status[0] = 0
    if stream:
        cuStreamIsCapturing(DRIVER.cuStreamIsCapturing, stream, status)
    return status[0] != 0


def all_from_host(ways: Words) -> bool:
    """Whether no argument is on the device."""
    for i in range(COUNTS.inputs):
        if ways[i] != FROM_HOST:
            return False
    return True


def room_of(ways: Words, bytes_: Words, sizes: Words, run: CudaRun) -> int:
    """The bytes of a call's memory on the device: the arena, then copies of arguments, then results that go to the host."""
    total = round_up_on_device(sizes[0]) + copied_bytes(ways, bytes_)
    for o in range(COUNTS.outputs):
        if run.on_device == 0 and is_early(o):
            total += round_up_on_device(output_bytes(o, sizes))
    return total


def is_early(output: int) -> bool:
    """Whether an output has memory of its own, whose size is known before main runs."""
    return OUTPUTS[output].donor < 0 and OUTPUTS[output].first_size >= 0


def make_outputs(instance: Instance, run: CudaRun, sizes: Words, args: TVMFFIAny) -> int:
    """Makes the tensors of all outputs whose sizes are known, and gives back arguments that are donated. 0, or nonzero with the error
    raised, and none is left."""
    for o in range(COUNTS.outputs):
        code = 0
        if OUTPUTS[o].donor >= 0:
            code = give_back(args[OUTPUTS[o].donor], run.tensors[o])
        elif OUTPUTS[o].first_size >= 0:
            code = make_output(instance, run, o, address(sizes[OUTPUTS[o].first_size]))
        else:
            set_value(run.tensors[o], NONE, 0)      # main makes it: frame.py
        if code != 0:
            drop_values(run.tensors, o)
            return -1
    return 0


def run_on(instance: Instance, run: CudaRun, lane: Lane, symbols: Words, sizes: Words, data: Words, ways: Words, bytes_: Words) -> int:
    """Copies, runs main, copies back, and waits if the host takes part. 0, or nonzero with the error raised."""
    memory = lane.memory + round_up_on_device(sizes[0])
    done = begin_profile(instance, run)
    if done == 0:
        done = copy_inputs(run, data, ways, bytes_, memory)
    place_outputs(run, sizes, data, memory + copied_bytes(ways, bytes_))
    if done == 0:
        done = run_kernels(instance, run, lane, symbols, data)
    if done == 0:
        done = copy_outputs(run)
    done = finish(run, done, run.on_device == 0 or is_any(ways, FROM_HOST) or int(run.events) != 0)
    return end_profile(run, done)


def run_kernels(instance: Instance, run: CudaRun, lane: Lane, symbols: Words, data: Words) -> int:
    """Runs main: as a graph, where the model has graphs, and launch by launch where it has none, where the driver does not take the graph,
    and for profiles. 0, or nonzero with the error raised."""
    if MODEL.graphs != 0 and not run.events:
        run.graph = graph_of(lane, symbols)
        if run.graph:
            done = run_main(instance, data, Words(lane.memory), symbols, run)
            if done == 0 and launch_graph(run):
                return 0
            drop_graph(lane, run.graph)
            run.graph = LaunchGraph(0)
    done = run_main(instance, data, Words(lane.memory), symbols, run)
    return done if run.failed == 0 else -1


def copied_bytes(ways: Words, bytes_: Words) -> int:
    """The bytes of the copies of arguments."""
    total = 0
    for i in range(COUNTS.inputs):
        if ways[i] != IN_PLACE:
            total += round_up_on_device(bytes_[i])
    return total


def place_outputs(run: CudaRun, sizes: Words, data: Words, memory: int) -> None:
    """Stores the addresses that main writes its outputs to: those of donated arguments, the tensors' own, or places from ``memory`` on; 0
    for those that main asks for. ``data``: the addresses of the inputs."""
    for o in range(COUNTS.outputs):
        if OUTPUTS[o].donor >= 0:
            run.results[o] = data[OUTPUTS[o].donor]
        elif not is_early(o):
            run.results[o] = 0
        elif run.on_device != 0:
            run.results[o] = data_of(run.tensors[o])
        else:
            run.results[o] = memory
            memory += round_up_on_device(output_bytes(o, sizes))


def finish(run: CudaRun, done: int, waits: bool) -> int:
    """Waits for the device, or notes when the call's lanes are free again. ``done``: the code so far. 0, or nonzero with the error
    raised."""
    if not waits and done == 0:
        if mark_lanes(run):
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
