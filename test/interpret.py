"""Runs a relax function by the dialect's numpy semantics: what tests compare passes and compiled code with."""
from collections.abc import Mapping, Sequence

import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.dialects.relax.markers import DEFAULT


def interpret(module: Module, arguments: Sequence[np.ndarray], function: str = "main",
              known: Mapping[str, int] | None = None) -> list[np.ndarray]:
    """The results of a function of graph ops for some arguments, whose shapes give the symbols their values; arguments that are left out
    take their defaults. ``known``: other symbols."""
    main = module.function(function)
    block = main.body.blocks[0]
    left = list(main.arg_attrs)[len(arguments):] if len(arguments) < len(block.arguments) else []
    arguments = [*arguments, *(module.weights[attributes[DEFAULT].value] for attributes in left)]
    values = dict(zip(block.arguments, arguments, strict=True))
    symbols: dict[str, int] = dict(known or {})
    for argument, array in zip(block.arguments, arguments):
        for size, length in zip(dims.dims(argument.type), array.shape):
            if isinstance(size, dims.Dim) and size.is_symbol:
                assert symbols.setdefault(str(size), length) == length, f"two lengths for {size}"
            elif isinstance(size, int):
                assert size == length, f"{argument.type} got {array.shape}"
    last_use = {operand: number for number, op in enumerate(block.operations) for operand in op.operands}
    for number, op in enumerate(block.operations):
        operands = [values[operand] for operand in op.operands]
        if op.operation.name == "func.return":
            return operands
        if op.operation.name == "relax.constant":
            results = (module.weights[op.weight] if op.weight is not None else op.value,)
        elif op.operation.name in _SIZES:
            results = (_SIZES[op.operation.name](op, *operands),)
        else:
            results = relax.evaluate(op, operands, symbols)
        for result, array in zip(op.operation.results, results):   # a size that the data says
            for name, axis, scale, offset in dims.given_symbols(result.type):
                symbols.setdefault(name, (array.shape[axis] - offset) // scale)
        values.update(zip(op.operation.results, results))
        for operand in op.operands:
            if last_use[operand] == number:
                values.pop(operand, None)
    raise AssertionError("the function does not return")


# What dims.materialize builds, and what makes a tensor of it; index values are Python ints.
_SIZES = {
    "arith.constant": lambda op: op.value.value,
    "arith.index_cast": lambda op, size: size,
    "arith.addi": lambda op, a, b: a + b,
    "arith.subi": lambda op, a, b: a - b,
    "arith.muli": lambda op, a, b: a * b,
    "arith.floordivsi": lambda op, a, b: a // b,
    "arith.minsi": lambda op, a, b: min(a, b),
    "arith.maxsi": lambda op, a, b: max(a, b),
    "arith.cmpi": lambda op, a, b: a == b,      # whether a size is 1, the only comparison
    "arith.select": lambda op, condition, a, b: a if condition else b,
    "tensor.dim": lambda op, x, axis: x.shape[axis],
    "tensor.from_elements": lambda op, *values: np.array(values, numpy_dtype(op.result.type.element_type)).reshape(op.result.type.shape),
}


def relative_error(ours: np.ndarray, theirs: np.ndarray) -> float:
    """max|a - b| / max|b|."""
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype, f"{ours.dtype}{ours.shape} and {theirs.dtype}{theirs.shape}"
    return float(np.abs(ours - theirs).max(initial=0) / np.abs(theirs).max(initial=1e-30))
