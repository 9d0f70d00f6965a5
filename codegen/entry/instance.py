"""Instances of a model: made by ``create``, each owned by the tvm-ffi function that callers get."""
from legato.codegen.entry.abi import (
    Object,
    TVMFFIAny,
    TVMFFIErrorSetRaisedFromCStr,
    TVMFFIFunctionCreate,
    TVMFFIObjectDecRef,
    TVMFFIObjectIncRef,
    calloc,
    free,
)
from legato.codegen.entry.arenas import free_arenas
from legato.codegen.entry.call import call
from legato.codegen.entry.kept_results import drop_kept
from legato.codegen.entry.layouts import COUNTS, KEPT, PACKED, STRINGS, Events, Instance, release, request_tiles, retain
from legato.codegen.entry.values import drop_object, find_function, set_value
from legato.codegen.native.language import (
    Int32,
    Text,
    Words,
    address,
    code_of,
    exported,
    model,
    model_has,
    size_of,
    stack,
    tail_call,
    use_model,
)
from legato.core.tvm_ffi_abi import FUNCTION, INT, NONE, OBJECT, POINTER

CREATE = "__tvm_ffi_create"


@exported(CREATE)
def create(this: Words, args: TVMFFIAny, given: Int32, result: TVMFFIAny) -> Int32:
    """``create(owner, weights..., functions...)`` makes an instance, which is a function. ``owner``: an object that the instance keeps as
    long as it lives (it holds code and weights), or None; a weight: the address of its bytes, as an integer or a pointer; a function: one
    that the code calls, or None for the one that is registered under its name. All in the order of the metadata. One more argument, a
    pointer, is memory for ``Events``, in which the instance records its calls; the caller keeps it."""
    handles = COUNTS.weights + COUNTS.packed
    if given != 1 + handles and (given != 2 + handles or args[1 + handles].type_index != POINTER):
        return refuse_usage("TypeError")
    if model_has(request_tiles) and request_tiles() != 0:
        return refuse_tiles()
    instance = Instance(calloc(1, size_of(Instance) + 8 * (handles + KEPT * COUNTS.outputs)))
    if not instance:
        return refuse_usage("MemoryError")
    instance.model = model()
    if model_has(retain):
        retain()
    if given == 2 + handles:
        instance.events = Events(args[1 + handles].value)
    made = stack(Words)
    code = take_handles(instance, args[1])
    if code == 0:
        code = find_function("ffi.Array", 9, address(instance.array))   # the container of several results
    if code == 0:
        code = TVMFFIFunctionCreate(instance, code_of(call), code_of(delete), made)
    if code != 0:
        delete(instance)
        return -1
    return give_instance(instance, args, made[0], result)


def give_instance(instance: Instance, args: TVMFFIAny, function: int, result: TVMFFIAny) -> int:
    """Gives the function of an instance that is complete, which keeps its owner, the first of ``args``, from now on. 0."""
    if args.type_index >= OBJECT:
        instance.owner = Object(args.value)
        TVMFFIObjectIncRef(instance.owner)
    set_value(result, FUNCTION, function)
    return 0


def take_handles(instance: Instance, args: TVMFFIAny) -> int:
    """Stores the addresses of the weights, and the functions. 0, or nonzero with the error raised."""
    weights = COUNTS.weights
    for w in range(weights):
        if args[w].type_index != INT and args[w].type_index != POINTER:
            return refuse_usage("TypeError")
        instance.handles[w] = args[w].value
    for f in range(COUNTS.packed):
        arg = args[weights + f]
        if arg.type_index == FUNCTION:
            TVMFFIObjectIncRef(Object(arg.value))
            instance.handles[weights + f] = arg.value
        elif arg.type_index == NONE:
            name = Text(STRINGS + PACKED[f].name)
            find_function(name, PACKED[f].length, address(instance.handles[weights + f]))
            if instance.handles[weights + f] == 0:
                return refuse_unregistered(name)
        else:
            return refuse_usage("TypeError")
    return 0


def delete(instance: Instance) -> None:
    """Frees an instance. Its owner is released last, by a tail call, since this may free the running code."""
    use_model(instance.model)
    owner = instance.owner
    for f in range(COUNTS.packed):
        drop_object(Object(instance.handles[COUNTS.weights + f]))
    drop_object(instance.array)
    free_arenas(instance)
    drop_kept(instance)
    free(instance)
    if model_has(release):
        release()
    if owner:
        return tail_call(TVMFFIObjectDecRef, owner)


def refuse_usage(kind: Text) -> int:
    """Raises the error for arguments of ``create``. Nonzero."""
    TVMFFIErrorSetRaisedFromCStr(
        kind, "create takes an owner of code and weights (or None), each weight's address, then each packed function (or None)")
    return -1


def refuse_tiles() -> int:
    """Raises the error for a system that does not let the process use AMX. Nonzero."""
    TVMFFIErrorSetRaisedFromCStr(
        "RuntimeError", "the model was compiled for a CPU with AMX, and this system does not allow its use: "
        "arch_prctl(ARCH_REQ_XCOMP_PERM) failed. Compile the model on this machine, or for a CPU without it (target llvm{cpu=x86-64-v4})")
    return -1


def refuse_unregistered(name: Text) -> int:
    """Raises the error for a packed function that is not registered. Nonzero."""
    TVMFFIErrorSetRaisedFromCStr(
        "ValueError", f"the model calls the packed function '{name}', and none is registered under that name")
    return -1
