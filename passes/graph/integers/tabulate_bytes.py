"""relax-tabulate-bytes: functions from bytes to bytes are looked up in tables of their 256 results.

Between two integer layers a quantized network dequantizes bytes, computes an activation in floats, often in steps that are quantized
each, and quantizes its results: a function of one byte, however many ops it has. The table is computed here, by the ops' definitions.

What clips and scales what a product has just computed stays: its kernel does so in registers.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.ir_helpers import defining_op
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, relax_functions, replace_uses
from legato.passes.graph.integers.quantized import BYTES, Reader, dtype_of
from legato.passes.graph.integers.tabulated import CONCAT, MOVES, POOLS, TabulatedValue, TabulatedValues, is_elementwise
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

LEAST = 1 << 10     # elements, from which on a kernel of its own pays
LINEAR = frozenset(f"relax.{name}" for name in ("astype", "add", "subtract", "multiply", "divide", "round", "clip", "maximum", "minimum",
                                                "relu", "negative"))
SLOW = frozenset(f"relax.{name}" for name in (     # which vectors compute in more time than a load of each byte takes
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "celu", "cos", "cosh", "elu", "erf", "erfc", "erfinv", "exp", "expm1", "gelu",
    "lgamma", "log", "log10", "log1p", "log2", "mish", "power", "selu", "sigmoid", "silu", "sin", "sinh", "softplus", "tan", "tanh"))
UNSIGNED = np.dtype(np.uint8)


@dataclass(frozen=True)
class TabulateBytes(ModulePass):
    """Bytes that elementwise ops compute from other bytes are looked up: on a CPU that looks up vectors of bytes (AVX512-VBMI), where the
    ops are more than sums and products, or no kernel with other work computes them; on others, where an exponential or the like is among
    them, as what vectors compute in a few instructions takes less time than loads of single bytes.

    Results are those of the ops' definitions, correctly rounded; kernels approximate some functions to about a unit in the last place.
    """

    name: ClassVar[str] = "relax-tabulate-bytes"
    target: TargetText = option("llvm", "the target whose CPU may look up vectors of bytes")

    def run(self, module: Module, context: PassContext) -> None:
        has_instruction = context.cpu(self.target).has("avx512vbmi")
        constants = Constants(module)
        for function in relax_functions(module):
            if rewrite(function, Reader(constants), has_instruction):
                erase_dead(function, constants)


def rewrite(function: func.FuncOp, reader: Reader, has_instruction: bool) -> bool:
    """Works on one function, the last results first. Returns whether anything changed."""
    functions, changed = TabulatedValues(reader, farthest=True), False
    for op in reversed(graph_ops(function)):
        if op.name != "relax.astype" or dtype_of(op.results[0]) not in BYTES or not list(op.results[0].uses):
            continue
        found = functions.of_result(op)
        if found is None or found.source is None or not worth_it(op, found, has_instruction):
            continue
        with ir.InsertionPoint(op), op.location:
            replace_uses(op.results[0], looked_up(found, reader.constants))
        changed = True
    return changed


def worth_it(op: ir.Operation, found: TabulatedValue, has_instruction: bool) -> bool:
    """Whether looking up an op's results is faster than computing them."""
    if found.is_identity():
        return True
    type_ = op.results[0].type
    if type_.has_static_shape and np.prod(type_.shape, dtype=np.int64) < LEAST:
        return False
    if not has_instruction:
        return not found.ops.isdisjoint(SLOW)
    if found.joins or not found.ops <= LINEAR:
        return True
    return not _is_computed(found.source) and not all(is_elementwise(use.owner) for use in op.results[0].uses)


def _is_computed(value: ir.Value | None) -> bool:
    """Whether a kernel with other work computes a value, which may end with more elementwise ops."""
    op = None if value is None else defining_op(value)
    return op is not None and op.name not in (*MOVES, *POOLS, CONCAT)


def looked_up(found: TabulatedValue, constants: Constants) -> ir.Value:
    """A function's results, from its table."""
    assert found.source is not None
    if found.is_identity():
        return found.source
    bits = found.source if found.dtype == UNSIGNED else relax.bitcast(found.source, dtype=UNSIGNED)
    return relax.take(constants.build(found.table, "table"), bits)
