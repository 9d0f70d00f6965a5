"""tir-pass-pointers: kernels take a bare pointer for each buffer whose layout their types tell.

A descriptor of rank 4 is eleven arguments, and a call in main passes one for each operand: main is what keeps LLVM busy in a model of many
small kernels.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class PassPointers(ModulePass):
    """Kernels whose buffers are all of static layout are marked to take bare pointers as LLVM functions (``llvm.bareptr``)."""

    name: ClassVar[str] = "tir-pass-pointers"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for kernel in tir.prim_funcs(module.module):
                if all(not isinstance(t, ir.MemRefType) or is_static(t) for t in kernel.type.inputs):
                    kernel.attributes["llvm.bareptr"] = ir.UnitAttr.get()


def is_static(type_: ir.MemRefType) -> bool:
    """Whether the shape, the strides and the offset of a buffer are all known."""
    strides, offset = type_.get_strides_and_offset()
    return type_.has_static_shape and ir.ShapedType.get_dynamic_stride_or_offset() not in (*strides, offset)
