"""Statements outside of the loops of an axis run on the axis's first thread only."""
from legato.analysis.indices.forms import roots
from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import ancestors, body, everything, find, index, terminator
from legato.core.mlir import arith, ir, scf
from legato.core.views import root_of
from legato.dialects.tir.loops import REDUCE, THREAD, loop_of
from legato.passes.gpu.threads.launch import Launch, LaunchAxis, thread_loops
from legato.passes.gpu.threads.memory import GLOBAL, LOCAL, SHARED, STORES, has_effect, is_local_store, name_of, scope_of

MOVABLE = ("arith.", "memref.dim", "math.")


def guard(launch: Launch) -> None:
    """Puts statements outside of an axis's loops under the condition that the index on it is 0.

    Writes of local buffers stay on all threads. PassFailed for a local buffer that is written in a loop bound to threads and read outside
    of it, unless it is the result of a reduction over these threads, for a shared buffer that is written in other loops bound to blocks
    than it is read in, and for a global one of unknown sizes of which that is true.
    """
    check_local(launch)
    check_shared(launch)
    check_global(launch)
    _guard(launch.block, launch, frozenset())


def check_local(launch: Launch) -> None:
    """PassFailed for a local buffer that is read outside of a loop bound to threads in which it is written."""
    for made in find(launch.operation.parent.operation, "tir.alloc_buffer"):
        buffer = made.results[0]
        if scope_of(buffer) != LOCAL:
            continue
        users = [u.owner.operation for u in buffer.uses]
        written = {frozenset(axes_around(u, launch) - axes_reduced(u)) for u in users if u.name in STORES}
        for read in (u for u in users if u.name not in (*STORES, "memref.dim")):
            around = axes_around(read, launch)
            for axes in written:
                missing = axes - around
                if missing:
                    raise PassFailed(f"the local buffer {name_of(buffer)} is written in a loop bound to {', '.join(sorted(missing))} and "
                                     "read outside of it, where there is no telling whose is meant: each thread has its own; give it the "
                                     "scope shared", read)


def check_shared(launch: Launch) -> None:
    """PassFailed for a shared buffer of which blocks write parts that others read, as their loops around the accesses say."""
    blocks = {axis.name for axis in launch.blocks}
    for made in find(launch.operation.parent.operation, "tir.alloc_buffer"):
        buffer = made.results[0]
        if not blocks or scope_of(buffer) != SHARED:
            continue
        users = [u.owner.operation for u in buffer.uses]
        writes = [u for u in users if u.name in STORES]
        for read in (u for u in users if u.name not in (*STORES, "memref.dim")):
            for write in writes:
                differing = (axes_around(write, launch) ^ axes_around(read, launch)) & blocks
                if differing:
                    raise PassFailed(f"the shared buffer {name_of(buffer)} is written in other loops bound to "
                                     f"{', '.join(sorted(differing))} than it is read in: each block has its own, and would read what "
                                     "another one wrote; bind loops around both, or give it the scope global", read)


def check_global(launch: Launch) -> None:
    """PassFailed for a global buffer that is written under a loop bound to blocks, and accessed outside of such a loop, by the first of
    them: blocks do not wait for each other. Where all sizes are known, the elements are compared instead: barriers.py."""
    found = [(op, root_of(op.operands[op.name == "memref.store"])) for op in everything(launch.operation)
             if op.name in ("memref.load", "memref.store")]
    for write, buffer in found:
        if write.name != "memref.store" or scope_of(buffer) != GLOBAL:
            continue
        blocks = {axis.name for axis in launch.blocks if axis.extent == 0 or not ir.MemRefType(buffer.type).has_static_shape}
        for other in (op for op, place in found if place == buffer):
            differing = (axes_around(write, launch) ^ axes_around(other, launch)) & blocks
            if differing:
                again = "read" if other.name == "memref.load" else "written again"
                raise PassFailed(f"{name_of(buffer)} is written in other loops bound to {', '.join(sorted(differing))} than it is {again} "
                                 "in: blocks do not wait for each other; bind loops around both, or make two nests of it, which are two "
                                 "launches", other)


def axes_around(op: ir.Operation, launch: Launch) -> set[str]:
    """The axes whose loops are around an op."""
    return {a.opview.thread for a in ancestors(op) if a.name == "tir.for" and a.opview.thread in launch.axes}


def axes_reduced(op: ir.Operation) -> set[str]:
    """The axes over whose threads the block around an op reduces: all threads get the result."""
    inside = next((a.opview for a in ancestors(op) if a.name == "tir.block"), None)
    values = () if inside is None else (v for kind, v in zip(inside.kinds, inside.values) if kind == REDUCE)
    loops = (loop_of(root) for value in values for root in roots(value))
    return {loop.thread for loop in loops if loop is not None and loop.thread is not None}


def _guard(block: ir.Block, launch: Launch, covered: frozenset[str]) -> None:
    missing = [a for name, a in launch.axes.items() if name not in covered]
    if not missing:
        return
    run: list[ir.Operation] = []
    for op in body(block):
        if op.name == "tir.for" and op.opview.kind == THREAD:
            _wrap(run, missing)
            _guard(op.opview.block, launch, covered | {op.opview.thread})
        elif thread_loops(op) or (any(has_effect(o) for o in everything(op)) and any(is_local_store(o) for o in everything(op))):
            _wrap(run, missing)
            for region in op.regions:
                for inner in region.blocks:
                    _guard(inner, launch, covered)
        elif any(is_local_store(o) for o in everything(op)) or op.name in ("tir.alloc_buffer", "gpu.barrier"):
            _wrap(run, missing)
        else:
            run.append(op)
            continue
        run = []
    _wrap(run, missing)


def _wrap(run: list[ir.Operation], missing: list[LaunchAxis]) -> None:
    """Puts consecutive statements under the condition; values that are used after them are computed by all threads."""
    effects = [any(has_effect(o) for o in everything(op)) for op in run]
    while run and not effects[-1]:
        run, effects = run[:-1], effects[:-1]
    while run and not effects[0]:
        run, effects = run[1:], effects[1:]
    if not run:
        return
    for number, op in enumerate(run):
        if any(not within(u.owner.operation, run) for r in op.results for u in r.uses):
            if op.name.startswith(MOVABLE) and not any(within(v.owner, run) for v in op.operands if not isinstance(v.owner, ir.Block)):
                op.move_before(run[0])
                _wrap([o for o in run if o != op], missing)
                return
            if effects[number]:
                raise PassFailed(f"what {op.name} gives is wanted by other threads than the one that has it: keep it in a shared buffer",
                                 op)
            _wrap(run[:number], missing)
            _wrap(run[number + 1:], missing)
            return
    first = run[0]
    with ir.InsertionPoint(first), first.location:
        test = None
        for axis in missing:
            zero = arith.CmpIOp(arith.CmpIPredicate.eq, axis.id, index(0)).result
            test = zero if test is None else arith.AndIOp(test, zero).result
        inside = scf.IfOp(test)
        with ir.InsertionPoint(inside.then_block):
            scf.YieldOp([])
    for op in run:
        op.move_before(terminator(inside.then_block))


def within(op: ir.Operation, run: list[ir.Operation]) -> bool:
    """Whether an op is one of ``run``, or nested in one of them."""
    return any(o in run for o in (op, *ancestors(op)))
