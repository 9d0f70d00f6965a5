"""relax-rotate-halves: the turned half of a rotary embedding is taken by constant indices, in place of a concatenation.

``concat(-x[h:], x[:h])`` is four kernels, which write to memory what a product with the sines reads next. The same elements, taken in
another order and multiplied by -1 and 1, are part of the elementwise kernel that adds up the rotation.
"""
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax.dims import UNKNOWN, dims
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, relax_functions, replace_uses, sliced_axes
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class RotateHalves(ModulePass):
    """Puts halves that change places in the place of concatenations of a tensor's negated second half and its first one, along the last
    axis. For devices on which a launch costs more than to read in any order."""

    name: ClassVar[str] = "relax-rotate-halves"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        for function in relax_functions(module):
            for op in graph_ops(function):
                if op.name == "tensor.concat" and (x := rotated(op)) is not None:
                    exchange(op, x, constants)
            erase_dead(function, constants)


def rotated(op: ir.Operation) -> ir.Value | None:
    """The tensor whose halves an op concatenates, the second one negated in front; None for another op."""
    last = op.results[0].type.rank - 1
    if len(op.operands) != 2 or relax.attributes_of(op)["axis"] % (last + 1) != last:
        return None
    negative, first = map(defining_op, op.operands)
    if negative is None or negative.name != "relax.negative":
        return None
    second, sizes = defining_op(negative.operands[0]), dims(op.results[0].type)
    x = None if first is None or first.name != "relax.strided_slice" else first.operands[0]
    if x is None or x.type != op.results[0].type or UNKNOWN in sizes or not isinstance(sizes[last], int) or sizes[last] % 2:
        return None
    half = sizes[last] // 2
    return x if half and is_part(first, x, 0, half) and is_part(second, x, half, 2 * half) else None


def is_part(op: ir.Operation | None, x: ir.Value, begin: int, end: int) -> bool:
    """Whether an op is a slice of these elements along the last axis."""
    if op is None or op.name != "relax.strided_slice" or op.operands[0] != x:
        return False
    attrs, size = relax.attributes_of(op), x.type.shape[-1]
    if attrs["strides"] not in (None, [1]) or sliced_axes(op) != [x.type.rank - 1]:
        return False
    places = [attrs["begin"][0], attrs["end"][0]]
    return all(isinstance(place, int) for place in places) and list(range(size))[slice(*places)] == list(range(begin, end))


def exchange(op: ir.Operation, x: ir.Value, constants: Constants) -> None:
    """Puts the exchanged halves in place of a concatenation."""
    size = x.type.shape[-1]
    with ir.InsertionPoint(op), op.location:
        places = constants.build(np.roll(np.arange(size), size // 2), "halves")
        signs = np.repeat(np.array([-1, 1], numpy_dtype(x.type.element_type)), size // 2)
        replace_uses(op.results[0], relax.multiply(relax.take(x, places, axis=x.type.rank - 1), constants.build(signs, "signs")))
