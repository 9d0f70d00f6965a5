"""tir-pass-pointers: kernels take a bare pointer for each buffer of static layout.

A descriptor of rank 4 is eleven arguments, passed for each operand of each call in main; in a model of many small kernels LLVM spends most
of its time on main.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class PassPointers(ModulePass):
    """Marks kernels whose buffers all have a static layout to take bare pointers (``llvm.bareptr``)."""

    name: ClassVar[str] = "tir-pass-pointers"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for kernel in tir.prim_funcs(module.module):
                if all(not isinstance(t, ir.MemRefType) or is_static(t) for t in kernel.type.inputs):
                    kernel.attributes["llvm.bareptr"] = ir.UnitAttr.get()


def is_static(type_: ir.MemRefType) -> bool:
    """Whether shape, strides and offset of a buffer are static."""
    strides, offset = type_.get_strides_and_offset()
    return type_.has_static_shape and ir.ShapedType.get_dynamic_stride_or_offset() not in (*strides, offset)
