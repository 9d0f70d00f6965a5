"""Memory of results that callers have released. An instance keeps a reference to the last large results of each output; one to which nobody
else has a reference is a later call's result. New memory for each call costs more than a copy of it: where the C library gives large
blocks back to the system, each page is made anew, and zeroed. A result outlives its instance: its deleter is libc's ``free``."""
from legato.codegen.entry.abi import DLManagedTensor, Object, TensorObject, TVMFFIObjectDecRef, TVMFFIObjectIncRef
from legato.codegen.entry.copies import elements_of
from legato.codegen.entry.layouts import COUNTS, KEPT, OUTPUTS, Instance
from legato.codegen.entry.results import data_offset, new_tensor, set_shape
from legato.codegen.entry.values import drop_object
from legato.codegen.native.language import Words, address, exchange, store_if_null, swap_at, value_at
from legato.core.tvm_ffi_abi import SOLE_REFERENCE

LARGE = 1 << 16     # bytes of a result from which on it is kept: the C library itself keeps smaller blocks


def result_tensor(instance: Instance, number: int, shape: Words, data_to: Words) -> Object:
    """A tensor for an output of a shape, of kept memory or new: one reference, the caller's. Stores the address of its data. Null if out
    of memory."""
    size = elements_of(shape, OUTPUTS[number].rank) * OUTPUTS[number].width
    if size < LARGE:
        return new_tensor(number, shape, size, data_to)
    slots = kept_of(instance, number)
    for slot in range(KEPT):
        kept = Object(exchange(address(slots[slot]), Words(0)))     # no other call sees it now
        if kept:
            if value_at(Words(kept)) != SOLE_REFERENCE:
                if not store_if_null(address(slots[slot]), kept):   # another call stored its own meanwhile
                    TVMFFIObjectDecRef(kept)
            elif fits(number, kept, size):
                set_shape(TensorObject(kept).tensor, shape)
                data_to[0] = int(TensorObject(kept).tensor.data)
                return kept
            else:
                TVMFFIObjectDecRef(kept)
    return new_tensor(number, shape, size + size // 8, data_to)     # a cache grows with each call; what is not touched takes no pages


def fits(number: int, kept: Object, size: int) -> bool:
    """Whether a tensor's memory suffices for ``size`` bytes, without wasting more than that."""
    block = DLManagedTensor(TensorObject(kept).tensor.data - data_offset(OUTPUTS[number].rank))
    room = int(block.context)
    return size <= room and room <= 2 * size


def keep_result(instance: Instance, number: int, result: Object) -> None:
    """Keeps a reference to a result that a call gives to its caller, in place of that to the oldest one."""
    if elements_of(TensorObject(result).tensor.shape, OUTPUTS[number].rank) * OUTPUTS[number].width < LARGE:
        return
    TVMFFIObjectIncRef(result)
    slots = kept_of(instance, number)
    moved = int(result)
    for slot in range(KEPT):
        if moved != 0:
            moved = swap_at(address(slots[slot]), moved)
    drop_object(Object(moved))


def drop_kept(instance: Instance) -> None:
    """Drops the references of an instance that ends."""
    for number in range(COUNTS.outputs):
        slots = kept_of(instance, number)
        for slot in range(KEPT):
            drop_object(Object(slots[slot]))


def kept_of(instance: Instance, number: int) -> Words:
    """The references that an instance keeps to results of an output, the newest first: memory behind its handles."""
    return address(instance.handles[COUNTS.weights + COUNTS.packed + number * KEPT])
