"""tir-count-work: notes on each call of a kernel how much work it is, for profiles."""
from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.indices.tensor_sizes import TensorSizes
from legato.analysis.structured.work import KernelWork, size_symbol, work_of
from legato.core.dtypes import element_bytes
from legato.core.ir_helpers import find
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax import origins
from legato.dialects.relax.dim import Size
from legato.dialects.relax.dims import dims
from legato.dialects.relax.markers import SIGNATURE
from legato.dialects.relax.sizes import substitute
from legato.passes.graph.functions import relax_functions
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class CountWork(ModulePass):
    """Marks calls of kernels with their arithmetic and the bytes that they read and write, as expressions of the model's sizes.

    ``relax.work = ["2*n*65536", "1024*n + 262144"]``: arithmetic operations (a fused multiply-add is two), and bytes; ``"?"`` for what
    depends on data. To be run when kernels are fused and not yet scheduled.
    """

    name: ClassVar[str] = "tir-count-work"
    rounding: ClassVar[Rounding] = EXACT
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            kernels = {kernel.name.value: kernel for kernel in tir.prim_funcs(module.module) if not kernel.is_external}
            found: dict[str, KernelWork] = {}
            for function in relax_functions(module):
                sizes = None
                for call in find(function.operation, "func.call"):
                    name = call.attributes["callee"].value
                    if name in kernels:
                        found[name] = found.get(name) or work_of(kernels[name])
                        sizes = sizes or graph_sizes(function, kernels)
                        origins.set_work(call, *_work_of_call(call, found[name], sizes))


def graph_sizes(function: func.FuncOp, kernels: Container[str]) -> TensorSizes:
    """The sizes of the tensors of a graph function, which calls ``kernels``."""
    return TensorSizes(function, _argument_shapes(function), kernels)


def _argument_shapes(function: func.FuncOp) -> list[tuple[Size, ...]]:
    """The shapes of a graph function's arguments, with their symbols; without sizes for those that are no tensors."""
    signed = SIGNATURE in function.attributes
    types = ir.FunctionType(ir.TypeAttr(function.attributes[SIGNATURE]).value).inputs if signed else function.type.inputs
    return [dims(type_) if isinstance(type_, ir.RankedTensorType) else () for type_ in types]


def _work_of_call(call: ir.Operation, work: KernelWork, sizes: TensorSizes) -> tuple[Size, Size]:
    """The arithmetic and the bytes of one call. A tensor that is passed twice is counted once."""
    values: dict[str, Size] = {}
    total: Size = 0
    seen: set[ir.Value] = set()
    operands = list(call.operands)
    for number, operand in enumerate(operands):
        if isinstance(operand.type, ir.RankedTensorType):
            values |= {size_symbol(number, axis): size for axis, size in enumerate(sizes.shape(operand))}
    for number, operand in enumerate(operands):
        if isinstance(operand.type, ir.RankedTensorType) and operand not in seen:
            seen.add(operand)
            total = total + substitute(work.elements[number], values) * element_bytes(operand.type.element_type)
    return substitute(work.flops, values), total
