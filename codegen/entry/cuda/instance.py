"""Instances of a model on a device: made by ``create``, each owned by the tvm-ffi function that callers get."""
from legato.codegen.entry.abi import TVMFFIAny, TVMFFIFunctionCreate, TVMFFIObjectDecRef, calloc, free
from legato.codegen.entry.cuda.call import call_on_device
from legato.codegen.entry.cuda.device import close_device, open_device
from legato.codegen.entry.instance import CREATE, give_instance, refuse_usage, take_handles
from legato.codegen.entry.layouts import COUNTS, Events, Instance
from legato.codegen.entry.values import drop_object, find_function
from legato.codegen.native.language import Int32, Words, address, code_of, exported, model, size_of, stack, tail_call, use_model
from legato.core.tvm_ffi_abi import POINTER


@exported(CREATE)
def create_on_device(this: Words, args: TVMFFIAny, given: Int32, result: TVMFFIAny) -> Int32:
    """``create(owner, weights...)`` makes an instance, which is a function, as instance.py has it for CPUs, memory for ``Events``
    included. The weights are copied to the device; they are not read later."""
    handles = COUNTS.weights
    if given != 1 + handles and (given != 2 + handles or args[1 + handles].type_index != POINTER):
        return refuse_usage("TypeError")
    instance = Instance(calloc(1, size_of(Instance) + 8 * handles))
    if not instance:
        return refuse_usage("MemoryError")
    instance.model = model()
    if given == 2 + handles:
        instance.events = Events(args[1 + handles].value)
    made = stack(Words)
    code = take_handles(instance, args[1])
    if code == 0:
        code = open_device(instance)
    if code == 0:
        code = find_function("ffi.Array", 9, address(instance.array))   # the container of several results
    if code == 0:
        code = TVMFFIFunctionCreate(instance, code_of(call_on_device), code_of(delete_on_device), made)
    if code != 0:
        delete_on_device(instance)
        return -1
    return give_instance(instance, args, made[0], result)


def delete_on_device(instance: Instance) -> None:
    """Frees an instance. Its owner is released last, by a tail call, since this may free the running code."""
    use_model(instance.model)
    owner = instance.owner
    close_device(instance)
    drop_object(instance.array)
    free(instance)
    if owner:
        return tail_call(TVMFFIObjectDecRef, owner)
