"""What is known of the floats in a kernel's arguments that are constants in all calls, as scales of quantized values are."""
from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from legato.analysis.structured.float_bounds import FloatBounds
from legato.core.ir_helpers import defining_op, find
from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax.ops.constant import Constant
from legato.dialects.tir.markers import MAGNITUDE

MOST = 1 << 16      # elements of a tensor that is looked at


def argument_bounds(module: Module) -> dict[ir.Value, FloatBounds]:
    """The bounds of the arguments of kernels, f32, that all calls give constants without NaN."""
    kernels = {kernel.name.value: kernel for kernel in tir.prim_funcs(module.module) if not kernel.is_external}
    known: dict[ir.Value, FloatBounds] = {}
    unknown: set[ir.Value] = set()
    for call in find(module.module.operation, "func.call"):
        kernel = kernels.get(call.attributes["callee"].value)
        for argument, given in zip(kernel.body.blocks[0].arguments if kernel is not None else (), call.operands):
            found = None if argument in unknown else bounds_of(module, given)
            if found is None:
                unknown.add(argument)
            else:
                known[argument] = known[argument].union(found) if argument in known else found
    return {argument: found for argument, found in known.items() if argument not in unknown}


def mark_magnitudes(kernel: ir.Operation, arguments: Mapping[ir.Value, FloatBounds]) -> None:
    """Says on a kernel how great the numbers in its arguments are, for those who see no calls with constants any more."""
    marks = [{known.name: known.attr for known in ir.DictAttr(own)} for own in kernel.attributes["arg_attrs"]]
    for argument, own in zip(kernel.regions[0].blocks[0].arguments, marks, strict=True):
        if argument in arguments:
            found = arguments[argument]
            own[MAGNITUDE] = ir.FloatAttr.get(ir.F64Type.get(), max(abs(found.low), abs(found.high)))
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(own) for own in marks])


def bounds_of(module: Module, value: ir.Value) -> FloatBounds | None:
    """The bounds of a constant tensor of f32; None for another value, for one with NaN, and for many elements."""
    type_, op = value.type, defining_op(value)
    if not isinstance(type_, ir.RankedTensorType) or not isinstance(type_.element_type, ir.F32Type) or op is None:
        return None
    if op.name != Constant.OPERATION_NAME or not type_.has_static_shape or not 0 < np.prod(type_.shape) <= MOST:
        return None
    array = module.weights[op.attributes["weight"].value] if "weight" in op.attributes else op.opview.value
    low, high = float(np.min(array)), float(np.max(array))
    return None if np.isnan(low) else FloatBounds(low, high, some=True)
