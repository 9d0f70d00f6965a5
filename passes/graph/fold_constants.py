"""relax-fold-constants: computes ops on constants by the dialect's numpy semantics."""
import math
import sys
from dataclasses import dataclass

import numpy as np

from legato.core.diagnostics import PassFailed
from legato.core.dtypes import numpy_dtype
from legato.core.ir_helpers import defining_op, present
from legato.core.locations import describe
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.passes.graph.functions import CONSTANT, Constants, erase_dead, graph_ops, is_graph_op, relax_functions
from legato.passes.pipeline.base import ModulePass, PassContext, option


@dataclass(frozen=True)
class FoldConstants(ModulePass):
    """Computes ops whose operands are all constants, and erases ops without uses.

    An op whose result is larger than its operands (a broadcast, a tile) is left alone if it is also larger than `max-bytes`. The weights
    of operands without other uses are dropped at once, so that not all old and new constants are in memory together.
    """

    name = "relax-fold-constants"
    max_bytes: int = option(1 << 20, "do not fold ops whose result is larger than this, and than their operands")

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        for function in relax_functions(module):
            for op in graph_ops(function):
                if is_graph_op(op) and op.name != CONSTANT:
                    fold(op, constants, self.max_bytes)
            erase_dead(function, constants)


def fold(op: ir.Operation, constants: Constants, max_bytes: int) -> bool:
    """Replaces the op's results by constants, and erases it and operands without other uses. Returns whether it could be folded.

    LegatoError if numpy cannot compute the op; PassFailed if its result has another type than the op's.
    """
    operands = list(op.operands)
    makers = [defining_op(operand) for operand in operands]
    if not operands or any(maker is None or maker.name != CONSTANT for maker in makers):
        return False
    if present(relax.op_class(op)).DEFINES_SIZES or relax.has_symbols(op):
        return False
    types = [result.type for result in op.results]
    if not all(type_.has_static_shape for type_ in types):
        return False
    if sum(map(_size, types)) > max(max_bytes, sum(_size(operand.type) for operand in operands)):
        return False
    _replace(op, [constants.array(operand) for operand in operands], constants.name_of(*operands), constants)
    constants.erase(op)
    constants.erase_unused(operands)
    return True


def fold_made(value: ir.Value, constants: Constants) -> None:
    """Replaces a value of any size that graph ops compute from constants by a constant, and erases these; raises what ``fold`` does."""
    op = defining_op(value)
    if op is not None and op.name != CONSTANT:
        for number in range(len(op.operands)):      # which folding the one in front may have replaced
            fold_made(op.operands[number], constants)
        fold(op, constants, sys.maxsize)


def _replace(op: ir.Operation, inputs: list[np.ndarray], name: str, constants: Constants) -> None:
    held = sum(array.nbytes for array in inputs)
    with ir.InsertionPoint(op), op.location:
        for result, array in zip(op.results, relax.evaluate(op, inputs)):
            # Permutations and reshapes stay views: packing the weight copies it once. A slice is copied: its view would keep the
            # whole array alive.
            constant = constants.build(array.copy() if array.nbytes < held else array, name)
            if constant.type != result.type:
                raise PassFailed(f"numpy computes a {constant.type} for {describe(op)}, whose result is a {result.type}", op)
            result.replace_all_uses_with(constant)


def _size(type_: ir.RankedTensorType) -> int:
    """Bytes of a tensor of static shape."""
    return math.prod(type_.shape) * numpy_dtype(type_.element_type).itemsize
