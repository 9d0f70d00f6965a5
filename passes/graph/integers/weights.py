"""relax-quantized-weights: products by constant weights that the graph dequantizes become products that read the weights as they are, and
gathers from such tables dequantize what is gathered.

``x @ ((q - zero) * scale)`` becomes ``relax.matmul_quantized``: the weight keeps its 2, 4 or 8 bits in memory. Without this pass, constant
folding would compute it in floats.
"""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.ir_helpers import defining_op
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.dialects.relax.markers import ROWS_IN_BYTES
from legato.passes.graph.functions import Constants, erase_dead, erase_if_dead, graph_ops, has_one_use, relax_functions, replace_uses
from legato.passes.graph.integers.blocks import HALVES, PackedWeight, block_weight, packed
from legato.passes.graph.integers.quantized import Reader, dtype_of
from legato.passes.graph.integers.tables import rewrite_gathers
from legato.passes.pipeline.base import ModulePass, PassContext, option

F32 = np.dtype(np.float32)
FLOATS = ("float32", "float16", "bfloat16")
AT_ONCE = 2     # weights that are packed at once
Operands = tuple[PackedWeight, ir.Value, ir.Value, ir.Value]


@dataclass(frozen=True)
class QuantizedWeights(ModulePass):
    """Products by dequantized constant weights, and gathers from them, read these in the bits that they were quantized to.

    To be run before constants are folded. Sums are in f32, also of f16 and bf16.
    """

    name: ClassVar[str] = "relax-quantized-weights"
    one_panel: bool = option(False, "each row of a weight lies together in memory, not that of 64 columns")
    keep_halves: bool = option(False, "products whose rows and results are f16 or bf16 multiply such: weights are rounded to it")

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        for function in relax_functions(module):
            rewrite(function, constants, self.one_panel, self.keep_halves)
            rewrite_gathers(function, constants)
            erase_dead(function, constants)


def rewrite(function: func.FuncOp, constants: Constants, one_panel: bool, keep_halves: bool) -> None:
    """Rewrites the products of one function; those in a block with one weight share its packed form. What a weight was made of is erased at
    once, and read by a reader of its own: of a large model, one weight at a time is in memory in more bits."""
    made: dict[tuple[ir.Value, ir.Block], Operands | None] = {}
    packing: deque[ir.Value] = deque()
    for op in [op for op in graph_ops(function) if op.name == "relax.matmul" and _takes(op)]:
        weight = op.operands[1]
        with ir.InsertionPoint(op), op.location:
            key = (weight, op.block)
            if key not in made:
                made[key] = _operands(weight, Reader(constants), one_panel, packing)
            operands = made[key]
            if operands is None:
                continue
            casts = _casts_to_halves(op) if keep_halves else []
            rows = op.operands[0] if not casts else casts[0].operands[0]
            y = product(rows, op.operands[1].type.shape[0], *operands, keep_halves, ROWS_IN_BYTES in op.attributes)
            if has_one_use(weight):
                del made[key]
            replaced = casts[1:] or [op]
            for one in replaced:
                replace_uses(one.results[0], y)
            erase_if_dead(replaced, constants)


def _takes(op: ir.Operation) -> bool:
    """Whether a product has a form that is rewritten: rows of floats, of a known length, by a matrix."""
    x, weight = op.operands
    return (x.type.rank >= 1 and weight.type.rank == 2 and dims.UNKNOWN not in dims.dims(x.type)
            and not x.type.is_dynamic_dim(x.type.rank - 1) and str(dtype_of(x)) in FLOATS)


def _operands(weight: ir.Value, reader: Reader, one_panel: bool, packing: deque[ir.Value]) -> Operands | None:
    """The packed weight, and the constants that it becomes at the insertion point. ``packing``: the last weights, which threads pack; it
    waits for the first of them where there are ``AT_ONCE``, since what they are made of is in memory."""
    while len(packing) >= AT_ONCE:
        reader.constants.array(packing.popleft())
    found = block_weight(weight, reader)
    form = None if found is None else packed(found, one_panel, reader.constants.weights)
    if form is None:
        return None
    constants = reader.constants
    name = constants.name_of(weight, default="quantized")
    weight = constants.build_later(form.fill, form.shape, form.dtype, f"{name}.packed")
    packing.append(weight)
    return form, weight, constants.build(form.scale, f"{name}.scale"), constants.build(form.zero, f"{name}.zero")


def _casts_to_halves(op: ir.Operation) -> list[ir.Operation]:
    """The op that widens the halves that a product's rows are, and those that round its result to such; none where it is read otherwise."""
    widening = defining_op(op.operands[0])
    if widening is None or widening.name != "relax.astype" or str(dtype_of(widening.operands[0])) not in HALVES:
        return []
    half, readers = dtype_of(widening.operands[0]), [use.owner.operation for use in op.results[0].uses]
    rounds = bool(readers) and all(one.name == "relax.astype" and dtype_of(one.results[0]) == half for one in readers)
    return [widening, *readers] if rounds else []


def product(x: ir.Value, depth: int, form: PackedWeight, weight: ir.Value, scale: ir.Value, zero: ir.Value, keep_halves: bool,
            in_bytes: bool = False) -> ir.Value:
    """The product of rows by a packed weight of ``depth`` rows, in the rows' element type. ``in_bytes``: rows may be rounded to bytes."""
    dtype, shape = dtype_of(x), [*dims.dims(x.type)[:-1], depth]
    if form.order is not None:
        x = relax.take(x, relax.constant(form.order.astype(np.int64)), axis=-1)
    if len(shape) != 2:
        x = relax.reshape(x, [dims.product(shape[:-1]), shape[-1]])
    if dtype != F32 and not keep_halves:
        x = relax.astype(x, dtype=F32)
    if form.depth != shape[-1]:
        x = relax.pad(x, pads=[0, 0, 0, form.depth - shape[-1]])
    y = relax.matmul_quantized(x, weight, scale, zero, bits=form.bits, columns=form.columns, rows_in_bytes=in_bytes)
    if dtype_of(y) != dtype:
        y = relax.astype(y, dtype=dtype)
    return y if len(shape) == 2 else relax.reshape(y, [*shape[:-1], form.columns])
