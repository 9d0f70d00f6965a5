"""relax-widen-convolutions: convolutions of f16 and bf16 as those of f32, whose sums are rounded, as theirs are.

Winograd's algorithm, loops on windows that overlap, and those of groups read f32. The filter is widened at compile time, the image once, by
the kernel that makes it. What the CPU multiplies in pairs of bf16 stays.
"""
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, relax_functions, replace_uses
from legato.passes.graph.integers.quantized import Reader
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

OPS = ("relax.conv1d", "relax.conv2d", "relax.conv3d")
F32 = np.dtype(np.float32)
FEW = 16    # features: pairs are multiplied in the lanes of vectors of as many


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
    is_half = isinstance(image.type.element_type, (ir.F16Type, ir.BF16Type))
    if multiplies_pairs(op, machine) if is_half else reader.constants.array(weight) is not None:
        return
    filters = reader.array(weight)
    if filters is None:
        return
    if weight not in made:
        made[weight] = np.ascontiguousarray(filters.astype(F32) if is_half else filters)
    with ir.InsertionPoint(op), op.location:
        constant = reader.constants.build(made[weight], reader.constants.name_of(weight, op.results[0], default="filter"))
        if not is_half:
            op.operands[1] = constant
            return
        sums = present(relax.op_class(op)).build(relax.astype(image, dtype=F32), constant, **relax.attributes_of(op))
        replace_uses(op.results[0], relax.astype(sums, dtype=numpy_dtype(image.type.element_type)))


def multiplies_pairs(op: ir.Operation, machine: CpuMachine) -> bool:
    """Whether a convolution is one of bf16 whose products the CPU sums in pairs: of many features in one group."""
    attrs = relax.attributes_of(op)
    features = op.operands[1].type.shape[attrs["kernel_layout"].index("O")]
    return (machine.multiplies_pairs and isinstance(op.operands[0].type.element_type, ir.BF16Type) and attrs["groups"] == 1
            and features >= FEW)
