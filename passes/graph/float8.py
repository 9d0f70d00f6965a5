"""relax-float8-products: matrix products of floats of 8 bits, which the graph converts and scales, as ops that tensor cores compute.

``(f32(a) * sa) @ (f32(b) * sb)`` becomes ``matmul_float8(a, b) * (sa * sb)``: the factors are multiplied as they are, their sums scaled.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core import dtypes
from legato.core.ir_helpers import defining_op
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, permutation_of, relax_functions, replace_uses
from legato.passes.graph.integers.quantized import VIEWS, Reader, dtype_of, keeps_shape
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

F32 = np.dtype(np.float32)


@dataclass(frozen=True)
class Float8Products(ModulePass):
    """Products of floats of 8 bits, where the target's machine has instructions for them, are computed of these, and scaled afterwards.

    To be run before constants are folded. Scales may be one number, or one for each row of the left, and each column of the right operand.
    Results differ from those in f32 by its rounding errors, and by those of the instructions' sums.
    """

    name: ClassVar[str] = "relax-float8-products"
    target: TargetText = option("nvvm", "the target whose machine may have instructions for floats of 8 bits")

    def run(self, module: Module, context: PassContext) -> None:
        types = context.gpu(self.target).matrix_types
        constants = Constants(module)
        for function in relax_functions(module):
            rewrite(function, Reader(constants), types)
            erase_dead(function, constants)


def rewrite(function: func.FuncOp, reader: Reader, types: Sequence[str]) -> None:
    """Rewrites the products of one function whose factors are of one of these types."""
    for op in graph_ops(function):
        if op.name != "relax.matmul" or any(operand.type.rank < 2 for operand in op.operands):
            continue
        with ir.InsertionPoint(op), op.location:
            made = product(op, reader, types)
        if made is not None:
            replace_uses(op.results[0], made)


@dataclass(frozen=True)
class ScaledFloat8:
    """``f32(codes) * scale``; ``scale`` is None where there is none, and broadcast to the codes."""

    codes: ir.Value
    scale: ir.Value | None = None


def scaled(value: ir.Value, reader: Reader) -> ScaledFloat8 | None:
    """The form of a value of floats that come from floats of 8 bits; None for any other."""
    op = defining_op(value)
    if op is None or dtypes.kind(dtype_of(value)) != "float":
        return None
    if op.name == "relax.astype":
        source = op.operands[0]
        return ScaledFloat8(source) if dtypes.kind(dtype_of(source)) == "narrow" else scaled(source, reader)
    if op.name == "relax.subtract":     # a zero point, which is 0
        zero = reader.few(op.operands[1])
        return scaled(op.operands[0], reader) if zero is not None and not zero.any() and keeps_shape(value, op.operands[0]) else None
    if op.name == "relax.multiply":
        for a, b in (op.operands, reversed(op.operands)):
            found = scaled(a, reader)
            if found is not None and found.scale is None and keeps_shape(value, a):
                return ScaledFloat8(found.codes, b)
    if op.name == "relax.permute_dims" and (found := scaled(op.operands[0], reader)) is not None:
        axes = list(permutation_of(op))
        scale = None if found.scale is None else relax.permute_dims(ranked(found.scale, len(axes)), axes)
        return ScaledFloat8(relax.permute_dims(found.codes, axes), scale)
    if op.name in VIEWS and dims.UNKNOWN not in dims.dims(value.type) and (found := scaled(op.operands[0], reader)) is not None:
        if found.scale is None or all(size == 1 for size in dims.dims(found.scale.type)):
            scale = None if found.scale is None else relax.reshape(found.scale, [])
            return ScaledFloat8(relax.reshape(found.codes, list(dims.dims(value.type))), scale)
    return None


def ranked(value: ir.Value, rank: int) -> ir.Value:
    """A value with sizes of 1 in front."""
    shape = list(dims.dims(value.type))
    return value if len(shape) == rank else relax.reshape(value, [*[1] * (rank - len(shape)), *shape])


def product(op: ir.Operation, reader: Reader, types: Sequence[str]) -> ir.Value | None:
    """What replaces a matmul; None for one of other factors, or whose scales change along the depth."""
    left, right = (scaled(operand, reader) for operand in op.operands)
    if left is None or right is None or left.codes.type.element_type != right.codes.type.element_type or (
            str(left.codes.type.element_type) not in types):
        return None
    if not is_along(left.scale, -1) or not is_along(right.scale, -2):
        return None
    made = relax.matmul_float8(left.codes, turned(right.codes, op, reader))
    for scale in scales(left.scale, right.scale, reader):
        made = relax.multiply(made, scale)
    wanted = dtype_of(op.results[0])
    return made if wanted == F32 else relax.astype(made, dtype=wanted)


def is_along(scale: ir.Value | None, depth: int) -> bool:
    """Whether a scale is the same along an axis, which is counted from the last one."""
    shape = () if scale is None else dims.dims(scale.type)
    return len(shape) < -depth or shape[depth] == 1


def turned(codes: ir.Value, op: ir.Operation, reader: Reader) -> ir.Value:
    """A right operand with its last two axes exchanged; a constant as one, along whose rows the depth lies in memory."""
    rank = codes.type.rank
    axes = [*range(rank - 2), rank - 1, rank - 2]
    array = reader.array(codes)
    if array is None:
        return relax.permute_dims(codes, axes)
    name = reader.constants.name_of(op.operands[1], op.results[0], default="float8")
    return reader.constants.build(np.ascontiguousarray(array.transpose(axes)), name)


def scales(left: ir.Value | None, right: ir.Value | None, reader: Reader) -> list[ir.Value]:
    """What the sums are multiplied by, in f32: one factor, where both scales are constant, and one of them is a single number."""
    found = [one if dtype_of(one) == F32 else relax.astype(one, dtype=F32) for one in (left, right) if one is not None]
    arrays = [array for one in found if (array := reader.few(one)) is not None]
    if len(arrays) < 2 or min(array.size for array in arrays) > 1:
        return found
    return [reader.constants.build(arrays[0] * arrays[1], "scale")]
