"""Primitives on reductions: decompose_reduction and rfactor."""
from math import prod

import numpy as np

from legato.analysis.accesses import buffer_of, indices_of
from legato.analysis.indices.build import build
from legato.analysis.indices.conditions import conjuncts
from legato.analysis.indices.forms import linear, roots
from legato.analysis.indices.points import Points
from legato.analysis.structured.identities import IDEMPOTENT, is_identity
from legato.analysis.structured.ops import COMBINERS
from legato.core.ir_helpers import ancestors, body, copy, defining_op, index, only_use, present
from legato.core.mlir import ir, memref, scf
from legato.dialects.tir.loops import REDUCE, SERIAL, SPATIAL, BlockOp, ForOp, before_end, constant_of, loop_of, make_block, make_buffer
from legato.dialects.tir.walk import buffer_name, loops_around
from legato.schedule.block_primitives import is_outside_loops
from legato.schedule.loop_primitives import nest
from legato.schedule.state import (
    Kernel,
    ScheduleError,
    accesses,
    dependent_axes,
    from_zero,
    one_written,
    only_accessed,
    only_block,
    plain_axes,
    predicate_of,
    require_static,
    within,
)

MOST_STEPS = 1 << 12
SOME_STEPS = 4      # of a loop of unknown extent


def decompose_reduction(kernel: Kernel, block: BlockOp, loop: ForOp) -> BlockOp:
    """Makes the init a block of its own before the loop. Returns it."""
    if block.init_block is None:
        raise ScheduleError(f"decompose_reduction: block '{block.name}' has no init")
    around = loops_around(block.operation)
    if loop.operation not in [a.operation for a in around]:
        raise ScheduleError(f"decompose_reduction: the loop {loop.name} is not around block '{block.name}'")
    for other in within(block.operation, loop.operation):
        if other.name == "tir.block":
            raise ScheduleError(f"decompose_reduction: the loop {loop.name} is outside of block '{other.opview.name}', and block "
                                f"'{block.name}' in it: the init takes a loop in the same block")
    at = [a.operation for a in around].index(loop.operation)
    for outer in around[:at]:
        if any(kind == REDUCE for _, kind in dependent_axes(block, outer.variable)):
            raise ScheduleError(f"decompose_reduction: block '{block.name}' also reduces over {outer.name}, outside of {loop.name}: the "
                                "init would be run in each of its steps")
    values = [(axis, e, v) for axis, kind, e, v in zip(block.axes, block.kinds, block.extents, block.values) if kind == SPATIAL]
    needed = {r for _, _, v in values for r in roots(v)}
    inner = [a for a in around[at:] if a.variable in needed]
    under = [a.variable for a in around[at:]]
    for one in inner:
        if any(r in under for bound in one.bounds for r in roots(bound)):
            raise ScheduleError(f"decompose_reduction: the bounds of the loop {one.name} depend on the loops around it")
    tests = [test for a in reversed(within(block.operation, loop.operation)) if a.name == "scf.if" for test in conjuncts(a.operands[0])]
    run_over = [a.variable for a in inner]
    for test in tests:
        found = {r for r in roots(test) if r.owner.owner.operation.name != "func.func"}
        outside = not found <= {*under}
        if found & ({*under} - {*run_over}) and (outside or found & {*run_over}):
            raise ScheduleError(f"decompose_reduction: whether block '{block.name}' is run depends on "
                                f"{f'loops outside of {loop.name}' if outside else 'loops of the init'} and on loops that are not the "
                                "init's: the init would be run where the block is not")
    if runs_again(block, around[at:], tests):
        raise ScheduleError(f"decompose_reduction: in one run of the loop {loop.name}, block '{block.name}' is run again for the same "
                            "values of its axes: with the init before the loop, it would add to what it has computed")
    with ir.InsertionPoint(loop), block.operation.location:
        bounds = [(rebuild(lower, {}), rebuild(upper, {})) for lower, upper in (a.bounds for a in inner)]
        made = nest([(b, a.kind, f"{a.name}_init", a.thread) for a, b in zip(inner, bounds)])
        mapping = {a.variable: m.variable for a, m in zip(inner, made)}
        with before_end(made[-1].block) if made else ir.InsertionPoint.current:
            place = ir.InsertionPoint.current
            for test in tests:  # conditions that hold for all steps of the reduction hold for the init
                if not any(r in under and r not in mapping for r in roots(test)):
                    with place:
                        place = before_end(conditional(rebuild(test, mapping)))
            with place:
                new = make_block(kernel.unique(f"{block.name}_init"), [a for a, _, _ in values], [SPATIAL] * len(values),
                                 [e for _, e, _ in values], [rebuild(v, mapping) for _, _, v in values])
                axes = dict(zip([a for a, _, _ in values], new.block.arguments))
                with before_end(new.block):
                    olds = [(name, old) for name, old in zip(block.axes, block.init_block.arguments) if next(iter(old.uses), None)]
                    copy(body(block.init_block), {old: axes[name] if name in axes else index(0) for name, old in olds})
    drop_init(kernel, block)
    return new


def runs_again(block: BlockOp, loops: list[ForOp], tests: list[ir.Value]) -> bool:
    """Whether loops run a block twice for the same values of its axes, as seen in ``MOST_STEPS`` of their first steps.

    ``tests``: the conditions around the block, in the loops.
    """
    loops = [loop for loop in loops if loop.extent != 1]
    used = set().union(*(roots(value) for value in block.values))
    if any(loop.variable not in used for loop in loops):
        return True
    steps = [SOME_STEPS if loop.extent is None else loop.extent for loop in loops]
    while prod(steps) > MOST_STEPS:
        longest = steps.index(max(steps))
        steps[longest] = -(-steps[longest] // 2)
    points = Points([(loop.variable, constant_of(loop.bounds[0]) or 0, count) for loop, count in zip(loops, steps)], lambda _: True)
    values = [points.evaluate(value) for value in block.values]
    mask, exact = points.mask([(test, True) for test in tests])
    if not exact or any(value is None for value in values):
        return False
    rows = np.stack([points.flat(present(value).array) for value in values])[:, points.flat(mask)]
    return np.unique(rows, axis=1).shape[1] < rows.shape[1]


def conditional(test: ir.Value) -> ir.Block:
    """The block of a new ``scf.if`` at the insertion point."""
    made = scf.IfOp(test)
    with ir.InsertionPoint(made.then_block):
        scf.YieldOp([])
    return made.then_block


def rebuild(value: ir.Value, mapping: dict[ir.Value, ir.Value]) -> ir.Value:
    """The value recomputed at the insertion point, from other loop variables; what is computed outside of all loops stays."""
    if value in mapping:
        return mapping[value]
    if isinstance(value.owner, ir.Block) or (value.owner.name != "arith.constant" and is_outside_loops(value)):
        return value
    owner = value.owner.operation
    operands = [rebuild(operand, mapping) for operand in owner.operands]
    new = owner.clone()
    for number, operand in enumerate(operands):
        new.operands[number] = operand
    return new.results[0]


def drop_init(kernel: Kernel, block: BlockOp) -> None:
    """Removes a block's init; the block and its handles stay."""
    with ir.InsertionPoint(block.operation), block.operation.location:
        rest = make_block("init", [], [], [], [])
    present(block.init_block).append_to(rest.operation.regions[0])
    kernel.erase(rest.operation)


def rfactor(kernel: Kernel, block: BlockOp, loop: ForOp, axis: int) -> list[BlockOp]:
    """Accumulates each iteration of a reduction's loop into an element of its own; a block after it, with the old name, combines these.

    Returns the block of the iterations, and the one after it.
    """
    buffer = one_written(block, "rfactor")
    stores = [op for op in body(block.block) if op.name == "memref.store"]
    if block.init_block is None or len(stores) != 1:
        raise ScheduleError(f"rfactor: block '{block.name}' is no reduction with an init and one store")
    extent = require_static(loop, "rfactor")
    reduced = dependent_axes(block, loop.variable)
    if [kind for _, kind in reduced] != [REDUCE]:
        raise ScheduleError(f"rfactor: the loop {loop.name} does not run over a reduce axis of block '{block.name}'")
    only_block(kernel, block, "rfactor")
    only_accessed(kernel, buffer, "rfactor")
    combiner = combiner_of(block, stores[0], buffer)
    axes = plain_axes(stores[0], block, "rfactor")
    if not 0 <= axis <= len(axes):
        raise ScheduleError(f"rfactor: the factor's axis is between 0 and {len(axes)}, not {axis}")
    initial = initial_of(block)
    if (combiner.name not in IDEMPOTENT and not is_identity(initial, combiner)) or not is_constant(initial):
        raise ScheduleError(f"rfactor: the init of block '{block.name}' is not a constant that changes nothing: it would be taken once for "
                            "each step")
    number = next(n for n, v in enumerate(block.values) if loop.variable in roots(v))
    form = linear(block.values[number])
    if form.coefficient(loop.variable) == 0 or any(loop_of(v) is None for v in form.terms):
        raise ScheduleError(f"rfactor: the axis {block.axes[number]} is not made of its loops by additions")
    for variable in form.terms:
        from_zero(present(loop_of(variable)), "rfactor")
    tests = [one.operands[0] for one in ancestors(block.operation) if one.name == "scf.if"]
    if len(tests) > 1 or (tests and predicate_of(block) is None):
        raise ScheduleError(f"rfactor: block '{block.name}' has several predicates, or loops within one: split its loops afterwards")
    if any(loop_of(root) is not None and root not in form.terms for test in tests for root in roots(test)):
        raise ScheduleError(f"rfactor: block '{block.name}' has a predicate on loops that the axis {block.axes[number]} is not made of")
    if len(form.terms) == 1 and block.kinds.count(REDUCE) == 1:
        raise ScheduleError(f"rfactor: nothing is left to reduce in block '{block.name}' in one step of {loop.name}: split the loop first")
    if any(block.extents[a] is None for a in axes):
        raise ScheduleError(f"rfactor: block '{block.name}' has an axis of unknown extent")
    shape = list(buffer.type.shape)
    shape.insert(axis, extent)
    with ir.InsertionPoint(kernel.top(block)), block.operation.location:
        parts = make_buffer(ir.MemRefType.get(shape, buffer.type.element_type), f"{buffer_name(buffer)}_rf")
    top = kernel.top(block)
    following = list(top.block.operations)
    behind = following[[o.operation for o in following].index(top) + 1].operation
    final = final_block(kernel, block, stores[0], combiner, parts, axes, axis, extent, initial, behind)
    steps = step_block(kernel, block, loop, parts, axis, extent)
    predicate = predicate_of(block)
    kernel.replaced(block.operation, final.operation)
    kernel.erase(block.operation)
    if predicate is not None:
        kernel.erase(predicate)
    return [steps, final]


def initial_of(block: BlockOp) -> ir.Value:
    """What a reduction's init writes."""
    return next(op for op in body(present(block.init_block)) if op.name == "memref.store").operands[0]


def is_constant(value: ir.Value) -> bool:
    """Whether a value is an arith.constant."""
    owner = defining_op(value)
    return owner is not None and owner.name == "arith.constant"


def combiner_of(block: BlockOp, store: ir.Operation, buffer: ir.Value) -> ir.Operation:
    """The op that combines with the stored element. ScheduleError where there is none that can be reordered."""
    combiner = defining_op(store.operands[0])
    if combiner is None or combiner.name not in COMBINERS:
        raise ScheduleError(f"rfactor: block '{block.name}' does not combine by one of: {', '.join(c.split('.')[1] for c in COMBINERS)}")
    if not any(reads(operand, buffer) for operand in combiner.operands):
        raise ScheduleError(f"rfactor: block '{block.name}' does not add to what it has written before")
    loads = [op for op in accesses(block, "memref.load") if buffer_of(op) == buffer]
    if len(loads) != 1 or only_use(loads[0].results[0]) is None or indices_of(loads[0]) != indices_of(store):
        raise ScheduleError(f"rfactor: what block '{block.name}' combines depends on what it has written before, or it combines with other "
                            "elements than it writes")
    return combiner


def reads(value: ir.Value, buffer: ir.Value) -> bool:
    """Whether a value is an element of a buffer."""
    owner = defining_op(value)
    return owner is not None and owner.name == "memref.load" and buffer_of(owner) == buffer


def final_block(kernel: Kernel, block: BlockOp, store: ir.Operation, combiner: ir.Operation, parts: ir.Value, axes: list[int], at: int,
                extent: int, initial: ir.Value, behind: ir.Operation) -> BlockOp:
    """The block that combines the partial results."""
    names = [block.axes[a] for a in axes]
    extents = [block.extents[a] for a in axes]
    buffer = buffer_of(store)
    with ir.InsertionPoint(behind), block.operation.location:
        loops = nest([*((e, SERIAL, n, None) for n, e in zip(names, extents)), (extent, SERIAL, "rf", None)])
        with before_end(loops[-1].block):
            new = make_block(block.name, [*names, "v_rf"], [SPATIAL] * len(names) + [REDUCE], [*extents, extent],
                             [loop.variable for loop in loops], init=True)
            with before_end(present(new.init_block)):
                memref.StoreOp(constant_copy(initial), buffer, list(present(new.init_block).arguments)[:-1])
            with before_end(new.block):
                *spatial, step = new.block.arguments
                places = [*spatial]
                places.insert(at, step)
                part, whole = memref.LoadOp(parts, places).result, memref.LoadOp(buffer, spatial).result
                made = combiner.clone()
                made.operands[0], made.operands[1] = whole, part
                memref.StoreOp(made.results[0], buffer, spatial)
    return new


def constant_copy(value: ir.Value) -> ir.Value:
    """A clone of a constant at the insertion point."""
    return value.owner.operation.clone().results[0]


def step_block(kernel: Kernel, block: BlockOp, loop: ForOp, parts: ir.Value, at: int, extent: int) -> BlockOp:
    """The block with the loop as a spatial axis; the reduce axis that contained it becomes axes of its other loops. Steps in which the
    predicate does not hold combine with the initial value, so that a part without any other step has it."""
    predicate = predicate_of(block)
    number = next(n for n, v in enumerate(block.values) if loop.variable in roots(v))
    form = linear(block.values[number])
    rest = form.without([loop.variable])
    inner = [(v, present(loop_of(v)).extent) for v in rest.terms]
    keep = [n for n in range(len(block.axes)) if n != number]
    names = [block.axes[n] for n in keep] + [f"{block.axes[number]}_{k}" for k in range(len(inner))] + ["v_rf"]
    kinds = [block.kinds[n] for n in keep] + [REDUCE] * len(inner) + [SPATIAL]
    extents = [block.extents[n] for n in keep] + [e for _, e in inner] + [extent]
    values = [block.values[n] for n in keep] + [v for v, _ in inner] + [loop.variable]
    with ir.InsertionPoint(block.operation if predicate is None else predicate), block.operation.location:
        new = make_block(kernel.unique(f"{block.name}_rf"), names, kinds, extents, values, init=REDUCE in kinds)
    for old, target in ((block.init_block, new.init_block), (block.block, new.block)):
        if target is None:
            continue
        arguments = list(target.arguments)
        with before_end(target):
            parts_of = {loop.variable: arguments[-1]} | {v: a for (v, _), a in zip(inner, arguments[len(keep):])}
            whole = build(form.renamed(parts_of)) if target == new.block else arguments[0]
            mapping = {present(old).arguments[n]: arguments[k] for k, n in enumerate(keep)} | {present(old).arguments[number]: whole}
            if predicate is None or target != new.block:
                copy(body(old), mapping)
            else:
                copy_where(block, rebuild(predicate.operands[0], parts_of), mapping)
        retarget(kernel, target, parts, at, arguments[-1], buffer_of(next(op for op in body(old) if op.name == "memref.store")))
    return new


def copy_where(block: BlockOp, test: ir.Value, mapping: dict[ir.Value, ir.Value]) -> None:
    """Copies a reduction's body to the insertion point, with the initial value for what is combined where a test does not hold."""
    store = next(op for op in body(block.block) if op.name == "memref.store")
    combiner = present(defining_op(store.operands[0]))
    first, second = combiner.operands
    previous, value = (first, second) if reads(first, buffer_of(store)) else (second, first)
    kept = [present(defining_op(previous)), combiner, store]
    chosen = scf.IfOp(test, [value.type], has_else=True)
    with ir.InsertionPoint(chosen.then_block):
        found = copy([op for op in body(block.block) if op not in kept], mapping)
        scf.YieldOp([found.get(value, value)])
    with ir.InsertionPoint(chosen.else_block):
        scf.YieldOp([constant_copy(initial_of(block))])
    copy(kept, mapping | {value: chosen.results[0]})


def retarget(kernel: Kernel, block: ir.Block, parts: ir.Value, at: int, step: ir.Value, buffer: ir.Value) -> None:
    """Makes a block access the iteration's part instead of the result."""
    for op in body(block):
        if op.name in ("memref.load", "memref.store") and buffer_of(op) == buffer:
            first = 1 if op.name == "memref.load" else 2
            places = list(op.operands)[first:]
            places.insert(at, step)
            with ir.InsertionPoint(op), op.location:
                if op.name == "memref.load":
                    op.results[0].replace_all_uses_with(memref.LoadOp(parts, places).result)
                else:
                    memref.StoreOp(op.operands[0], parts, places)
            kernel.erase(op)

