"""What the kernels of a module are for: the graph ops that they compute, by the model's own names, at any stage behind legalization."""
from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.relax.origins import ops_of


def kernel_origins(module: ir.Module) -> dict[str, list[tuple[str, str | None]]]:
    """For each function that is called for graph ops, those ops, each once: (op, the model's name or None), in the order of the calls."""
    found: dict[str, dict[tuple[str, str | None], None]] = {}
    for call in find(module.operation, "func.call", "llvm.call"):
        if ops := ops_of(call):
            found.setdefault(call.attributes["callee"].value, {}).update(dict.fromkeys(ops))
    return {kernel: list(ops) for kernel, ops in found.items()}
