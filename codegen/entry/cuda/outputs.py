"""The results of a call: tensors of the host, or of the device where some argument is, or the arguments that are donated."""
from legato.codegen.entry.abi import (
    DLManagedTensor,
    DLTensor,
    Object,
    TensorObject,
    TVMFFIAny,
    TVMFFIObjectDecRef,
    TVMFFIObjectIncRef,
    TVMFFITensorFromDLPack,
    free,
    malloc,
)
from legato.codegen.entry.copies import elements_of
from legato.codegen.entry.cuda.arguments import is_of_host
from legato.codegen.entry.cuda.device import leave_context
from legato.codegen.entry.cuda.driver import (
    cuCtxPushCurrent,
    cuDevicePrimaryCtxRelease,
    cuDevicePrimaryCtxRetain,
    cuMemcpyDtoDAsync,
    cuMemcpyDtoHAsync,
    cuMemFree,
)
from legato.codegen.entry.cuda.layouts import CUDA, DRIVER, CudaDevice, CudaResult, CudaRun
from legato.codegen.entry.cuda.memory import device_memory, forget_error, make_room
from legato.codegen.entry.cuda.refusals import refuse_allocation, refuse_driver
from legato.codegen.entry.layouts import COUNTS, OUTPUTS, Instance
from legato.codegen.entry.messages import refuse_memory
from legato.codegen.entry.results import DESCRIPTION, describe_tensor, new_tensor, round_up
from legato.codegen.entry.values import set_value
from legato.codegen.native.language import Int32, Pointer, Words, address, code_of, extern, model, size_of, stack, tail_call, use_model
from legato.core.tvm_ffi_abi import TENSOR


def make_output(instance: Instance, run: CudaRun, number: int, shape: Words) -> int:
    """Makes the tensor of an output. 0, or nonzero with the error raised, and nothing made."""
    row = OUTPUTS[number]
    to = run.tensors[number]
    size = elements_of(shape, row.rank) * row.width
    set_value(to, TENSOR, 0)
    if run.on_device == 0:
        return host_output(number, shape, size, to)
    if TVMFFIEnvGetDLPackManagedTensorAllocator():
        prototype = stack(DLTensor)
        prototype.data = Pointer(0)
        prototype.device_type = CUDA
        prototype.device_id = run.device.ordinal
        prototype.rank = row.rank
        prototype.dtype = row.dtype
        prototype.shape = shape
        prototype.strides = Words(0)
        prototype.byte_offset = 0
        code = TVMFFIEnvTensorAlloc(prototype, address(to.value))
        if code != 0:       # it does not say why: mostly for want of memory
            forget_error()
            make_room(run.device)
            code = TVMFFIEnvTensorAlloc(prototype, address(to.value))
        return code
    return own_output(instance, run.device, number, shape, size, to)


def host_output(number: int, shape: Words, size: int, to: TVMFFIAny) -> int:
    """Makes a tensor of the host, as on CPUs. 0, or nonzero with the error raised."""
    data = stack(Words)
    made = new_tensor(number, shape, size, data)
    if not made:
        return refuse_memory(size)
    to.value = int(made)
    return 0


def own_output(instance: Instance, device: CudaDevice, number: int, shape: Words, size: int, to: TVMFFIAny) -> int:
    """Makes a tensor of the device without an allocator of the caller's. It keeps the context and the code that frees it. 0, or nonzero
    with the error raised."""
    row = OUTPUTS[number]
    head = round_up(DESCRIPTION + 16 * row.rank)
    block = DLManagedTensor(malloc(head + size_of(CudaResult)))
    if not block:
        return refuse_memory(size)
    made = CudaResult(block + head)
    room = size if size > 0 else 1      # the driver does not allocate nothing
    code = device_memory(device, address(made.memory), room)
    if code != 0:
        free(block)
        return refuse_allocation("a result", size, device.ordinal, code)
    made.model = model()
    made.handle = device.handle
    made.owner = instance.owner
    code = cuDevicePrimaryCtxRetain(DRIVER.cuDevicePrimaryCtxRetain, address(made.context), device.handle)
    if code != 0:
        cuMemFree(DRIVER.cuMemFree_v2, made.memory)
        free(block)
        return refuse_driver("keeping the device's context for a result", code)
    if made.owner:
        TVMFFIObjectIncRef(Object(made.owner))
    describe_tensor(block, Pointer(made.memory), row.dtype, row.rank, shape, Words(0))
    block.tensor.device_type = CUDA
    block.tensor.device_id = device.ordinal
    block.context = made
    block.deleter = code_of(drop_output)
    code = TVMFFITensorFromDLPack(block, 0, 0, address(to.value))
    if code != 0:
        drop_output(block)
    return code


def drop_output(block: DLManagedTensor) -> None:
    """Frees a result on the device; DLPack calls it. cuMemFree waits for what still uses the memory. The owner is released last, by a tail
    call, since this may free the running code."""
    use_model(CudaResult(block.context).model)
    made = CudaResult(block.context)
    owner = Object(made.owner)
    if cuCtxPushCurrent(DRIVER.cuCtxPushCurrent_v2, made.context) == 0:
        cuMemFree(DRIVER.cuMemFree_v2, made.memory)
        leave_context()
    cuDevicePrimaryCtxRelease(DRIVER.cuDevicePrimaryCtxRelease_v2, made.handle)
    free(block)
    if owner:
        return tail_call(TVMFFIObjectDecRef, owner)


def output_bytes(number: int, sizes: Words) -> int:
    """The bytes of an output."""
    row = OUTPUTS[number]
    return elements_of(address(sizes[row.first_size]), row.rank) * row.width


def data_of(value: TVMFFIAny) -> int:
    """The address of a tensor's data."""
    tensor = TensorObject(value.value).tensor
    return int(tensor.data + tensor.byte_offset)


def copy_outputs(run: CudaRun) -> int:
    """Copies the outputs that were computed elsewhere to their tensors. 0, or nonzero with the error raised."""
    for o in range(COUNTS.outputs):
        tensor = TensorObject(run.tensors[o].value).tensor
        size = elements_of(tensor.shape, tensor.rank) * OUTPUTS[o].width
        to = data_of(run.tensors[o])
        if size != 0 and to != run.results[o]:
            code = 0
            if is_of_host(tensor.device_type):
                code = cuMemcpyDtoHAsync(DRIVER.cuMemcpyDtoHAsync_v2, to, run.results[o], size, run.stream)
                if code != 0:
                    return refuse_driver("copying the results to the host", code)
            else:
                code = cuMemcpyDtoDAsync(DRIVER.cuMemcpyDtoDAsync_v2, to, run.results[o], size, run.stream)
                if code != 0:
                    return refuse_driver("copying a result to the memory of a donated argument", code)
    return 0


@extern()
def TVMFFIEnvGetDLPackManagedTensorAllocator() -> Pointer: ...
@extern()
def TVMFFIEnvTensorAlloc(prototype: DLTensor, to: Words) -> Int32: ...
