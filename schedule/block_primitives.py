"""Primitives that move blocks into other loops: compute_at, reverse_compute_at."""
from collections.abc import Sequence

from legato.analysis.accesses import buffer_of
from legato.analysis.indices.build import build
from legato.analysis.indices.forms import PLAIN, in_loops, roots
from legato.analysis.indices.linear import Linear, variables_of
from legato.core.ir_helpers import ancestors, index, present
from legato.core.mlir import arith, ir, scf
from legato.dialects.tir.loops import DYNAMIC, PARALLEL, REDUCE, SERIAL, VECTORIZED, BlockOp, ForOp, before_end, constant_of, loop_of
from legato.dialects.tir.walk import blocks, buffer_name, loops_around
from legato.schedule.buffer_primitives import first_statement
from legato.schedule.loop_primitives import nest
from legato.schedule.order import check_moved, check_recurrence, is_distinct, own_reads, place_of, precedes
from legato.schedule.reach import check_runs_for_all, has_choices, reaches
from legato.schedule.state import (
    Kernel,
    ScheduleError,
    accesses,
    dependent_axes,
    is_shared,
    one_written,
    only_accessed,
    only_block,
    only_writer,
    plain_axes,
    predicate_of,
    reads,
    users,
    writes,
)


def under(op: ir.Operation, loop: ForOp) -> bool:
    """Whether an op is inside of a loop."""
    return loop.operation in ancestors(op)


def region(loop: ForOp, touching: list[ir.Operation], shape: list[int], all_threads: bool = False) -> list[tuple[Linear, int]]:
    """For each dimension, the begin and size of the region that the accesses touch in one iteration of the loop.

    ``all_threads``: the region of all threads of a block, not of one.
    """
    around = [a.opview for a in [loop.operation, *ancestors(loop.operation)] if a.name == "tir.for"]
    variables = {a.variable for a in around if not (all_threads and (a.thread or "").startswith("threadIdx"))}
    found: list[tuple[Linear, int]] = []
    for axis, size in enumerate(shape):
        forms = [place_of(op, axis) for op in touching]
        outer = variables | {term for form in forms for term in form.terms if known_before(term, loop, touching, variables)}
        steps = {inner.variable: (present(constant_of(inner.bounds[0])), inner.extent) for op in touching for inner in loops_around(op)
                 if inner.variable not in outer and inner.extent is not None}
        extents = {variable: extent for variable, (_, extent) in steps.items()}
        begins = [form.only(outer) for form in forms]
        rests = [form - begin for form, begin in zip(forms, begins)]
        starts = [Linear({}, sum(factor * steps[term][0] for term, factor in rest.terms.items() if term in steps)) for rest in rests]
        ranges = [(rest + start).range(extents) for rest, start in zip(rests, starts)]
        known = [r for r in ranges if r is not None]
        if len(known) < len(ranges) or any(b.terms != begins[0].terms for b in begins):
            found.append((Linear({}), size))
            continue
        low, high = min(r[0] for r in known), max(r[1] for r in known)
        if size == DYNAMIC or high - low + 1 < size:
            found.append((begins[0] + Linear({}, low), high - low + 1))
        else:
            found.append((Linear({}), size))
    return found


def known_before(value: ir.Value, loop: ForOp, touching: list[ir.Operation], variables: set[ir.Value]) -> bool:
    """Whether a value is computed from these loop variables and from values outside of all loops only, such as sizes, in a loop's body
    before what contains the accesses, or around it."""
    if isinstance(value.owner, ir.Block) or not roots(value, is_outside_loops) <= variables:
        return False
    op = value.owner.operation
    if op.block != loop.block:
        return any(op.block == around.block for around in [loop.operation, *ancestors(loop.operation)])
    first = next(o.operation for o in loop.block.operations if any(o.operation == t or o.operation in ancestors(t) for t in touching))
    return op.is_before_in_block(first)


def is_outside_loops(value: ir.Value) -> bool:
    """Whether a value is computed once, in the kernel's body or around it."""
    block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
    return all(a.name not in ("tir.for", "tir.block") for a in (block.owner.operation, *ancestors(block.owner.operation)))


def bound_of(block: BlockOp, axis: int, what: str) -> ir.Value:
    """The number of values of an axis of unknown extent. ScheduleError unless the axis is the variable of a loop from 0 with that many."""
    loop = loop_of(block.values[axis])
    if loop is None or constant_of(loop.bounds[0]) != 0 or kept_inside(loop.bounds[1]):
        raise ScheduleError(f"{what}: the extent of the axis {block.axes[axis]} of block '{block.name}' is not known")
    return loop.bounds[1]


def kept_inside(value: ir.Value) -> bool:
    """Whether a value is computed in a loop."""
    op = value.owner.owner.operation if isinstance(value.owner, ir.Block) else value.owner.operation
    return any(a.name == "tir.for" for a in (op, *ancestors(op)))


def rebind(kernel: Kernel, block: BlockOp, begins: dict[int, tuple[Linear, int]], shape: dict[int, int], place: ir.InsertionPoint,
           unit_loops: bool, what: str, guarded: bool) -> None:
    """Moves a block into new loops at a place: the axes in ``begins`` iterate over a region, the others over all their values.

    ``guarded``: the accesses that the region is of may not be done, and then be anywhere, also in front of the first element.
    """
    check_recurrence(block, [n for n, (begin, _) in begins.items() if begin.terms], what)
    whole = [n for n, extent in enumerate(block.extents) if extent is None and (n not in begins or begins[n][1] == DYNAMIC)]
    bounds = {n: bound_of(block, n, what) for n in whole}
    sizes = {n: bounds[n] if n in bounds else bound_of(block, n, what) if shape[n] == DYNAMIC else shape[n] for n in begins}
    allocate_first(kernel, block)
    old = kernel.top(block)
    for value in [*bounds.values(), *(v for v in sizes.values() if isinstance(v, ir.Value))]:
        hoist_size(value, kernel.top(first_statement(kernel)))
    ranges = [begins[n][1] if n in begins else extent for n, extent in enumerate(block.extents)]
    with place, block.operation.location:
        made = nest([((index(0), bounds[n]) if n in bounds else e, SERIAL, f"ax{n}", None) for n, e in enumerate(ranges)
                     if e != 1 or unit_loops])
        variables = iter(made)
        with before_end(made[-1].block) if made else place:
            values, tests = [], []
            for n, extent in enumerate(ranges):
                variable = next(variables).variable if extent != 1 or unit_loops else None
                begin = begins[n][0] if n in begins else Linear({})
                values.append(build(begin + Linear({variable: 1} if variable is not None else {})))
                if n in begins and n not in bounds and overflows(begin, extent, shape[n]):
                    size = sizes[n]
                    tests.append(arith.CmpIOp(arith.CmpIPredicate.slt, values[-1], index(size) if isinstance(size, int) else size).result)
                if n in begins and guarded and underflows(begin):
                    tests.append(arith.CmpIOp(arith.CmpIPredicate.sge, values[-1], index(0)).result)
            here = arith.ConstantOp(ir.IndexType.get(), 0).operation  # marks the block's new place
    for n, value in enumerate(values):
        block.operation.operands[n] = value
    block.operation.move_before(here)
    for test in tests:
        with ir.InsertionPoint(block.operation), block.operation.location:
            around = scf.IfOp(test)
            with ir.InsertionPoint(around.then_block):
                end = scf.YieldOp([])
        block.operation.move_before(end.operation)
    here.erase()
    if old != block.operation:
        kernel.erase(old)


def hoist_size(value: ir.Value, first: ir.Operation) -> None:
    """Moves the computation of a size from sizes of buffers in front of an op of the kernel's body."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.block != first.block or value.owner.operation.is_before_in_block(first):
        return
    op = value.owner.operation
    for operand in op.operands:
        hoist_size(operand, first)
    op.move_before(first)


def allocate_first(kernel: Kernel, block: BlockOp) -> None:
    """Moves the allocations of buffers that a block writes to the front: the block may be moved there."""
    first = kernel.top(first_statement(kernel))
    for buffer in writes(block):
        owner = buffer.owner.operation
        if owner.name == "tir.alloc_buffer" and not len(owner.operands) and first.is_before_in_block(owner):
            owner.move_before(first)


def overflows(begin: Linear, extent: int, size: int) -> bool:
    """Whether a region may reach beyond a dimension."""
    if size == DYNAMIC:
        return True
    bounds = PLAIN.bounds(by_loops(begin))
    return bounds is None or not isinstance(bounds[1], int) or bounds[1] + extent > size


def underflows(begin: Linear) -> bool:
    """Whether a region may begin in front of a dimension."""
    form = by_loops(begin)
    bounds = PLAIN.bounds(form)
    if bounds is not None and isinstance(bounds[0], int):
        return bounds[0] < 0
    loops = [(loop_of(term) if isinstance(term, ir.Value) else None, factor) for term, factor in form.terms.items()]
    starts = [None if loop is None or factor < 0 else constant_of(loop.bounds[0]) for loop, factor in loops]
    return any(start is None or start < 0 for start in starts) or form.constant < 0


def by_loops(begin: Linear) -> Linear:
    """A region's begin as a form of loop variables."""
    form = Linear({}, begin.constant)
    for value, factor in begin.terms.items():
        form = form + in_loops(value).times(factor)
    return form


def under_conditions(touching: list[ir.Operation]) -> bool:
    """Whether some of these accesses stand under a condition."""
    return any(a.name == "scf.if" for op in touching for a in ancestors(op))


def check_once(block: BlockOp, loop: ForOp, parts: Sequence[tuple[Linear, int]], what: str) -> None:
    """ScheduleError where a block's parts in the steps of a loop, and of those around it, have elements in common, and it changes what it
    has written, or these steps come in no order; also where it changes elements, and ran several times for one."""
    after = [around for around in (loop, *loops_around(loop.operation)) if around.extent != 1]
    distinct = {term for begin, size in parts if size != DYNAMIC and is_distinct(begin, size - 1) for term in begin.terms}
    if any(True for _ in own_reads(block)):
        before = [around.variable for around in loops_around(block.operation) if around.extent != 1]
        if not {one.variable for one in after} <= distinct or not all(any(v in roots(value) for value in block.values) for v in before):
            raise ScheduleError(f"{what}: block '{block.name}' changes what it reads, and steps of {loop.name}, or of a loop around, may "
                                "have elements in common: these would be changed several times")
    terms = [term for begin, _ in parts for term in begin.terms if not isinstance(term, ir.Value)]
    for one in after:
        if one.kind in (PARALLEL, VECTORIZED) and one.variable not in distinct and not any(one.variable in variables_of(t) for t in terms):
            raise ScheduleError(f"{what}: the loop {one.name} is {one.kind}, and its steps would write the same elements by block "
                                f"'{block.name}'")


def compute_at(kernel: Kernel, block: BlockOp, loop: ForOp, unit_loops: bool = False) -> None:
    """Computes a block inside of a loop around its consumers: in each iteration the region that the iteration reads."""
    buffer = one_written(block, "compute_at")
    only_accessed(kernel, buffer, "compute_at")
    only_writer(kernel, buffer, block, "compute_at")
    if kernel.is_output(buffer):
        raise ScheduleError(f"compute_at: '{buffer_name(buffer)}' is an output of the kernel, all of it has to be computed")
    if under(block.operation, loop):
        raise ScheduleError(f"compute_at: block '{block.name}' is under the loop {loop.name} already")
    only_block(kernel, block, "compute_at")
    if predicate_of(block) is not None:
        raise ScheduleError(f"compute_at: block '{block.name}' has a predicate")
    consumers = [op for op in users(buffer, "memref.load") if block.operation not in ancestors(op)]
    if not consumers:
        raise ScheduleError(f"compute_at: nobody reads '{buffer_name(buffer)}'")
    for op in consumers:
        if not under(op, loop):
            raise ScheduleError(f"compute_at: '{buffer_name(buffer)}' is also read outside of the loop {loop.name}")
    axes, *others = (plain_axes(store, block, "compute_at") for store in accesses(block, "memref.store"))
    if any(other != axes for other in others):
        raise ScheduleError(f"compute_at: block '{block.name}' writes '{buffer_name(buffer)}' at several places in one step")
    shape = list(buffer.type.shape)
    check_moved(block, block.operation, loop.operation, "compute_at", apart=[buffer])
    sizes = {axis: DYNAMIC if (extent := block.extents[axis]) is None else extent for axis in axes}
    parts = {axis: (Linear({}), sizes[axis]) if part == (Linear({}), size) else part
             for axis, part, size in zip(axes, region(loop, consumers, shape, all_threads=is_shared(buffer)), shape)}
    first = next(op for op in loop.block.operations if any(op.operation == c or op.operation in ancestors(c) for c in consumers))
    rebind(kernel, block, parts, sizes, ir.InsertionPoint(first), unit_loops, "compute_at", under_conditions(consumers))


def reverse_compute_at(kernel: Kernel, block: BlockOp, loop: ForOp, unit_loops: bool = False) -> None:
    """Computes a block inside of a loop around its producer: in each iteration the region that the iteration wrote."""
    if under(block.operation, loop):
        raise ScheduleError(f"reverse_compute_at: block '{block.name}' is under the loop {loop.name} already")
    only_block(kernel, block, "reverse_compute_at")
    if predicate_of(block) is not None:
        raise ScheduleError(f"reverse_compute_at: block '{block.name}' has a predicate")
    produced = [b for b in reads(block) if any(under(s, loop) for s in users(b, "memref.store"))]
    if len(produced) != 1:
        raise ScheduleError(f"reverse_compute_at: block '{block.name}' reads {len(produced)} buffers that are written under {loop.name}; "
                            "it has to be one")
    only_accessed(kernel, produced[0], "reverse_compute_at")
    stores = users(produced[0], "memref.store")
    if not all(under(s, loop) for s in stores):
        raise ScheduleError(f"reverse_compute_at: '{buffer_name(produced[0])}' is also written outside of the loop {loop.name}")
    for producer in [b for b in blocks(loop.operation) if produced[0] in writes(b)]:
        for around in [loop, *loops_around(loop.operation)]:
            if any(kind == REDUCE for _, kind in dependent_axes(producer, around.variable)):
                raise ScheduleError(f"reverse_compute_at: block '{producer.name}' is not finished within a step of {loop.name}: it reduces "
                                    f"over {around.name}")
    loads = [op for op in accesses(block, "memref.load") if buffer_of(op) == produced[0]]
    axes = plain_axes(loads[0], block, "reverse_compute_at")
    if any(plain_axes(op, block, "reverse_compute_at") != axes for op in loads) or REDUCE in block.kinds:
        raise ScheduleError(f"reverse_compute_at: block '{block.name}' does not read '{buffer_name(produced[0])}' element by "
                            "element")
    check_runs_for_all(kernel.function, block, axes, stores, "reverse_compute_at")
    shape = list(produced[0].type.shape)
    parts = dict(zip(axes, region(loop, stores, shape)))
    sizes = {axis: DYNAMIC if (extent := block.extents[axis]) is None else extent for axis in axes}
    for dimension, (axis, size) in enumerate(zip(axes, shape)):
        begin, _ = parts[axis]
        everywhere = parts[axis] == (Linear({}), size)
        if not everywhere and has_choices(block, loads) and not any(reaches(s, dimension, block, axis, loop.operation) for s in stores):
            if begin.terms:
                raise ScheduleError(f"reverse_compute_at: block '{block.name}' reads '{buffer_name(produced[0])}' under a condition; where "
                                    f"it reads nothing that a step of {loop.name} writes, its values of {block.axes[axis]} would be lost")
            everywhere = True
        parts[axis] = (Linear({}), sizes[axis]) if everywhere else parts[axis]
    check_once(block, loop, list(parts.values()), "reverse_compute_at")
    check_moved(block, loop.operation, block.operation, "reverse_compute_at", apart=produced,
                in_step=lambda store: precedes(store, block, loop, parts))
    rebind(kernel, block, parts, sizes, before_end(loop.block), unit_loops, "reverse_compute_at", under_conditions(stores))
