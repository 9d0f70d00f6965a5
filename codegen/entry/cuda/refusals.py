"""The errors of models on NVIDIA's GPUs. Each function raises one, for tvm-ffi, and returns nonzero."""
from legato.codegen.entry.abi import TVMFFIAny, TVMFFIErrorSetRaisedFromCStr
from legato.codegen.entry.check import DEVICE, tensor_of
from legato.codegen.entry.cuda.layouts import CUDA, DRIVER, KERNELS, MODEL, PTX, SITES, CudaDevice, CudaRun
from legato.codegen.entry.describe import DESCRIPTION_BYTES, describe
from legato.codegen.entry.layouts import INPUTS, STRINGS
from legato.codegen.entry.messages import refuse
from legato.codegen.native.language import Int32, Pointer, Text, Words, address, extern, pointed, snprintf, stack

OUT_OF_MEMORY = 2       # the driver's codes
NO_DEVICE = 100
UNSUPPORTED_PTX = 222
MOST_THREADS, MOST_SHARED = 1, 97       # attributes of a device: threads, and bytes of shared memory, of a block
TEXT_BYTES = 512


def refuse_no_driver(name: Text, why: Text) -> int:
    """For a machine without the driver."""
    TVMFFIErrorSetRaisedFromCStr(
        "RuntimeError", f"the model was compiled for '{STRINGS + MODEL.target}', and the CUDA driver cannot be loaded: {why}. Install "
        f"NVIDIA's driver, which brings libcuda.so.1 (Debian: apt install libcuda1), say where it is (LEGATO_LIBCUDA=.../libcuda.so.1), "
        "or compile for the target 'vulkan' or 'llvm'")
    return -1


def refuse_incomplete_driver(name: Text, function: Text) -> int:
    """For a library without one of the driver's functions."""
    TVMFFIErrorSetRaisedFromCStr(
        "RuntimeError", f"the CUDA driver {name} does not have the function {function}: it is too old (CUDA 11 or later is "
        "needed, and 12 for graphs), or LEGATO_LIBCUDA names another library")
    return -1


def refuse_ordinal(given: Text, count: int) -> int:
    """For LEGATO_CUDA_DEVICE that names no device."""
    TVMFFIErrorSetRaisedFromCStr(
        "ValueError", f"LEGATO_CUDA_DEVICE={given} is no device: it takes a number from 0, and there are {count} CUDA devices")
    return -1


def refuse_no_device() -> int:
    """For a driver without devices."""
    TVMFFIErrorSetRaisedFromCStr(
        "RuntimeError", f"the model was compiled for '{STRINGS + MODEL.target}', and the CUDA driver finds no device (nvidia-smi lists "
        "them; CUDA_VISIBLE_DEVICES may hide them)")
    return -1


def refuse_chip(device: Text, ordinal: int, version: int) -> int:
    """For a device that does not run code for the model's chip."""
    chip = STRINGS + MODEL.chip
    if MODEL.only == 1:
        TVMFFIErrorSetRaisedFromCStr(
            "RuntimeError", f"the model's kernels are compiled for {chip} and run on that chip only, and CUDA device {ordinal} ({device}) "
            f"is an sm_{version}: compile it for the target 'nvvm{{chip=sm_{version}}}'")
    else:
        TVMFFIErrorSetRaisedFromCStr(
            "RuntimeError", f"the model's kernels are compiled for {chip}, and CUDA device {ordinal} ({device}) is an sm_{version}, which "
            f"does not run them: compile it for the target 'nvvm{{chip=sm_{version}}}'")
    return -1


def refuse_driver(doing: Text, code: int) -> int:
    """For a call of the driver that failed. ``doing``: what it was to do."""
    name = stack(Words)
    text = stack(Words)
    name[0] = int(Text("an unknown error"))
    text[0] = int(Text("the driver has no text for it"))
    cuGetErrorName(DRIVER.cuGetErrorName, code, name)
    cuGetErrorString(DRIVER.cuGetErrorString, code, text)
    TVMFFIErrorSetRaisedFromCStr("RuntimeError", f"CUDA: {doing} failed: {Text(name[0])}: {Text(text[0])} (error {code})")
    return -1


def refuse_capture() -> int:
    """For a call on a stream whose work becomes a graph of the caller's."""
    TVMFFIErrorSetRaisedFromCStr(
        "RuntimeError", "the caller's stream is being captured into a CUDA graph, and the memory that the model's kernels would use there "
        "is used by later calls, too: call the model outside of the capture. Compiled for nvvm{graphs=true}, it submits its launches as "
        "graphs of its own")
    return -1


def refuse_module(log: Text, code: int) -> int:
    """For kernels that the driver does not load. ``log``: its compiler's."""
    if code == UNSUPPORTED_PTX:
        return refuse_version(strstr(PTX, Text(".version ")) + 9)
    return refuse_driver(f"loading the kernels, PTX for {STRINGS + MODEL.chip}, {log}", code)


def refuse_version(version: Text) -> int:
    """For a driver that is older than the model's PTX, whose version, as 8.0, stands in its text. CUDA 11 brought 7.x, 12 brought 8.x; CUDA
    12.6 had 8.5 like the one before."""
    end = stack(Words)
    driver = stack(Words)
    driver[0] = 0
    major = strtol(version, end, 10)
    minor = strtol(Text(end[0] + 1), end, 10)
    later = minor + 1 if major == 8 and minor > 5 else minor
    cuDriverGetVersion(DRIVER.cuDriverGetVersion, driver)
    thousands = driver[0] // 1000
    tens = (driver[0] - 1000 * thousands) // 10
    TVMFFIErrorSetRaisedFromCStr(
        "RuntimeError", f"the model's kernels, for {STRINGS + MODEL.chip}, are PTX of version {major}.{minor}, which takes a driver of "
        f"CUDA {major + 4}.{later} or later, and this one is of CUDA {thousands}.{tens}: install a newer driver of "
        "NVIDIA's, or compile the model for an older chip")
    return -1


def refuse_allocation(what: Text, size: int, ordinal: int, code: int) -> int:
    """For memory on the device that there is not."""
    if code != OUT_OF_MEMORY:
        return refuse_driver(f"allocating {size} bytes for {what}", code)
    numbers = stack(Words, 2)
    numbers[0] = 0
    numbers[1] = 0
    cuMemGetInfo(DRIVER.cuMemGetInfo_v2, numbers, address(numbers[1]))
    TVMFFIErrorSetRaisedFromCStr(
        "MemoryError", f"CUDA device {ordinal} is out of memory: {size} bytes are needed for {what}, and {numbers[0]} of {numbers[1]} "
        "bytes are free")
    return -1


def refuse_launch(run: CudaRun, kernel: int, site: int, grid: Words, code: int) -> None:
    """For a launch that the driver refused. ``grid``: the launch's sizes."""
    run.failed = code
    name = STRINGS + KERNELS[kernel].name
    ops = STRINGS + SITES[site].text
    threads = stack(Words)
    shared = stack(Words)
    threads[0] = 0
    shared[0] = 0
    handle = run.device.handle
    cuDeviceGetAttribute(DRIVER.cuDeviceGetAttribute, threads, MOST_THREADS, handle)
    cuDeviceGetAttribute(DRIVER.cuDeviceGetAttribute, shared, MOST_SHARED, handle)
    beyond = Text("")
    if threads[0] != 0 and grid[3] * grid[4] * grid[5] > threads[0]:
        beyond = f", and the device takes {threads[0]} threads in a block"
    if shared[0] != 0 and grid[6] > shared[0]:
        beyond = f", and the device takes {shared[0]} bytes of shared memory for a block"
    if grid[0] > 2147483647 or grid[1] > 65535 or grid[2] > 65535:
        beyond = ", and a grid takes 2147483647 x 65535 x 65535 blocks: call the model with smaller sizes"
    refuse_driver(
        f"launching the kernel {name} for {ops} (grid {grid[0]} x {grid[1]} x {grid[2]}, blocks of {grid[3]} x {grid[4]} x {grid[5]} "
        f"threads, {grid[6]} bytes of dynamic shared memory{beyond})", code)


def refuse_work(run: CudaRun, doing: Text, site: int, code: int) -> None:
    """For a copy in the middle of a call."""
    run.failed = code
    refuse_driver(f"{doing} for {STRINGS + SITES[site].text}", code)


def refuse_argument(value: TVMFFIAny, number: int, symbols: Words, wrong: int, detail: int, device: CudaDevice) -> int:
    """For an argument that does not fit: like ``messages.refuse``, where the device differs with both devices."""
    if wrong != DEVICE:
        return refuse(value, number, symbols, wrong, detail)
    row = INPUTS[number]
    tensor = tensor_of(value)
    given = stack(Text, DESCRIPTION_BYTES)
    describe(value, given)
    place = stack(Text, TEXT_BYTES)
    if tensor.device_type == CUDA:
        snprintf(place, TEXT_BYTES, f"on CUDA device {tensor.device_id}")
    else:
        snprintf(place, TEXT_BYTES, f"on a device of type {tensor.device_type}")
    TVMFFIErrorSetRaisedFromCStr(
        "ValueError", f"main: argument {number} '{STRINGS + row.name}' must be {STRINGS + row.expected}, but {given} was given: it is "
        f"{place}, and this instance of the model is on CUDA device {device.ordinal}, which takes its own tensors and those of the host "
        "(LEGATO_CUDA_DEVICE chooses the device when a model is compiled or loaded)")
    return -1


@pointed
def cuDeviceGetAttribute(code: Pointer, to: Words, attribute: Int32, device: Int32) -> Int32: ...
@pointed
def cuGetErrorName(code: Pointer, error: Int32, to: Words) -> Int32: ...
@pointed
def cuGetErrorString(code: Pointer, error: Int32, to: Words) -> Int32: ...
@pointed
def cuMemGetInfo(code: Pointer, free: Words, total: Words) -> Int32: ...
@pointed
def cuDriverGetVersion(code: Pointer, to: Words) -> Int32: ...
@extern()
def strstr(text: Text, part: Text) -> Text: ...
@extern()
def strtol(text: Text, end: Words, base: Int32) -> int: ...
