"""relax-expand-constants: constants of elementwise ops that change their step within few elements get one for each of the result's.

Boxes of four numbers times one stride each, images of three channels less a mean of each: the constant steps along other axes than the
other operand, so that vectors have four lanes, or three. Repeated along the last axes, it steps as that does, and both are one long row.
"""
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, relax_functions
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

MOST_BYTES = 1 << 20    # of a constant with all its elements
VECTORS = 4             # of a row that is long enough
PRODUCTS = ("relax.matmul", "relax.conv")     # the beginnings of their names


@dataclass(frozen=True)
class ExpandConstants(ModulePass):
    """Repeats constant operands along the last axes of elementwise ops, where they change their step before a vector is full."""

    name: ClassVar[str] = "relax-expand-constants"
    target: TargetText = option("llvm", "the target whose vectors rows are to fill")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        constants = Constants(module)
        for function in relax_functions(module):
            products: set[ir.Value] = set()     # and what is computed from their elements: tiles of them have vectors of their own
            made: dict[tuple[ir.Value, tuple[int, ...]], ir.Value] = {}
            for op in graph_ops(function):
                if op.name.startswith(PRODUCTS):
                    products.update(op.results)
                elif getattr(relax.op_class(op), "ELEMENTWISE", False) and len(op.results) == 1:
                    if products.isdisjoint(op.operands):
                        expand(op, machine, constants, made)
                    else:
                        products.add(op.results[0])
            erase_dead(function, constants)


def expand(op: ir.Operation, machine: CpuMachine, constants: Constants, made: dict[tuple[ir.Value, tuple[int, ...]], ir.Value]) -> None:
    """Repeats the constants among the operands of one op. ``made``: those made for ops before it, by the constant and the shape."""
    result = dims.dims(op.results[0].type)
    for place, operand in enumerate(op.operands):
        shape = expanded(dims.dims(operand.type), result, machine.lanes(32))
        if shape is None:
            continue
        array = constants.array(operand)
        if array is None or array.itemsize * prod(shape) > MOST_BYTES:
            continue
        known = made.get((operand, tuple(shape)))
        if known is None or known.owner.operation.block != op.block:     # that of another block may not dominate the op
            with ir.InsertionPoint(op), op.location:
                repeated = np.ascontiguousarray(np.broadcast_to(array, shape))
                known = made[operand, tuple(shape)] = constants.build(repeated, constants.name_of(operand))
        op.operands[place] = known


def expanded(shape: list[dims.Size], result: list[dims.Size], lanes: int) -> list[int] | None:
    """The shape of an operand that is repeated along the last axes of a result, as many as make a row of some vectors. None where it has
    one element, where it has one step along axes that fill a vector of so many lanes, and where axes that it could be repeated along have
    sizes that only the call knows."""
    whole = [1] * (len(result) - len(shape)) + [size if isinstance(size, int) else 0 for size in shape]
    if set(whole) == {1} or not 1 < _run(whole, result) < lanes:
        return None
    repeated, row = list(whole), 1
    for axis in reversed(range(len(result))):
        size = result[axis]
        if not isinstance(size, int) or row >= VECTORS * lanes:
            break
        repeated[axis], row = size, row * size
    return repeated if repeated != whole else None


def _run(shape: list[int], result: list[dims.Size]) -> int:
    """The elements of the last axes of a result along which an operand has one step: its own, or none."""
    run, first = 1, None
    for size, wanted in zip(reversed(shape), reversed(result), strict=True):
        if wanted == 1:
            continue
        steps = size == wanted
        if first is None:
            first = steps
        if steps != first or not isinstance(wanted, int):
            break
        run *= wanted
    return run
