"""The launches of a module's kernels."""
from legato.core.ir_helpers import find
from legato.core.mlir import ir


def launches_of(module: ir.Module) -> dict[str, list[ir.Operation]]:
    """The launches of kernels, by the symbols of the ``gpu.module`` that holds the kernel."""
    launches: dict[str, list[ir.Operation]] = {}
    for launch in find(module.operation, "gpu.launch_func"):
        launches.setdefault(ir.SymbolRefAttr(launch.attributes["kernel"]).value[0], []).append(launch)
    return launches
