"""relax-fold-constants: ops whose operands are all constants are computed now, by the dialect's numpy semantics."""
import math
from dataclasses import dataclass

import numpy as np

from legato.core.diagnostics import PassFailed
from legato.core.dtypes import numpy_dtype
from legato.core.locations import describe
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.passes.graph.functions import CONSTANT, Constants, defining_op, erase_dead, graph_ops, is_graph_op, relax_functions
from legato.passes.pipeline.base import ModulePass, PassContext, option


@dataclass(frozen=True)
class FoldConstants(ModulePass):
    """Compute ops whose operands are all constants, and erase ops that nothing uses.

    An op that makes more of less (a broadcast, a tile) is left alone when its result is larger than `max-bytes`. The weights of operands
    that nothing else uses are dropped at once, so that the two are never in memory for all constants together.
    """

    name = "relax-fold-constants"
    max_bytes: int = option(1 << 20, "do not fold what has a larger result than this, and than its operands")

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        for function in relax_functions(module):
            for op in graph_ops(function):
                if is_graph_op(op) and op.name != CONSTANT:
                    fold(op, constants, self.max_bytes)
            erase_dead(function, constants)


def fold(op: ir.Operation, constants: Constants, max_bytes: int) -> bool:
    """Replaces the op's results by constants and erases it, and the operands that only it used; returns whether it could.

    LegatoError if numpy cannot compute the op; PassFailed if it gives another type than the op has.
    """
    operands = list(op.operands)
    makers = [defining_op(operand) for operand in operands]
    if not operands or any(maker is None or maker.name != CONSTANT for maker in makers):
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


def _replace(op: ir.Operation, inputs: list[np.ndarray], name: str, constants: Constants) -> None:
    held = sum(array.nbytes for array in inputs)
    with ir.InsertionPoint(op), op.location:
        for result, array in zip(op.results, relax.evaluate(op, inputs)):
            # A permutation or a reshape stays a view of the old bytes: whoever packs the weight copies it once. A part would hold it all.
            constant = constants.build(array.copy() if array.nbytes < held else array, name)
            if constant.type != result.type:
                raise PassFailed(f"numpy computes a {constant.type} for {describe(op)}, whose result is a {result.type}", op)
            result.replace_all_uses_with(constant)


def _size(type_: ir.RankedTensorType) -> int:
    """Bytes of a tensor of static shape."""
    return math.prod(type_.shape) * numpy_dtype(type_.element_type).itemsize
