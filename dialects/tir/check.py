"""The verifier of prim_funcs. MLIR has no verifier hook for attributes of a func.func, so passes call it where kernels change hands."""

from legato.core.errors import LegatoError
from legato.core.locations import model_name
from legato.core.mlir import func, ir
from legato.dialects.relax.markers import EXTERNAL, PACKED
from legato.dialects.tir.kernel import is_prim_func
from legato.dialects.tir.markers import OUT, PRIM_FUNC, STATE
from legato.dialects.tir.plain import plain_type

_OLD_STATES = {"tir.scheduled": "scheduled", "tir.fixed": "written"}  # marks that were replaced by one attribute
_CALLEES = (PRIM_FUNC, PACKED, EXTERNAL)


def check_prim_funcs(module: ir.Module) -> None:
    """LegatoError for the first function of the module that breaks the conventions of prim_funcs on tensors (see ``Tir``).

    Functions on memrefs are skipped: after bufferization they return no results.
    """
    for function in module.body.operations:
        if not isinstance(function, func.FuncOp) or any(isinstance(t, ir.MemRefType) for t in function.type.inputs):
            continue
        if is_prim_func(function):
            check_prim_func(function)
        elif not any(mark in function.attributes for mark in _CALLEES) and any(_outputs(function)):
            raise LegatoError(f"{_called(function)} has arguments marked {OUT}, but is not marked as one of: {', '.join(_CALLEES)}")


def check_prim_func(kernel: func.FuncOp) -> None:
    """LegatoError, naming the kernel and the argument, if it breaks the conventions of prim_funcs on tensors."""
    called, inputs, results = _called(kernel), list(kernel.type.inputs), list(kernel.type.results)
    if "sym_visibility" not in kernel.attributes or kernel.attributes["sym_visibility"].value != "private":
        raise LegatoError(f"{called} must be private")
    for old, state in _OLD_STATES.items():
        if old in kernel.attributes:
            raise LegatoError(f'{called} is marked {old}: write {STATE} = "{state}"')
    marks = _outputs(kernel)
    first = len(inputs) - len(results)
    if marks != [False] * first + [True] * len(results):
        found = ", ".join(str(number) for number, mark in enumerate(marks) if mark)
        expected = f"the last {len(results)} of {len(inputs)} arguments must be marked {OUT}, one for each result"
        raise LegatoError(f"{called}: {expected}; marked are: {found or 'none'}")
    for number, (argument, result) in enumerate(zip(inputs[first:], results), first):
        if argument != result:
            raise LegatoError(f"{called}: argument {number} is the output {argument}, but the result is {result}")
    for number, argument in enumerate(inputs):
        if isinstance(argument, ir.IndexType) and number < first:
            continue
        if not isinstance(argument, ir.RankedTensorType):
            raise LegatoError(f"{called}: argument {number} must be a ranked tensor or an index, is {argument}")
        with kernel.context, kernel.location:
            plain = plain_type(argument)
        if plain != argument:
            raise LegatoError(f"{called}: argument {number} must have a plain type, {plain}, is {argument}")


def _outputs(function: func.FuncOp) -> list[bool]:
    """For each argument, whether it is marked as an output."""
    if "arg_attrs" not in function.attributes:
        return [False] * len(function.type.inputs)
    return [OUT in attributes for attributes in function.attributes["arg_attrs"]]


def _called(function: func.FuncOp) -> str:
    name = model_name(function)
    return f"prim_func @{function.name.value}" + (f' "{name}"' if name else "")
