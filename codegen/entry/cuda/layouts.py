"""Structs in memory that the functions for NVIDIA's GPUs read: a model's tables (written by tables.py), and what lives in a process."""
from typing import Annotated

from legato.codegen.entry.abi import TVMFFIAny
from legato.codegen.entry.layouts import OF_MODEL, Events, Instance
from legato.codegen.native.language import Inline, Int32, Pointer, Struct, Text, Words

CUDA = 2             # DLPack's device types
CUDA_MANAGED = 13
GRAPHS = 8           # that a lane keeps


class CudaModel(Struct):
    """Numbers of a model. ``target``, ``chip``: offsets into the strings, of ``nvvm{chip=sm_90a}`` and ``sm_90a``. ``version``: of the
    chip, 90. ``only``: which other chips run its code: 0 later ones, 1 none (``a``), 2 later ones of the same major version (``f``).
    ``graphs``: 1 if the launches of a call are submitted as a graph."""

    target: int
    chip: int
    version: int
    only: int
    kernels: int
    graphs: int


class KernelRow(Struct):
    """The name of a kernel: an offset into the strings."""

    name: int


class SiteRow(Struct):
    """A call in main: the graph ops that it computes, an offset into the strings."""

    text: int


class WeightRow(Struct):
    """A weight: its size in bytes."""

    size: int


MODEL = OF_MODEL.table(CudaModel, "legato.cuda_model")
KERNELS = OF_MODEL.table(KernelRow, "legato.cuda_kernels")
SITES = OF_MODEL.table(SiteRow, "legato.cuda_sites")
WEIGHTS = OF_MODEL.table(WeightRow, "legato.cuda_weights")
PTX = OF_MODEL.table(Text, "legato.ptx")
CUBIN = OF_MODEL.table(Words, "legato.cubin")       # machine code; its first word is 0 if there is none
NAMES = OF_MODEL.table(Text, "legato.cuda_names")     # of the driver's functions, zero-terminated, one after the other


class Driver(Struct):
    """The addresses of the driver's functions, by their names, which all instances of the code share. ``ready``: 1 if they are there. The
    last ``GRAPH_FUNCTIONS`` only models with graphs need; drivers before CUDA 12 do not have the ``MAP_FUNCTIONS`` before, which are null
    then."""

    ready: int
    cuInit: Pointer
    cuDriverGetVersion: Pointer
    cuDeviceGetCount: Pointer
    cuDeviceGet: Pointer
    cuDeviceGetName: Pointer
    cuDeviceGetAttribute: Pointer
    cuDevicePrimaryCtxRetain: Pointer
    cuDevicePrimaryCtxRelease_v2: Pointer
    cuCtxPushCurrent_v2: Pointer
    cuCtxPopCurrent_v2: Pointer
    cuModuleLoadDataEx: Pointer
    cuModuleUnload: Pointer
    cuModuleGetFunction: Pointer
    cuFuncSetAttribute: Pointer
    cuLaunchKernel: Pointer
    cuMemAlloc_v2: Pointer
    cuMemFree_v2: Pointer
    cuMemGetInfo_v2: Pointer
    cuMemcpyHtoDAsync_v2: Pointer
    cuMemcpyDtoHAsync_v2: Pointer
    cuMemcpyDtoDAsync_v2: Pointer
    cuStreamCreate: Pointer
    cuStreamDestroy_v2: Pointer
    cuStreamSynchronize: Pointer
    cuStreamWaitEvent: Pointer
    cuStreamIsCapturing: Pointer
    cuEventCreate: Pointer
    cuEventElapsedTime: Pointer
    cuEventRecord: Pointer
    cuEventDestroy_v2: Pointer
    cuGetErrorName: Pointer
    cuGetErrorString: Pointer
    cuTensorMapEncodeTiled: Pointer
    cuTensorMapEncodeIm2col: Pointer
    cuGraphCreate: Pointer
    cuGraphDestroy: Pointer
    cuGraphAddKernelNode_v2: Pointer
    cuGraphAddMemcpyNode: Pointer
    cuGraphInstantiateWithFlags: Pointer
    cuGraphExecKernelNodeSetParams_v2: Pointer
    cuGraphExecMemcpyNodeSetParams: Pointer
    cuGraphExecDestroy: Pointer
    cuGraphLaunch: Pointer

MAP_FUNCTIONS = 2
GRAPH_FUNCTIONS = 9

DRIVER = OF_MODEL.table(Driver, "legato.cuda_driver")


class MemoryUser(Struct):
    """An instance in the list of those that use memory of devices (memory.py). ``code``: its function that gives up what it keeps, or null
    where the instance is not in the list."""

    next: "MemoryUser"
    before: "MemoryUser"
    ordinal: int
    instance: Pointer
    code: Pointer


class MemoryUsers(Struct):
    """That list. ``locked``: 1 while a thread uses it."""

    locked: int
    first: MemoryUser


class CudaDevice(Struct):
    """What an instance has on its device. ``user``: in the list of those that use memory. ``ordinal``: DLPack's and CUDA's number of the
    device; ``handle``: the driver's. ``weights``: their memory. ``functions``: the kernels."""

    user: Annotated[MemoryUser, Inline(1)]
    ordinal: int
    handle: int
    multiprocessors: int
    context: Pointer
    module: Pointer
    weights: int
    functions: Annotated[Words, Inline(0)]


class Lane(Struct):
    """What a call uses on the device, and a later one again: ``size`` bytes of memory, a stream, and an event, after which the memory is
    free (``pending``: 1 until some stream waits for it). ``next``: another one of the call, or null. ``graphs``: of the sizes that were
    used last, in ``calls`` so far."""

    memory: int
    size: int
    stream: Pointer
    event: Pointer
    pending: int
    next: "Lane"
    graphs: Annotated[Words, Inline(GRAPHS)]
    calls: int


class GraphNode(Struct):
    """A launch, or a copy (``kernel``: -1), in a graph: the driver's handle, and the words that describe it, as main gives them."""

    handle: Pointer
    kernel: int
    count: int
    words: Annotated[Words, Inline(0)]


class LaunchGraph(Struct):
    """What main launches and copies for one set of sizes, one after the other. ``template``: the driver's graph; ``ready``: its executable
    form, or null until the first call has ended. ``nodes``: the addresses of ``count`` nodes, with ``room`` for more; ``at``: of these the
    next one of the call under way. ``failed``: not 0 if the graph cannot be used. ``used``: the lane's call that used it last."""

    template: Pointer
    ready: Pointer
    nodes: Words
    room: int
    count: int
    at: int
    failed: int
    used: int
    symbols: Annotated[Words, Inline(0)]


class CudaRun(Struct):
    """A call that is under way. ``failed``: the driver's code of the first failure, which has been raised; nothing more is launched.
    ``on_device``: 1 if its results are tensors of the device. ``tensors``: its results; ``results``: the addresses on the device that
    they are computed at. ``lanes``: its memory. ``graph``: what gets its launches, or null. ``events``: where it records what it launches,
    or null; then ``recorded`` is what was there before, and ``first`` an event at its beginning, at the time ``begun`` in nanoseconds."""

    device: CudaDevice
    stream: Pointer
    failed: int
    on_device: int
    tensors: TVMFFIAny
    results: Words
    lanes: Lane
    graph: LaunchGraph
    events: Events
    recorded: int
    first: int
    begun: int


class CudaResult(Struct):
    """What frees a result on the device: the model whose code does it, the memory, the device, and the owner of that code."""

    model: Words
    memory: int
    handle: int
    context: Pointer
    owner: Pointer


@OF_MODEL.function("legato.main")
def run_main(instance: Instance, data: Words, arena: Words, symbols: Words, run: CudaRun) -> Int32: ...
