"""relax-quantize-before-moves: values are quantized before they are moved, so that moves are of bytes.

``quantize(move(x))`` becomes ``move(quantize(x))`` for reshapes, permutations, broadcasts and concatenations: the quantization is computed
by the kernel that computes x, and a quarter of the bytes move. Where x was dequantized by the same scale and zero point, as around each
move in models that quantizers write, nothing is left but the move of its bytes: that is found by computing the function from bytes to
bytes for all 256 of them. Slices and pools of dequantized values are moves in this sense, too.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.ir_helpers import defining_op, only_use, present
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, rebuilt, relax_functions, replace_uses
from legato.passes.graph.integers.quantized import BYTES, VIEWS, Reader, dtype_of
from legato.passes.graph.integers.tabulated import CONCAT, TabulatedValues, scalar_step
from legato.passes.pipeline.base import ModulePass, PassContext

BEFORE = (*VIEWS, "relax.permute_dims", "relax.broadcast_to", CONCAT)   # whose results have all elements of their operands


@dataclass(frozen=True)
class QuantizeBeforeMoves(ModulePass):
    """Moves elements after they are quantized to bytes, not before, and bytes in place of what is dequantized and quantized again by the
    same numbers.

    Results stay the same. Constants that a move kept apart may be reassociated later.
    """

    name: ClassVar[str] = "relax-quantize-before-moves"

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        for function in relax_functions(module):
            if rewrite(function, Reader(constants)):
                erase_dead(function, constants)


def rewrite(function: func.FuncOp, reader: Reader) -> bool:
    """Works on one function. Returns whether anything changed."""
    functions, changed = TabulatedValues(reader), False
    for op in graph_ops(function):
        if op.name != "relax.astype" or dtype_of(op.results[0]) not in BYTES or dtype_of(op.operands[0]).kind != "f":
            continue
        left = [op]
        while left:
            quantization = left.pop()
            with ir.InsertionPoint(quantization), quantization.location:
                found = functions.of_result(quantization)
                if found is not None and found.is_identity():
                    new = found.moved()
                else:
                    new, added = quantized_first(quantization, reader)
                    left += added
            if new is not None:
                replace_uses(quantization.results[0], new)
                changed = True
    return changed


def quantized_first(op: ir.Operation, reader: Reader) -> tuple[ir.Value | None, list[ir.Operation]]:
    """The result of a quantization as the move of quantized values, and their quantizations; None, and none, if it is not of a move."""
    steps: list[tuple[ir.Operation, int, list[np.ndarray]]] = []
    value, step = op.results[0], scalar_step(op, reader)
    while step is not None and (not steps or only_use(value) is not None):
        kept = present(defining_op(value))
        steps.insert(0, (kept, *step))
        value = kept.operands[step[0]]
        step = scalar_step(defining_op(value), reader)
    move = defining_op(value)
    if move is None or move.name not in BEFORE or only_use(value) is None or dims.UNKNOWN in dims.dims(value.type):
        return None, []
    count = len(move.operands) if move.name == CONCAT else 1
    made = []
    for operand in list(move.operands)[:count]:
        for kept, place, others in steps:
            numbers = [relax.constant(array) for array in others]
            operand = rebuilt(kept, [*numbers[:place], operand, *numbers[place:]])
        made.append(operand)
    added = [present(defining_op(one)) for one in made]
    if move.name == CONCAT:
        return relax.concat(made, axis=relax.attributes_of(move)["axis"]), added
    return rebuilt(move, [*made, *list(move.operands)[1:]]), added
