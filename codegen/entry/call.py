"""The function of an instance: checks its arguments, runs main, wraps the results."""
from legato.codegen.entry.abi import Object, TVMFFIAny, TVMFFIFunctionCall
from legato.codegen.entry.arenas import give_arena, take_arena
from legato.codegen.entry.check import RIGHT, check
from legato.codegen.entry.denormals import flush_denormals
from legato.codegen.entry.donated import check_donors, give_back
from legato.codegen.entry.faults import faults, refuse_access
from legato.codegen.entry.kept_results import keep_result, result_tensor
from legato.codegen.entry.layouts import COUNTS, OUTPUTS, REQUIREMENTS, Instance, main_sizes, run_main
from legato.codegen.entry.messages import refuse, refuse_memory, refuse_number, require
from legato.codegen.entry.values import drop_object, drop_values, set_value
from legato.codegen.native.language import Int32, Words, address, stack, use_float_mode, use_model
from legato.core.tvm_ffi_abi import TENSOR


def call(instance: Instance, args: TVMFFIAny, given: Int32, result: TVMFFIAny) -> Int32:
    """A call of the model. 0, or nonzero with the error raised."""
    use_model(instance.model)
    if given != COUNTS.inputs:
        return refuse_number(given)
    symbols = stack(Words, COUNTS.symbols)
    sizes = stack(Words, COUNTS.sizes)      # the first is the arena's
    data = stack(Words, COUNTS.inputs + COUNTS.outputs)
    results = stack(Words, COUNTS.outputs)
    if check_arguments(args, symbols, data) != 0 or check_donors(args, data) != 0:
        return -1
    main_sizes(symbols, sizes)
    if check_requirements(sizes) != 0:
        return -1
    size = sizes[0]
    arena = take_arena(instance, size)
    if not allocate_results(instance, sizes, data, address(data[COUNTS.inputs]), results) or (size != 0 and not arena):
        give_arena(instance, arena)
        drop_results(results, 0)
        return refuse_memory(size)
    before = faults() if COUNTS.checked != 0 else 0
    mode = stack(Words)
    if COUNTS.flushes != 0:
        flush_denormals(mode)
    code = run_main(instance, data, arena, symbols, results)
    if COUNTS.flushes != 0:
        use_float_mode(mode)
    give_arena(instance, arena)
    if COUNTS.checked != 0 and faults() != before:
        code = refuse_access()
    if code != 0:
        drop_results(results, 0)
        return code
    return give_results(instance, args, results, result)


def check_arguments(args: TVMFFIAny, symbols: Words, data: Words) -> int:
    """Stores the address of each argument's data, and the values of the symbols. 0, or nonzero with the error raised."""
    detail = stack(Words)
    for s in range(COUNTS.symbols):
        symbols[s] = -1     # no value yet
    for i in range(COUNTS.inputs):
        wrong = check(args[i], i, symbols, address(data[i]), detail)
        if wrong != RIGHT:
            return refuse(args[i], i, symbols, wrong, detail[0])
    return 0


def check_requirements(sizes: Words) -> int:
    """Checks the requirements that depend on the inputs' sizes only. 0, or nonzero with the error raised."""
    for r in range(COUNTS.requirements):
        row = REQUIREMENTS[r]
        if row.size >= 0 and require(r, sizes[row.size], sizes[row.size + row.equal]) != 0:
            return -1
    return 0


def allocate_results(instance: Instance, sizes: Words, inputs: Words, data: Words, results: Words) -> bool:
    """Allocates the results whose shapes are known, unless they take the memory of inputs; null for the others. False if out of memory."""
    for o in range(COUNTS.outputs):
        data[o] = 0
        results[o] = 0
    for o in range(COUNTS.outputs):
        if OUTPUTS[o].donor >= 0:
            data[o] = inputs[OUTPUTS[o].donor]
        elif OUTPUTS[o].first_size >= 0:
            results[o] = int(result_tensor(instance, o, address(sizes[OUTPUTS[o].first_size]), address(data[o])))
            if results[o] == 0:
                return False
    return True


def drop_results(results: Words, first: int) -> None:
    """Releases results, from the first one on."""
    for o in range(first, COUNTS.outputs):
        drop_object(Object(results[o]))


def give_results(instance: Instance, args: TVMFFIAny, results: Words, result: TVMFFIAny) -> int:
    """Gives the results' tensors to the caller, of several an array. A result in the memory of an argument is that tensor again. 0, or
    nonzero with the error raised."""
    outputs = COUNTS.outputs
    tensors = stack(TVMFFIAny, outputs)
    for o in range(outputs):
        set_value(tensors[o], TENSOR, results[o])
        donor = OUTPUTS[o].donor
        if donor >= 0:
            code = give_back(args[donor], tensors[o])
            if code != 0:
                drop_values(tensors, o)
                drop_results(results, o)
                return code
        else:
            keep_result(instance, o, Object(results[o]))
    if outputs == 1:
        set_value(result, TENSOR, tensors.value)
        return 0
    code = TVMFFIFunctionCall(instance.array, tensors, outputs, result)
    drop_values(tensors, outputs)
    return code
