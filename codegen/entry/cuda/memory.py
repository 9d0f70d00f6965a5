"""Memory of devices, which all models of a process share: where a device has none left, instances give up what they keep for later calls.

They stand in a list. Models that are compiled or loaded one by one share neither code nor data, so tvm-ffi keeps the list's address, as an
attribute of a type: of all that it keeps by name this alone needs no code that stays loaded.
"""
from legato.codegen.entry.abi import Object, TVMFFIAny, TVMFFIByteArray, calloc, free, sched_yield
from legato.codegen.entry.cuda.driver import cuMemAlloc
from legato.codegen.entry.cuda.layouts import DRIVER, CudaDevice, MemoryUsers
from legato.codegen.entry.cuda.refusals import OUT_OF_MEMORY
from legato.codegen.entry.layouts import Instance
from legato.codegen.entry.messages import refuse_memory
from legato.codegen.entry.values import drop_object, set_value
from legato.codegen.native.language import Int32, Pointer, Struct, Text, Words, address, extern, pointed, size_of, stack, swap_at
from legato.core.tvm_ffi_abi import POINTER


class AttributeColumn(Struct):
    """tvm-ffi's values of an attribute, one for each type from ``begin`` on."""

    values: TVMFFIAny
    size: Int32
    begin: Int32


def device_memory(device: CudaDevice, to: Words, size: int) -> int:
    """Allocates memory, if need be what other calls, of any model, have left behind. The driver's code."""
    code = cuMemAlloc(DRIVER.cuMemAlloc_v2, to, size)
    if code == OUT_OF_MEMORY:
        make_room(device)
        code = cuMemAlloc(DRIVER.cuMemAlloc_v2, to, size)
    return code


def make_room(device: CudaDevice) -> None:
    """All instances on a device give up what they keep for later calls. Who ends meanwhile waits for the list's lock."""
    users = known_users()
    if not users:
        return
    lock(users)
    user = users.first
    while user:
        if user.ordinal == device.ordinal:
            give_up(user.code, user.instance)
        user = user.next
    unlock(users)


def join_users(instance: Instance, device: CudaDevice, code: Pointer) -> int:
    """Puts an instance on the list. ``code``: a function of it that gives up what it keeps. 0, or nonzero with the error raised."""
    users = memory_users()
    if not users:
        return -1
    user = device.user
    user.ordinal = device.ordinal
    user.instance = instance
    user.code = code
    lock(users)
    user.next = users.first
    if user.next:
        user.next.before = user
    users.first = user
    unlock(users)
    return 0


def leave_users(device: CudaDevice) -> None:
    """Takes an instance off the list, if it is there."""
    user = device.user
    if not user.code:
        return
    users = known_users()
    lock(users)
    if user.next:
        user.next.before = user.before
    if user.before:
        user.before.next = user.next
    else:
        users.first = user.next
    unlock(users)
    user.code = Pointer(0)


def memory_users() -> MemoryUsers:
    """The list; a new one for the first instance. Null with the error raised."""
    users = known_users()
    if users:
        return users
    users = MemoryUsers(calloc(1, size_of(MemoryUsers)))
    if not users:
        refuse_memory(0)
        return users
    value = stack(TVMFFIAny)
    set_value(value, POINTER, int(users))
    if TVMFFITypeRegisterAttr(POINTER, name_of_list(stack(TVMFFIByteArray)), value) == 0:
        return users
    free(users)
    users = known_users()
    if users:                       # another thread was first
        forget_error()
    return users


def known_users() -> MemoryUsers:
    """The list, or null before the first instance."""
    column = TVMFFIGetTypeAttrColumn(name_of_list(stack(TVMFFIByteArray)))
    if not column:
        return MemoryUsers(0)
    return MemoryUsers(column.values[POINTER - column.begin].value)


def name_of_list(to: TVMFFIByteArray) -> TVMFFIByteArray:
    """The name that tvm-ffi knows the list by. Another layout of ``MemoryUser`` needs another name: models of several versions may meet in
    a process."""
    to.data = Text("legato.cuda_memory.1")
    to.size = 20
    return to


def lock(users: MemoryUsers) -> None:
    """Waits until no other thread uses the list."""
    while swap_at(address(users.locked), 1) != 0:
        sched_yield()


def unlock(users: MemoryUsers) -> None:
    """Lets others use the list."""
    swap_at(address(users.locked), 0)


def forget_error() -> None:
    """Drops the error that was raised last."""
    raised = stack(Words)
    TVMFFIErrorMoveFromRaised(raised)
    drop_object(Object(raised[0]))


@pointed
def give_up(code: Pointer, instance: Pointer) -> Int32: ...
@extern()
def TVMFFIGetTypeAttrColumn(name: TVMFFIByteArray) -> AttributeColumn: ...
@extern()
def TVMFFITypeRegisterAttr(type_index: Int32, name: TVMFFIByteArray, value: TVMFFIAny) -> Int32: ...
@extern()
def TVMFFIErrorMoveFromRaised(to: Words) -> None: ...
