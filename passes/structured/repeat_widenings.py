"""tir-repeat-widenings: what only widens integers is computed again for each of its elementwise readers.

Each of them is fused with it, and reads the narrow integers, which take a fourth of the memory: a quantized value that is added to a later
one, and is the input of a product, too.
"""
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import ELEMENTWISE, StructuredKernel
from legato.core.ir_helpers import defining_op, find
from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

WIDENING = ("arith.extsi", "arith.extui")


@dataclass(frozen=True)
class RepeatWidenings(ModulePass):
    """Repeats calls of kernels that only widen integers for each reader, where all of these are calls of elementwise kernels."""

    name: ClassVar[str] = "tir-repeat-widenings"
    rounding: ClassVar[Rounding] = EXACT
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        kernels = {kernel.name.value: context.kernels.of(kernel) for kernel in tir.schedulable(module.module) if not kernel.is_external}
        widening = {name for name, kernel in kernels.items() if only_widens(kernel)}
        for call in find(module.module.operation, "func.call") if widening else ():
            if call.attributes["callee"].value in widening:
                repeat(call, kernels)


def only_widens(kernel: StructuredKernel) -> bool:
    """Whether a kernel is one widening of integers, element by element."""
    ops = kernel.structured
    if len(ops) != 1 or ops[0].kind != ELEMENTWISE or len(ops[0].body_names) != 2:
        return False
    return ops[0].body_names[0] in WIDENING and ops[0].plain and ops[0].maps[0] == ops[0].maps[1]


def repeat(call: ir.Operation, kernels: Mapping[str, StructuredKernel]) -> None:
    """Gives each reader of a call but the first one a call of its own."""
    memory = defining_op(call.operands[len(call.operands) - 1])
    readers = list(dict.fromkeys(use.owner.operation for use in reversed(list(call.results[0].uses))))    # in order
    if memory is None or memory.name != "tensor.empty" or not all(_is_elementwise(reader, call, kernels) for reader in readers):
        return
    for reader in readers[1:]:
        copy = call.clone(ir.InsertionPoint(reader))
        for number, value in enumerate(reader.operands):
            if value == call.results[0]:
                reader.operands[number] = copy.operation.results[0]


def _is_elementwise(reader: ir.Operation, call: ir.Operation, kernels: Mapping[str, StructuredKernel]) -> bool:
    """Whether a reader is a call of an elementwise kernel beside a call."""
    if reader.name != "func.call" or reader.block != call.block or reader.attributes["callee"].value not in kernels:
        return False
    written = list(reader.operands)[len(reader.operands) - len(reader.results):]
    return kernels[reader.attributes["callee"].value].kind == ELEMENTWISE and call.results[0] not in written
