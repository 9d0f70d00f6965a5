"""tir-column-convolutions: convolutions of channels-first images of few features, and depthwise ones, with vectors along a row.

A part of the result, some positions of its first spatial dimension, is computed from rows of the image that are kept with a border of zeros
(``kept_rows``), for all features. The sums of some vectors of columns, of some rows and some features, stay in registers while the windows
go by: a vector of columns is read once for all rows whose windows hold it, and for all features; an element of the filter once for all
sums of its feature. Rows of an image without padding, whose windows are neighbours, are read where they are.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from legato.analysis.structured.column_convolution import ColumnConvolutionForm
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.column_loops import ColumnLoops
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.kernel_loops import into_loops
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding


@dataclass(frozen=True)
class ColumnConvolutions(ModulePass):
    """Turns convolutions of channels-first images of f32, of known sizes, that are depthwise or of few features into loops on vectors of
    columns. Others are left as they are."""

    name: ClassVar[str] = "tir-column-convolutions"
    rounding: ClassVar[Rounding] = Rounding(ulps=4)
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose vectors are used")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module) if machine.has("fma") else ():
                form = ColumnConvolutionForm.of(context.kernels.of(kernel))
                if form is not None:
                    tensors = [form.source, form.filter, *(value for value, _ in form.reads)]
                    into_loops(kernel, form.heart.op.location, tensors, partial(build_loops, form, machine))
                    context.kernels.drop(kernel)


def build_loops(form: ColumnConvolutionForm, machine: CpuMachine, buffers: Buffers) -> None:
    """Builds the loops of one kernel at the insertion point."""
    ColumnLoops(form, machine, buffers).build()
