"""tir-raise-loops: kernels written as loops become structured ops on tensors, where their accesses are affine.

What is structured fuses with its neighbours and gets the target's schedules. A kernel is raised as a whole or not at all: each of its nests
is serial loops around one block that writes all of a buffer, every axis of the block running over all its values.
"""
from dataclasses import dataclass
from typing import ClassVar

from ..dialects import tir
from ..dialects.module import Module
from ..dialects.tir.kind import CONTRACTION, WINDOW, generic_kind
from ..dialects.tir.text import FIXED, is_fixed
from ..dialects.tir.walk import localize_constants
from ..mlir import func, ir
from .base import ModulePass, PassContext, PassFailed
from .raise_nest import Kept, Tensors, raise_nest, read_nest
from .schedule import apply_script
from .upstream import run_upstream

SCHEDULED = ("tir.schedule", "tir.scheduled")  # its loops are as they are for a reason
MARK = "tir.contraction"
HARMLESS = ("arith.constant", "memref.dim", "bufferization.to_buffer", "tir.alloc_buffer", "bufferization.to_tensor", "func.return")


@dataclass(frozen=True)
class RaiseLoops(ModulePass):
    """Makes structured ops of kernels that are written as loops, where their accesses are affine; others stay as they are.

    The report says of each kernel that stays why (raise-loops).
    """

    name: ClassVar[str] = "tir-raise-loops"

    def run(self, module: Module, context: PassContext) -> None:
        report = context.report.setdefault("raise-loops", {})
        raised = []
        with module.context, ir.Location.unknown():
            for kernel in tir.prim_funcs(module.module):
                if not is_fixed(kernel) or any(a in kernel.attributes for a in SCHEDULED) or not is_loops(kernel):
                    continue
                try:
                    raise_kernel(kernel)
                    raised.append(kernel)
                    report[kernel.name.value] = "raised"
                except Kept as reason:
                    report[kernel.name.value] = str(reason)
            if raised:
                run_upstream("func.func(canonicalize,cse)", module)
            for kernel in raised:
                name_contractions(kernel)


def name_contractions(kernel: func.FuncOp) -> None:
    """Gives sums of products upstream's names (matmul, convolution), which schedules look for; what has none stays generic."""
    for op in [o.operation for o in kernel.body.blocks[0].operations]:
        if op.name == "linalg.generic" and generic_kind(op) in (CONTRACTION, WINDOW):
            op.attributes[MARK] = ir.UnitAttr.get()
            try:
                apply_script(f"%g = transform.structured.match attributes{{{MARK}}} in %root : (!transform.any_op) -> !transform.any_op\n"
                             "%n = transform.structured.specialize %g : (!transform.any_op) -> !transform.any_op", kernel)
            except PassFailed:
                del op.attributes[MARK]


def is_loops(kernel: func.FuncOp) -> bool:
    return any(op.operation.name == "tir.for" for op in kernel.body.blocks[0].operations)


def raise_kernel(kernel: func.FuncOp) -> None:
    """Raises one kernel in place. Raises Kept, with the reason, before anything but constants is changed."""
    localize_constants(kernel.operation)
    block = kernel.body.blocks[0]
    operations = [op.operation for op in block.operations]
    for op in operations:
        if op.name not in (*HARMLESS, "tir.for", "tir.block"):
            raise Kept(f"{op.name} between its loops")
    nests = {op: read_nest(op) for op in operations if op.name in ("tir.for", "tir.block")}
    tensors = Tensors({op.results[0]: op.operands[0] for op in operations if op.name == "bufferization.to_buffer"})
    check_order(nests, tensors, operations)
    for op in operations:
        if op.name == "tir.alloc_buffer":
            tensors.allocate(op)
        elif op in nests:
            raise_nest(nests[op], tensors)
    last = operations[-1]
    buffers = [op for op in operations if op.name == "bufferization.to_buffer"]
    for number, value in enumerate(list(last.operands)):
        last.operands[number] = tensors.current[value.owner.operands[0]]
    for op in reversed(operations[:-1]):
        if op.name in ("tir.for", "tir.block", "bufferization.to_tensor", "tir.alloc_buffer"):
            op.erase()
        elif op.name == "memref.dim":
            tensors.replace_size(op)
    for op in buffers:
        op.erase()
    del kernel.attributes[FIXED]


def check_order(nests: dict, tensors: Tensors, operations: list[ir.Operation]) -> None:
    """What is read has been written before: a buffer of the kernel's own, or an output, has no value at first."""
    outputs = {b for b, tensor in tensors.current.items() if "tir.out" in argument_attributes(tensor)}
    written = {b for b, tensor in tensors.current.items() if "tir.out" not in argument_attributes(tensor)}
    for op in operations:
        if op not in nests:
            continue
        nest = nests[op]
        missing = [b for b in nest.reads if b not in written]
        if missing:
            raise Kept("a buffer is read that has not been written")
        if any(b in outputs for b in nest.reads):
            raise Kept("an output is read again, which the targets' schedules do not expect")
        written |= set(nest.writes)


def argument_attributes(value: ir.Value) -> list[str]:
    owner = value.owner
    function = owner.owner if isinstance(owner, ir.Block) else None
    if function is None or "arg_attrs" not in function.operation.attributes:
        return []
    return [a.name for a in function.operation.attributes["arg_attrs"][ir.BlockArgument(value).arg_number]]
