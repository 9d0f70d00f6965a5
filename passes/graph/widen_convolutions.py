"""relax-widen-convolutions: convolutions of f16 and bf16 as those of f32, whose sums are rounded, as theirs are.

Winograd's algorithm, loops on windows that overlap, and those of narrow groups read f32. The filter is widened at compile time, the image
once, by the kernel that makes it. What the CPU multiplies in pairs of bf16 stays.
"""
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from legato.analysis.structured.convolution import fills_lanes
from legato.core.dtypes import numpy_dtype
from legato.core.halves import is_half
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import defining_op, present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import CONSTANT, Constants, erase_dead, graph_ops, relax_functions, replace_uses
from legato.passes.graph.integers.quantized import Reader
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

OPS = ("relax.conv1d", "relax.conv2d", "relax.conv3d")
F32 = np.dtype(np.float32)
LEAST_POSITIONS = 16     # of the result of a convolution in groups
LEAST_CHANNELS = 8       # of a group: with fewer, loops on the channels of a tap take longer than the products


@dataclass(frozen=True)
class WidenConvolutions(ModulePass):
    """Widens convolutions of halves whose products the CPU does not sum in pairs, and computes the filters of dequantized weights, which
    are larger than the weights, at compile time."""

    name: ClassVar[str] = "relax-widen-convolutions"
    target: TargetText = option("llvm", "the target whose CPU may multiply pairs of bf16")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        constants = Constants(module)
        for function in relax_functions(module):
            reader, made = Reader(constants), {}
            for op in graph_ops(function):
                if op.name in OPS:
                    widen(op, machine, reader, made)
            erase_dead(function, constants)


def widen(op: ir.Operation, machine: CpuMachine, reader: Reader, made: dict[ir.Value, np.ndarray]) -> None:
    """Widens one convolution, or computes its filter. ``made``: the filters that were made before."""
    image, weight = op.operands
    halves = is_half(image.type)
    if multiplies_pairs(op, machine) if halves else reader.constants.array(weight) is not None:
        return
    filters = reader.array(weight)
    if filters is None:
        return
    if weight not in made:
        made[weight] = np.ascontiguousarray(filters.astype(F32) if halves else filters)
    with ir.InsertionPoint(op), op.location:
        constant = reader.constants.build(made[weight], reader.constants.name_of(weight, op.results[0], default="filter"))
        if not halves:
            op.operands[1] = constant
            return
        sums = present(relax.op_class(op)).build(relax.astype(image, dtype=F32), constant, **relax.attributes_of(op))
        replace_uses(op.results[0], relax.astype(sums, dtype=numpy_dtype(image.type.element_type), contract=True))


def multiplies_pairs(op: ir.Operation, machine: CpuMachine) -> bool:
    """Whether a convolution is one of bf16 whose products the CPU sums in pairs: of many features in a group. Those of several groups are
    of images of known sizes, not of volumes, by constant filters, in the lanes of vectors (AVX512-BF16)."""
    attrs = relax.attributes_of(op)
    layout, filters = attrs["kernel_layout"], op.operands[1].type.shape
    is_bf16 = isinstance(op.operands[0].type.element_type, ir.BF16Type)
    reads = prod(size for axis, size in zip(layout, filters) if axis not in "IO") / prod(attrs["strides"])
    fills = fills_lanes(filters[layout.index("O")], attrs["groups"], reads, machine.lanes(32))
    if not machine.multiplies_pairs or not is_bf16 or not fills:
        return False
    if attrs["groups"] == 1:
        return True
    places = [place for place, axis in enumerate(attrs["data_layout"]) if axis not in "NC"]
    if op.name == "relax.conv3d" or not machine.has("avx512bf16") or machine.has("amx-bf16"):
        return False
    sizes = [dims.dims(value.type)[place] for value in (op.operands[0], op.results[0]) for place in places]
    weight = defining_op(op.operands[1])
    known = weight is not None and weight.name == CONSTANT and all(isinstance(size, int) for size in sizes)
    positions = prod(op.results[0].type.shape[place] for place in places)
    return known and filters[layout.index("I")] >= LEAST_CHANNELS and positions >= LEAST_POSITIONS
