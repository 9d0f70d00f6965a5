"""The graph ops that a module's kernels compute, by the model's names, at any stage after legalization."""
from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.relax.origins import ops_of


def kernel_origins(module: ir.Module) -> dict[str, list[tuple[str, str | None]]]:
    """For each function called for graph ops, those ops without duplicates: (op, the model's name or None), in the order of the calls."""
    found: dict[str, dict[tuple[str, str | None], None]] = {}
    for call in find(module.operation, "func.call", "llvm.call"):
        if ops := ops_of(call):
            found.setdefault(call.attributes["callee"].value, {}).update(dict.fromkeys(ops))
    return {kernel: list(ops) for kernel, ops in found.items()}
