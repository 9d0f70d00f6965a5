"""tir-matrix-convolutions: convolutions of f32, rounded to bf16, as products of matrices, where the CPU has instructions for these (AMX).

First the image is copied, padded and rounded, so that the inputs of neighbouring positions follow each other for each tap of the window:
one after the other through all rows, since a row of the copy is as long as one of positions. What is computed for the columns that this
adds at the end of each row is not stored. Where windows are some steps apart, the copy consists of phases, one for each place in a step.
Then tiles of positions are multiplied with panels of features, tap by tap.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from legato.analysis.structured import ConvolutionForm
from legato.core.interfaces import CpuMachine
from legato.core.mlir import bufferization, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.kernel_loops import give_transformed, into_loops, retype
from legato.passes.cpu.matrices.convolution import MatrixConvolution
from legato.passes.cpu.matrices.packing import pack_filters, packed_shape
from legato.passes.graph.functions import CONSTANT, Constants, defining_op
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding
from legato.passes.structured.pack_weights import calls_by_callee

FEWEST = 16     # channels and features: of fewer, a matrix is mostly padding
BF16 = np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True)
class MatrixConvolutions(ModulePass):
    """Turns convolutions of images of known size with constant filters into products of matrices of bf16. Others, and those of few channels
    or features, are left as they are."""

    name: ClassVar[str] = "tir-matrix-convolutions"
    rounding: ClassVar[Rounding] = Rounding(relative=2.0**-8)   # of bf16
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose CPU may multiply bf16 faster")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        if not machine.has("amx-bf16"):
            return
        calls, constants = calls_by_callee(module), Constants(module)
        made: dict[Any, str] = {}
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                form, sites = context.kernels.of(kernel).convolution, calls.get(kernel.name.value, [])
                if form is None or not sites or not is_worth_it(form):
                    continue
                place = form.filter.arg_number
                weights = [defining_op(call.operands[place]) for call in sites]
                if any(op is None or op.name != CONSTANT for op in weights):
                    continue
                shape = packed_shape(form.filter.type.shape)
                rewrite_kernel(form, machine, shape)
                context.kernels.drop(kernel)
                for call in sites:
                    give_transformed(call, place, constants, made, "bf16", shape, BF16, pack_filters)


def rewrite_kernel(form: ConvolutionForm, machine: CpuMachine, shape: list[int]) -> None:
    """Replaces the structured ops of one kernel by loops, and its filter by the packed one of this shape."""
    element = ir.BF16Type.get()

    def build(buffers: Buffers) -> None:
        packed = bufferization.ToBufferOp(ir.MemRefType.get(shape, element), form.filter, read_only=True).result
        MatrixConvolution(form, machine, buffers, packed).build()

    into_loops(form.kernel.function, form.op.location, [form.source, *(value for value, _ in form.reads)], build)
    retype(form.kernel.function, form.filter, shape, element)


def is_worth_it(form: ConvolutionForm) -> bool:
    """Whether all sizes but the number of images are known, and matrices are well filled."""
    _, rows, columns, features = form.result.type.shape
    channels = form.filter.type.shape[2]
    return min(form.source.type.shape[1:3]) >= 0 and rows * columns >= FEWEST and channels >= FEWEST and features >= FEWEST
