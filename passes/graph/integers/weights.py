"""relax-quantized-weights: products by constant weights that the graph dequantizes become products that read the weights as they are, and
gathers from such tables dequantize what is gathered.

``x @ ((q - zero) * scale)`` becomes ``relax.matmul_quantized``: the weight keeps its 2, 4 or 8 bits in memory. Without this pass, constant
folding would compute it in floats.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, relax_functions, replace_uses
from legato.passes.graph.integers.blocks import PackedWeight, block_weight, packed
from legato.passes.graph.integers.quantized import Reader, dtype_of
from legato.passes.graph.integers.tables import rewrite_gathers
from legato.passes.pipeline.base import ModulePass, PassContext

F32 = np.dtype(np.float32)
FLOATS = ("float32", "float16", "bfloat16")
Operands = tuple[PackedWeight, ir.Value, ir.Value, ir.Value]


@dataclass(frozen=True)
class QuantizedWeights(ModulePass):
    """Products by dequantized constant weights, and gathers from them, read these in the bits that they were quantized to.

    To be run before constants are folded. Sums are in f32, also of f16 and bf16.
    """

    name: ClassVar[str] = "relax-quantized-weights"

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        for function in relax_functions(module):
            rewrite(function, Reader(constants))
            rewrite_gathers(function, constants)
            erase_dead(function, constants)


def rewrite(function: func.FuncOp, reader: Reader) -> None:
    """Rewrites the products of one function; those in a block with one weight share its packed form."""
    made: dict[tuple[ir.Value, ir.Block], Operands | None] = {}
    for op in graph_ops(function):
        if op.name != "relax.matmul" or not _takes(op):
            continue
        weight = op.operands[1]
        with ir.InsertionPoint(op), op.location:
            key = (weight, op.block)
            if key not in made:
                made[key] = _operands(weight, reader)
            operands = made[key]
            if operands is not None:
                replace_uses(op.results[0], product(op, *operands))


def _takes(op: ir.Operation) -> bool:
    """Whether a product has a form that is rewritten: rows of floats, of a known length, by a matrix."""
    x, weight = op.operands
    return (x.type.rank >= 1 and weight.type.rank == 2 and dims.UNKNOWN not in dims.dims(x.type)
            and not x.type.is_dynamic_dim(x.type.rank - 1) and str(dtype_of(x)) in FLOATS)


def _operands(weight: ir.Value, reader: Reader) -> Operands | None:
    """The packed weight, and the constants that it becomes at the insertion point."""
    found = block_weight(weight, reader)
    form = None if found is None else packed(found)
    if form is None:
        return None
    constants = reader.constants
    name = constants.name_of(weight, default="quantized")
    built = [constants.build(array, f"{name}.{part}") for array, part in ((form.weight, "packed"), (form.scale, "scale"),
                                                                            (form.zero, "zero"))]
    return form, built[0], built[1], built[2]


def product(op: ir.Operation, form: PackedWeight, weight: ir.Value, scale: ir.Value, zero: ir.Value) -> ir.Value:
    """The product by a packed weight, in the element type and shape of the op's result."""
    x = op.operands[0]
    shape = [*dims.dims(x.type)[:-1], op.operands[1].type.shape[0]]
    if form.order is not None:
        x = relax.take(x, relax.constant(form.order.astype(np.int64)), axis=-1)
    if len(shape) != 2:
        x = relax.reshape(x, [dims.product(shape[:-1]), shape[-1]])
    if dtype_of(x) != F32:
        x = relax.astype(x, dtype=F32)
    if form.depth != shape[-1]:
        x = relax.pad(x, pads=[0, 0, 0, form.depth - shape[-1]])
    y = relax.matmul_quantized(x, weight, scale, zero, bits=form.bits, columns=form.columns)
    if dtype_of(y) != dtype_of(op.results[0]):
        y = relax.astype(y, dtype=dtype_of(op.results[0]))
    return y if len(shape) == 2 else relax.reshape(y, [*shape[:-1], form.columns])
