"""What an instance has on its device: the context, the kernels, the weights."""
from legato.codegen.entry.abi import calloc, free
from legato.codegen.entry.cuda.driver import (
    MAJOR,
    MINOR,
    MULTIPROCESSORS,
    cuCtxPopCurrent,
    cuCtxPushCurrent,
    cuDeviceGet,
    cuDeviceGetAttribute,
    cuDeviceGetCount,
    cuDeviceGetName,
    cuDevicePrimaryCtxRelease,
    cuDevicePrimaryCtxRetain,
    cuInit,
    cuMemcpyHtoDAsync,
    cuMemFree,
    cuModuleGetFunction,
    cuModuleLoadDataEx,
    cuModuleUnload,
    cuStreamSynchronize,
    getenv,
    load_driver,
    strlen,
)
from legato.codegen.entry.cuda.lanes import free_lanes, round_up_on_device
from legato.codegen.entry.cuda.layouts import CUBIN, DRIVER, KERNELS, MODEL, PTX, WEIGHTS, CudaDevice
from legato.codegen.entry.cuda.memory import device_memory, join_users, leave_users
from legato.codegen.entry.cuda.refusals import (
    NO_DEVICE,
    refuse_allocation,
    refuse_chip,
    refuse_driver,
    refuse_module,
    refuse_no_device,
    refuse_ordinal,
    strtol,
)
from legato.codegen.entry.layouts import COUNTS, STRINGS, Instance
from legato.codegen.entry.messages import refuse_memory
from legato.codegen.native.language import Int32, Pointer, Text, Words, address, code_of, model_has, size_of, stack, use_model

NAME_BYTES = 256
LOG_BYTES = 1024
LOG_OPTIONS = 5 | 6 << 32       # CU_JIT_ERROR_LOG_BUFFER, and its size


def open_device(instance: Instance) -> int:
    """Starts the driver, and puts kernels and weights on the chosen device. The weights' addresses become those on the device. 0, or
    nonzero with the error raised; ``close_device`` takes back what was done until then."""
    if load_driver() != 0:
        return -1
    device = CudaDevice(calloc(1, size_of(CudaDevice) + 8 * MODEL.kernels))
    instance.device = device
    if not device:
        return refuse_memory(0)
    if choose_device(device) != 0 or check_chip(device) != 0:
        return -1
    code = cuDevicePrimaryCtxRetain(DRIVER.cuDevicePrimaryCtxRetain, address(device.context), device.handle)
    if code != 0:
        device.context = Pointer(0)
        return refuse_driver("making a context on the device", code)
    code = cuCtxPushCurrent(DRIVER.cuCtxPushCurrent_v2, device.context)
    if code != 0:
        return refuse_driver("using the device's context", code)
    done = load_kernels(device)
    if done == 0:
        done = load_weights(instance, device)
    if done == 0:
        done = join_users(instance, device, code_of(give_up_lanes))
    leave_context()
    return done


def choose_device(device: CudaDevice) -> int:
    """Finds the device that the environment names, or the first one. 0, or nonzero with the error raised."""
    code = cuInit(DRIVER.cuInit, 0)
    count = stack(Words)
    count[0] = 0
    if code == 0:
        code = cuDeviceGetCount(DRIVER.cuDeviceGetCount, count)
    if code == NO_DEVICE or (code == 0 and count[0] == 0):
        return refuse_no_device()
    if code != 0:
        return refuse_driver("starting the CUDA driver", code)
    given = getenv("LEGATO_CUDA_DEVICE")
    if given:
        end = stack(Words)
        device.ordinal = strtol(given, end, 10)
        is_number = strlen(given) != 0 and end[0] == int(given) + strlen(given)
        if not is_number or device.ordinal < 0 or device.ordinal >= count[0]:
            return refuse_ordinal(given, count[0])
    code = cuDeviceGet(DRIVER.cuDeviceGet, address(device.handle), device.ordinal)
    return 0 if code == 0 else refuse_driver("finding the device", code)


def check_chip(device: CudaDevice) -> int:
    """Whether a device runs the model's code. 0, or nonzero with the error raised."""
    name = stack(Text, NAME_BYTES)
    major = stack(Words)
    minor = stack(Words)
    major[0] = 0
    minor[0] = 0
    code = cuDeviceGetName(DRIVER.cuDeviceGetName, name, NAME_BYTES, device.handle)
    if code == 0:
        code = cuDeviceGetAttribute(DRIVER.cuDeviceGetAttribute, major, MAJOR, device.handle)
    if code == 0:
        code = cuDeviceGetAttribute(DRIVER.cuDeviceGetAttribute, minor, MINOR, device.handle)
    if code == 0:
        code = cuDeviceGetAttribute(DRIVER.cuDeviceGetAttribute, address(device.multiprocessors), MULTIPROCESSORS, device.handle)
    if code != 0:
        return refuse_driver("describing the device", code)
    version = 10 * major[0] + minor[0]
    fits = version >= MODEL.version
    if MODEL.only == 1:
        fits = version == MODEL.version
    if MODEL.only == 2:
        fits = fits and major[0] == MODEL.version // 10
    return 0 if fits else refuse_chip(name, device.ordinal, version)


def load_kernels(device: CudaDevice) -> int:
    """Loads the model's code and finds its kernels. 0, or nonzero with the error raised."""
    if MODEL.kernels == 0:
        return 0
    log = stack(Text, LOG_BYTES)
    options = stack(Words)
    values = stack(Words, 2)
    Words(log)[0] = 0
    options[0] = LOG_OPTIONS
    values[0] = int(log)
    values[1] = LOG_BYTES
    code = -1
    if model_has(CUBIN) and CUBIN[0] != 0:      # for one chip: others, and drivers that do not know its format, refuse it
        code = cuModuleLoadDataEx(DRIVER.cuModuleLoadDataEx, address(device.module), CUBIN, 2, options, values)
    if code != 0:
        code = cuModuleLoadDataEx(DRIVER.cuModuleLoadDataEx, address(device.module), PTX, 2, options, values)
    if code != 0:
        device.module = Pointer(0)
        return refuse_module(log, code)
    for k in range(MODEL.kernels):
        name = STRINGS + KERNELS[k].name
        code = cuModuleGetFunction(DRIVER.cuModuleGetFunction, address(device.functions[k]), device.module, name)
        if code != 0:
            return refuse_kernel(name, code)
    return 0


def refuse_kernel(name: Text, code: int) -> int:
    """For a kernel that the model's code does not have."""
    return refuse_driver(f"finding the kernel {name} in the model's code", code)


def load_weights(instance: Instance, device: CudaDevice) -> int:
    """Copies the weights to the device; the instance then has their addresses there. 0, or nonzero with the error raised."""
    total = 0
    for w in range(COUNTS.weights):
        total += round_up_on_device(WEIGHTS[w].size)
    if total == 0:
        return 0
    code = device_memory(device, address(device.weights), total)
    if code != 0:
        device.weights = 0
        return refuse_allocation("the weights", total, device.ordinal, code)
    at = device.weights
    for w in range(COUNTS.weights):
        size = WEIGHTS[w].size
        if code == 0 and size != 0:
            code = cuMemcpyHtoDAsync(DRIVER.cuMemcpyHtoDAsync_v2, at, instance.handles[w], size, Pointer(0))
        instance.handles[w] = at
        at += round_up_on_device(size)
    if code == 0:
        code = cuStreamSynchronize(DRIVER.cuStreamSynchronize, Pointer(0))
    return 0 if code == 0 else refuse_driver("copying the weights to the device", code)


def close_device(instance: Instance) -> None:
    """Frees everything that an instance has on its device. Errors, as at the end of a process, whose driver is gone, are passed over."""
    device = CudaDevice(instance.device)
    if not device:
        return
    leave_users(device)
    if device.context:
        if cuCtxPushCurrent(DRIVER.cuCtxPushCurrent_v2, device.context) == 0:
            free_lanes(instance)
            if device.weights != 0:
                cuMemFree(DRIVER.cuMemFree_v2, device.weights)
            if device.module:
                cuModuleUnload(DRIVER.cuModuleUnload, device.module)
            leave_context()
        cuDevicePrimaryCtxRelease(DRIVER.cuDevicePrimaryCtxRelease_v2, device.handle)
    free(device)


def give_up_lanes(instance: Instance) -> Int32:
    """Frees the memory that an instance keeps for later calls; a call of any model that finds none left asks for it. 0."""
    use_model(instance.model)
    if cuCtxPushCurrent(DRIVER.cuCtxPushCurrent_v2, CudaDevice(instance.device).context) == 0:
        free_lanes(instance)
        leave_context()
    return 0


def leave_context() -> None:
    """The thread's own context is current again."""
    before = stack(Words)
    cuCtxPopCurrent(DRIVER.cuCtxPopCurrent_v2, before)
