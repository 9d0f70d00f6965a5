"""tir-serialize-threads: loops bound to threads become serial loops, for targets without threads of this kind."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.loops import SERIAL
from legato.passes.gpu.threads.launch import thread_loops
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class SerializeThreads(ModulePass):
    """Makes loops bound to threads serial. PassFailed for iterations that race, or use what a later iteration of the loop writes."""

    name: ClassVar[str] = "tir-serialize-threads"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in tir.prim_funcs(module.module):
                serialize_threads(kernel)


def serialize_threads(kernel: func.FuncOp) -> None:
    """Serializes the loops of one kernel that are bound to threads. PassFailed where their order matters."""
    loops = thread_loops(kernel.operation)
    if not loops:
        return
    from legato.analysis.races import race
    from legato.passes.gpu.threads.serial import check_serial

    for loop in loops:
        if (problem := race(loop)) is not None:
            raise PassFailed(problem, loop.operation)
    check_serial(kernel)
    for loop in loops:
        loop.operation.attributes["kind"] = ir.StringAttr.get(SERIAL)
        del loop.operation.attributes["thread"]
