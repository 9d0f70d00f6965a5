"""Kernels called by kernels, as one."""
from legato.core.mlir import func, ir
from legato.core.upstream import run_on
from legato.dialects import tir


def inline_kernels(module: ir.Module) -> None:
    """Inlines the calls of kernels inside of kernels, and erases private ones without uses. Upstream's inliner leaves calls of kernels with
    ops of tir, whose dialect has no interface for it."""
    run_on(module.operation, "inline{default-pipeline=}")
    kernels = {kernel.name.value: kernel for kernel in tir.prim_funcs(module)}
    for kernel in kernels.values():
        for op in list(kernel.body.blocks[0].operations):
            if isinstance(op, func.CallOp) and op.attributes["callee"].value in kernels:
                _inline(op, kernels[op.attributes["callee"].value])
    run_on(module.operation, "symbol-dce")


def _inline(call: func.CallOp, kernel: func.FuncOp) -> None:
    copied = kernel.operation.clone()
    block = copied.regions[0].blocks[0]
    for argument, operand in zip(block.arguments, call.operation.operands):
        argument.replace_all_uses_with(operand)
    *body, returned = block.operations
    for op in body:
        op.operation.move_before(call.operation)
    for result, value in zip(call.operation.results, returned.operation.operands):
        result.replace_all_uses_with(value)
    call.operation.erase()
    copied.erase()
