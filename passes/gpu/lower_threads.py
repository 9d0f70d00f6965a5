"""tir-lower-threads: loops bound to threads become launches on a GPU.

Each outermost loop that is bound to a thread axis becomes a ``gpu.launch``; neighbours that touch nothing of each other are joined. Loops
bound to one axis share its index, also in different nests of the launch; shorter ones run under a condition on the index. Statements
outside of an axis's loops run on its first thread only. Shared buffers are put in workgroup memory and local ones on the thread;
reductions across threads become all-reduces; barriers are inserted between conflicting accesses to shared memory by different threads.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.races import race
from legato.core.diagnostics import PassFailed
from legato.core.interfaces import GpuMachine
from legato.core.ir_helpers import find
from legato.core.mlir import func, ir
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.loops import PARALLEL, SERIAL
from legato.passes.gpu.threads.barriers import insert_barriers
from legato.passes.gpu.threads.buffers import place_buffers, place_global
from legato.passes.gpu.threads.joining import join_launches
from legato.passes.gpu.threads.launch import thread_loops
from legato.passes.gpu.threads.nests import make_launches
from legato.passes.gpu.threads.vectors import align_elements, align_vectors, join_digits, simplify_steps
from legato.passes.loops.lower_loops import lower_loops_under
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option


@dataclass(frozen=True)
class LowerThreads(ModulePass):
    """Makes launches of loops that are bound to threads, with their buffers, reductions across threads and barriers.

    Runs cse inside, on each kernel between launches and barriers: equal indices have to be one value for accesses to be compared, and
    a launch without its barriers is not what the kernel says.
    """

    name: ClassVar[str] = "tir-lower-threads"
    target: TargetText = option("nvvm", "the target whose limits are kept")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        if target.gpu is None:
            raise PassFailed(f"the target '{target.name}' has no threads to map to: it is no GPU")
        report = context.report.setdefault("lower-threads", {})
        with module.context, ir.Location.unknown():
            for kernel in tir.prim_funcs(module.module):
                if not thread_loops(kernel.operation):
                    continue
                name = kernel.name.value
                if (tried := context.trials.take(kernel, self.name, str(self.target))) is not None:
                    report[name] = tried.report
                    context.warnings += tried.warnings
                else:
                    report[name] = lower_kernel(kernel, target.gpu, context.warnings)


def lower_kernel(kernel: func.FuncOp, machine: GpuMachine, warnings: list[str]) -> dict[str, int]:
    """Makes launches of a kernel's loops that are bound to threads. Returns the numbers of launches and barriers."""
    operation = kernel.operation
    for loop in find(operation, "tir.for"):
        if (problem := race(loop.opview)) is not None:
            raise PassFailed(problem, loop)
    launches = join_launches(make_launches(operation, machine.warp, machine.grid))
    place_global(operation)
    for one in launches:
        join_digits(one)
        simplify_steps(one.operation)
    run_on(operation, "cse")
    kept = find(operation, "gpu.launch")  # cse erases a launch without effects
    launches = [one for one in launches if one.operation in kept]
    place_buffers(operation, launches, max(machine.shared_bytes, machine.dynamic_shared_bytes))
    barriers = 0
    for one in launches:
        barriers += insert_barriers(one)
        for loop in find(one.operation, "tir.for"):
            if loop.opview.kind == PARALLEL:  # inside of a thread, parallel loops are serial
                loop.attributes["kind"] = ir.StringAttr.get(SERIAL)
        lower_loops_under(one.operation, kernel.name.value, warnings, machine.vector_lanes)
        align_vectors(one.operation)
        if machine.merges:
            align_elements(one.operation)
    return {"launches": len(launches), "barriers": barriers}
