"""Tensors on the stand-in's device, as another library would make and read them."""
import ctypes
from contextlib import contextmanager

import numpy as np
import tvm_ffi
from standin import driver

CUDA = 2
CODES = {"f": 2, "i": 0, "u": 1}
capsule_of = ctypes.pythonapi.PyCapsule_New
capsule_of.restype, capsule_of.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)

FAIL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


class Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", DELETER),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


def done(code):
    """The driver must not fail."""
    assert code == 0


@contextmanager
def context(ordinal=0):
    """The device's context, current while it is open."""
    device, handle = ctypes.c_int(), ctypes.c_void_p()
    done(driver().cuDeviceGet(ctypes.byref(device), ordinal))
    done(driver().cuDevicePrimaryCtxRetain(ctypes.byref(handle), device))
    done(driver().cuCtxPushCurrent_v2(handle))
    try:
        yield
    finally:
        done(driver().cuCtxPopCurrent_v2(ctypes.byref(handle)))
        done(driver().cuDevicePrimaryCtxRelease_v2(device))


def stream(flags=1):
    """A new stream that does not wait for the default one."""
    made = ctypes.c_void_p()
    with context():
        done(driver().cuStreamCreate(ctypes.byref(made), flags))
    return made


def wait(of=None):
    """Waits for a stream; None: the default one."""
    with context():
        done(driver().cuStreamSynchronize(of))


KEPT = {}   # what DLPack's consumers hold, by address


@DELETER
def delete(at):
    """Frees the device's memory with the tensor."""
    memory, ordinal = KEPT.pop(at)[1:]
    with context(ordinal):
        done(driver().cuMemFree_v2(ctypes.c_uint64(memory)))


def allocated(shape, dtype, ordinal=0, shift=0, versioned=False):
    """A new DLManagedTensor, or a versioned one. ``shift``: bytes before its data."""
    memory, dtype = ctypes.c_uint64(), np.dtype(dtype)
    with context(ordinal):
        done(driver().cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(max(1, int(np.prod(shape)) * dtype.itemsize + shift))))
    sizes = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    tensor = Tensor(memory.value, CUDA, ordinal, len(shape), CODES[dtype.kind], dtype.itemsize * 8, 1,
                    ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64)), None, shift)
    made = Versioned(1, 0, None, delete, 0, tensor) if versioned else Managed(tensor, None, delete)
    KEPT[ctypes.addressof(made)] = ((made, sizes), memory.value, ordinal)
    return made


def on_device(array, ordinal=0, shift=0):
    """A copy of an array on the device, as a tvm-ffi tensor."""
    array = np.ascontiguousarray(array)
    made = allocated(array.shape, array.dtype, ordinal, shift)
    with context(ordinal):
        if array.nbytes:
            done(driver().cuMemcpyHtoDAsync_v2(ctypes.c_uint64(made.tensor.data + shift), ctypes.c_void_p(array.ctypes.data),
                                               ctypes.c_size_t(array.nbytes), None))
        done(driver().cuStreamSynchronize(None))
    return tvm_ffi.from_dlpack(capsule_of(ctypes.addressof(made), b"dltensor", None))


def on_host(tensor, of=None):
    """A copy of a device's tensor, read in the order of a stream."""
    assert tensor.__dlpack_device__() == (CUDA, 0)
    array = np.empty(tuple(tensor.shape), str(tensor.dtype))
    with context():
        if array.nbytes:
            done(driver().cuMemcpyDtoHAsync_v2(ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(address(tensor)),
                                               ctypes.c_size_t(array.nbytes), of))
        done(driver().cuStreamSynchronize(of))
    return array


def address(tensor):
    """The address of a tensor's data."""
    return tensor.data_ptr()


@ALLOCATE
def allocate(prototype, to, context, fail):
    """What a framework gives tvm-ffi: makes a tensor like the prototype."""
    like = Tensor.from_address(prototype)
    kind = {number: kind for kind, number in CODES.items()}[like.code]
    try:
        made = allocated([like.shape[i] for i in range(like.rank)], f"{kind}{like.bits // 8}", like.device_id, versioned=True)
    except AssertionError:
        FAIL(fail)(context, b"MemoryError", b"the framework has none left")
        return -1
    ctypes.c_void_p.from_address(to).value = ctypes.addressof(made)
    ALLOCATED.append(made.tensor.data)
    return 0


ALLOCATED = []


@contextmanager
def framework():
    """A framework's allocator is that of this thread, as tvm-ffi has it while torch's tensors are passed."""
    library, before = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi()), ctypes.c_void_p()
    library.TVMFFIEnvSetDLPackManagedTensorAllocator(allocate, 0, ctypes.byref(before))
    try:
        yield
    finally:
        library.TVMFFIEnvSetDLPackManagedTensorAllocator(before, 0, None)
