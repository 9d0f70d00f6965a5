"""Checks that loops bound to threads can run serially on a CPU: no iteration may need what a later one writes."""
from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import ancestors, find, present
from legato.core.mlir import func, ir
from legato.dialects.tir.loops import ForOp
from legato.dialects.tir.walk import FIRST_INDEX
from legato.passes.gpu.threads.accesses import Conflicts, ThreadAccess
from legato.passes.gpu.threads.all_reduce import WARP
from legato.passes.gpu.threads.barriers import Inserter
from legato.passes.gpu.threads.buffers import place_buffers, place_global
from legato.passes.gpu.threads.launch import Launch, thread_loops
from legato.passes.gpu.threads.memory import SHARED, scope_of
from legato.passes.gpu.threads.nests import make_launches

LOOPS = "tir.threads"  # temporary attribute of loops and accesses: the numbers of the loops bound to threads around them
UNBOUNDED = 1 << 62


def check_serial(kernel: func.FuncOp) -> None:
    """PassFailed for a statement that is certain to use what a later iteration of the same loop writes."""
    if not any(scope_of(op.results[0]) == SHARED for op in find(kernel.operation, "tir.alloc_buffer")):
        return
    tried = kernel.operation.clone()
    try:
        loops = thread_loops(tried)
        for op in find(tried, "tir.for", *FIRST_INDEX):
            around = [n for a in reversed(ancestors(op)) for n, loop in enumerate(loops)
                      if loop.operation == a and "thread" in present(loop.thread)]
            op.attributes[LOOPS] = ir.DenseI64ArrayAttr.get(around)
        threads = [(loop.name, loop.thread) for loop in loops]
        try:
            launches = make_launches(tried, WARP)
            place_global(tried)
            place_buffers(tried, launches, UNBOUNDED)
        except PassFailed:
            return  # it is not a GPU kernel: its loops are plain loops
        for launch in launches:
            Checker(launch, threads).sequence(launch.block)
    finally:
        tried.erase()


class Checker(Inserter):
    """Finds conflicts inside of one loop bound to threads. ``threads``: the names and axes of these loops, by number."""

    def __init__(self, launch: Launch, threads: list[tuple[str, str]]):
        super().__init__(launch)
        self.conflicts = Conflicts(launch, self.uniform, certain=True)
        self.threads = threads

    def in_step(self, before: ThreadAccess, after: ThreadAccess) -> bool:
        if super().in_step(before, after):
            self.refuse_together(before, after, shared(before.op, after.op))
            return True
        return False

    def carried(self, before: ThreadAccess, after: ThreadAccess, loop: ForOp, next_only: bool) -> bool:
        if super().carried(before, after, loop, next_only):
            self.refuse_together(before, after, shared(before.op, after.op, loop.operation))
            return True
        return False

    def refuse_together(self, before: ThreadAccess, after: ThreadAccess, loops: list[int]) -> None:
        """PassFailed where both accesses are in one loop whose iterations do not each run all threads for the write."""
        write = before if before.writes else after
        for number in loops:
            name, axis = self.threads[number]
            inner = numbers(write.op)[numbers(write.op).index(number) + 1:]
            if not any(self.threads[n][1] == axis for n in inner):
                raise PassFailed(f"the steps of the loop {name}, bound to {axis}, use each other's elements of a shared buffer; on a CPU "
                                 "they run one after the other, and a barrier between them cannot be: end the loop there and begin "
                                 f"another one over {axis}, or compile for a GPU", after.op)


def numbers(op: ir.Operation) -> list[int]:
    """The numbers of the loops bound to threads around an op."""
    return list(op.attributes[LOOPS]) if LOOPS in op.attributes else []


def shared(*operations: ir.Operation) -> list[int]:
    """The loops bound to threads around all of some ops."""
    return [n for n in numbers(operations[0]) if all(n in numbers(op) for op in operations[1:])]
