"""Inputs whose memory results take: ``legato.donate``."""
from collections.abc import Iterable, Mapping

from legato.compilable import Compilable, own_copy
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.relax.markers import DONATED
from legato.passes.memory.signature import Boundary, BoundaryValue


def donate(module: Compilable, inputs: Iterable[str] | Mapping[str, str]) -> Module:
    """A copy of a module whose compiled calls write results into the arrays that are given for some inputs, as for the caches of keys and
    values of a language model.

    ``inputs``: the names of inputs that are donated, each with the name of the output that takes its memory. Of an input without one it is
    an output of the same element type and shape: the one that has its name with ``present`` for ``past``, or its own name, else the first
    that no other input has been given to.

    A call of the compiled model then returns the donated array itself, with the output in it. Its former contents are gone; after a call
    that fails they are undefined. The array must be writable, contiguous and aligned, and share no memory with another argument. An output
    is computed in place where nothing reads the old contents afterwards: a ``TensorScatter``, ``ScatterND`` or ``ScatterElements`` of an
    input then touches the updated elements only. Otherwise it is computed elsewhere, and copied.

        module = legato.donate(legato.from_onnx("decoder.onnx"), {"past.0.key": "present.0.key", "past.0.value": "present.0.value"})
        exe = legato.compile(module)
        logits, keys, values = exe(ids, keys, values)       # the same two arrays

    LegatoError: there is no such input or output, an input has a default, is donated twice, an output is given two inputs, or their element
    types or shapes differ.
    """
    if isinstance(inputs, str):
        raise TypeError(f"the inputs that are donated are a list of names, not one text: write [{inputs!r}]")
    result = own_copy(module)
    main = result.function("main")
    boundary = Boundary.of(main)
    pairs = list(inputs.items()) if isinstance(inputs, Mapping) else [(name, None) for name in inputs]
    numbers = {value.name: number for number, value in enumerate(boundary.inputs)}
    places = {value.name: number for number, value in enumerate(boundary.outputs)}
    donors = [-1] * len(places)
    for name, output in sorted(pairs, key=lambda pair: pair[1] is None):
        if name not in numbers:
            raise LegatoError(f"cannot donate '{name}': the inputs of the model are {_listed(numbers)}")
        if numbers[name] in donors:
            raise LegatoError(f"cannot donate the input '{name}' twice: '{boundary.outputs[donors.index(numbers[name])].name}' takes its "
                              "memory already")
        if output is not None and output not in places:
            raise LegatoError(f"cannot donate the input '{name}' to '{output}': the outputs of the model are {_listed(places)}")
        given = boundary.inputs[numbers[name]]
        if given.default:
            raise LegatoError(f"cannot donate the input '{name}', which has a default: a call without it would write to the model's memory")
        place = _fitting(given, boundary.outputs, donors) if output is None else places[output]
        if donors[place] >= 0:
            raise LegatoError(f"cannot donate the input '{name}' to '{output}', which takes the memory of "
                              f"'{boundary.inputs[donors[place]].name}' already")
        if not _same_type(given, boundary.outputs[place]):
            raise LegatoError(f"cannot donate the input '{name}', {given}, to the output '{output}', which is {boundary.outputs[place]}: "
                              "an output takes the memory of an input of its own element type and shape")
        donors[place] = numbers[name]
    with result.context:
        main.attributes[DONATED] = ir.DenseI64ArrayAttr.get(donors)
    return result


def _fitting(given: BoundaryValue, outputs: tuple[BoundaryValue, ...], donors: list[int]) -> int:
    """The output that takes an input's memory, if none is named. LegatoError if none can."""
    free = [number for number, value in enumerate(outputs) if donors[number] < 0 and _same_type(given, value)]
    if not free:
        raise LegatoError(f"cannot donate the input '{given.name}': no output that is left has its element type and shape, {given}; the "
                          f"outputs are {', '.join(f'{value.name}: {value}' for value in outputs)}")
    named = [number for number in free if outputs[number].name in (given.name.replace("past", "present"), given.name)]
    return (named or free)[0]


def _same_type(given: BoundaryValue, output: BoundaryValue) -> bool:
    return given.dtype == output.dtype and given.shape == output.shape


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
