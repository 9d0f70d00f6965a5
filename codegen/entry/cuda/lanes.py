"""Lanes: memory and a stream for a call. An instance keeps unused ones in the slots of its arenas."""
from legato.codegen.entry.abi import calloc, free
from legato.codegen.entry.arenas import any_arena
from legato.codegen.entry.cuda.driver import (
    NO_TIMING,
    NON_BLOCKING,
    cuEventCreate,
    cuEventDestroy,
    cuEventRecord,
    cuMemFree,
    cuStreamCreate,
    cuStreamDestroy,
    cuStreamWaitEvent,
)
from legato.codegen.entry.cuda.graphs import free_graphs
from legato.codegen.entry.cuda.layouts import DRIVER, CudaDevice, CudaRun, Lane
from legato.codegen.entry.cuda.memory import device_memory
from legato.codegen.entry.cuda.refusals import refuse_allocation, refuse_driver
from legato.codegen.entry.layouts import ARENAS, Instance
from legato.codegen.entry.messages import refuse_memory
from legato.codegen.native.language import Pointer, address, size_of, store_if_null


def add_lane(instance: Instance, run: CudaRun, size: int) -> Lane:
    """A lane with at least ``size`` bytes for a call, which gives it back at its end. Null with the error raised."""
    lane = take_lane(instance, run.device, size)
    if lane:
        lane.next = run.lanes
        run.lanes = lane
        if not run.stream and run.on_device == 0:
            run.stream = lane.stream
        if lane.pending != 0:
            cuStreamWaitEvent(DRIVER.cuStreamWaitEvent, run.stream, lane.event, 0)
            lane.pending = 0
    return lane


def mark_lanes(run: CudaRun) -> bool:
    """Notes that a call's lanes are free once the device has done what the call wants. False if the driver fails."""
    lane = run.lanes
    while lane:
        if cuEventRecord(DRIVER.cuEventRecord, lane.event, run.stream) != 0:
            return False
        lane.pending = 1
        lane = lane.next
    return True


def give_lanes(instance: Instance, run: CudaRun) -> None:
    """Returns a call's lanes to the instance."""
    lane = run.lanes
    while lane:
        after = lane.next
        give_lane(instance, lane)
        lane = after


def take_lane(instance: Instance, device: CudaDevice, size: int) -> Lane:
    """A lane with at least ``size`` bytes: one that the instance keeps, or a new one. Null with the error raised."""
    lane = Lane(any_arena(instance))
    if not lane:
        lane = new_lane()
    if not lane or lane.size >= size:
        return lane
    free_memory(lane)
    code = device_memory(device, address(lane.memory), size)
    if code != 0:
        lane.memory = 0
        refuse_allocation("a call's buffers", size, device.ordinal, code)
        free_lane(lane)
        return Lane(0)
    lane.size = size
    return lane


def new_lane() -> Lane:
    """A lane without memory. Null with the error raised."""
    lane = Lane(calloc(1, size_of(Lane)))
    if not lane:
        refuse_memory(0)
        return lane
    code = cuStreamCreate(DRIVER.cuStreamCreate, address(lane.stream), NON_BLOCKING)
    if code != 0:
        lane.stream = Pointer(0)
    else:
        code = cuEventCreate(DRIVER.cuEventCreate, address(lane.event), NO_TIMING)
        if code != 0:
            lane.event = Pointer(0)
    if code == 0:
        return lane
    refuse_driver("making a stream on the device", code)
    free_lane(lane)
    return Lane(0)


def give_lane(instance: Instance, lane: Lane) -> None:
    """Returns a lane to the instance, or frees it if all slots are full."""
    for slot in range(ARENAS):
        if store_if_null(address(instance.arenas[slot]), lane):
            return
    free_lane(lane)


def free_lane(lane: Lane) -> None:
    """Frees a lane. cuMemFree waits for what still uses its memory."""
    free_memory(lane)
    free_graphs(lane)
    if lane.event:
        cuEventDestroy(DRIVER.cuEventDestroy_v2, lane.event)
    if lane.stream:
        cuStreamDestroy(DRIVER.cuStreamDestroy_v2, lane.stream)
    free(lane)


def free_memory(lane: Lane) -> None:
    """Frees a lane's memory."""
    if lane.memory != 0:
        cuMemFree(DRIVER.cuMemFree_v2, lane.memory)
    lane.memory = 0
    lane.size = 0
    lane.pending = 0


def free_lanes(instance: Instance) -> None:
    """Frees all lanes that an instance keeps."""
    lane = any_arena(instance)
    while lane:
        free_lane(Lane(lane))
        lane = any_arena(instance)


def round_up_on_device(size: int) -> int:
    """The next multiple of the driver's alignment of memory."""
    return (size + 255) & -256
