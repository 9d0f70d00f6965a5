"""tir-init-outputs: outputs of which a kernel may not write every element start from zeros.

Memory of outputs is not initialized. A kernel is followed back from what it returns: structured ops and stores whose indices reach every
element prove that it writes an output wholly. Where that fails, the caller fills the output first, and the report says why. A kernel that
is called in place keeps the caller's content instead; where it writes all of it, that content is not passed.
"""
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from legato.analysis.coverage.results import uncovered_outputs
from legato.analysis.kernel_sizes import UnknownSizeError
from legato.analysis.structured.ops import bits_of
from legato.core import fills
from legato.core.ir_helpers import find
from legato.core.mlir import arith, func, ir, tensor
from legato.core.records import OutputRecord
from legato.core.slices import dim
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax import origins
from legato.dialects.tir.markers import WRITES_ALL
from legato.dialects.tir.walk import parameter_name
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class InitOutputs(ModulePass):
    """Fills the outputs that a kernel may not write wholly with zeros, at its calls.

    The report (outputs) has a record of each that is filled. A kernel marked ``tir.writes_all`` is taken to write all, and loses the mark.
    """

    name: ClassVar[str] = "tir-init-outputs"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        report: list[OutputRecord] = context.report.setdefault("outputs", [])
        with module.context, ir.Location.unknown():
            kernels = {kernel.name.value: kernel for kernel in tir.prim_funcs(module.module)}
            partial = {name: partial_outputs(kernel) for name, kernel in kernels.items()}
            starts = Starts(module.module, report)
            for call in [op for f in module.functions() if not tir.is_prim_func(f) for op in calls(f) if op.callee.value in kernels]:
                kernel = kernels[call.callee.value]
                for number in range(len(call.results)):
                    starts.begin(call, kernel, number, partial[kernel.name.value].get(number))


def partial_outputs(kernel: func.FuncOp) -> dict[int, str]:
    """The outputs that may not be written wholly, with the reason; takes the mark off kernels that are said to write all."""
    if WRITES_ALL in kernel.attributes:
        del kernel.attributes[WRITES_ALL]
        return {}
    if kernel.is_external:
        return {}
    try:
        return uncovered_outputs(kernel)
    except UnknownSizeError as reason:
        return dict.fromkeys(range(tir.out_count(kernel)), str(reason))


def calls(function: func.FuncOp) -> list[func.CallOp]:
    """The calls in a function, those in branches and loops included."""
    return [op.opview for op in find(function.operation, "func.call")]


class Starts:
    """The contents that outputs start from."""

    def __init__(self, module: ir.Module, report: list[OutputRecord]):
        self.module, self.symbols, self.report = module, ir.SymbolTable(module.operation), report
        self.made: dict[ir.Type, str] = {}

    def begin(self, call: func.CallOp, kernel: func.FuncOp, number: int, reason: str | None) -> None:
        """Fills an empty output of a call that may not be written wholly; a wholly written one is passed without content.

        ``reason``: why the kernel may not write all; None if it does.
        """
        operand = len(call.operands) - len(call.results) + number
        given = call.operands[operand]
        fresh = not isinstance(given.owner, ir.Block) and given.owner.name == "tensor.empty"
        if fresh and reason is not None:
            with ir.InsertionPoint(call), call.location:
                call.operation.operands[operand] = self.zeros(call, given)
            if (found := record(kernel, number, reason)) not in self.report:
                self.report.append(found)
        elif not fresh and reason is None and not kernel.is_external and not loads_output(kernel, number):
            with ir.InsertionPoint(call), call.location:
                sizes = [dim(given, axis) for axis in range(given.type.rank)]
                call.operation.operands[operand] = tensor.EmptyOp(sizes, given.type.element_type).result

    def zeros(self, user: func.CallOp, empty: ir.Value) -> ir.Value:
        """An empty tensor filled with zeros, by a kernel that calls for tensors of one type share."""
        type_ = empty.type
        if type_ not in self.made:
            self.made[type_] = tir.prim_func(self.module, "kernel_zeros", [], [type_], filled, symbols=self.symbols).name.value
        made = func.CallOp([type_], ir.FlatSymbolRefAttr.get(self.made[type_]), [empty])
        origins.inherit(made.operation, user.operation)
        return made.results[0]


def filled(inputs: list[ir.Value], outputs: list[ir.Value]) -> list[ir.Value]:
    """The body of a kernel that fills its output with zeros."""
    out, element = outputs[0], outputs[0].type.element_type
    zero = ir.FloatAttr.get(element, 0.0) if isinstance(element, ir.FloatType) else ir.IntegerAttr.get(element, 0)
    return [fills.fill(arith.ConstantOp(element, zero).result, out)]


def loads_output(kernel: func.FuncOp, number: int) -> bool:
    """Whether loops load elements of an output, which may be those that it held before the call."""
    out = kernel.arguments[len(kernel.arguments) - tir.out_count(kernel) + number]
    buffers = [use.owner.operation.results[0] for use in out.uses if use.owner.operation.name == "bufferization.to_buffer"]
    return any(use.owner.operation.name == "memref.load" for buffer in buffers for use in buffer.uses)


def record(kernel: func.FuncOp, number: int, reason: str) -> OutputRecord:
    """What ``explain`` says of an output."""
    place = len(kernel.arguments) - tir.out_count(kernel) + number
    name = parameter_name(kernel, place, f"output {number}")
    type_ = kernel.arguments[place].type
    size = prod(type_.shape) * bits_of(type_.element_type) // 8 if type_.has_static_shape else None
    return OutputRecord(kernel.name.value, name, reason, size)
