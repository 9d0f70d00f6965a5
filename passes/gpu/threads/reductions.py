"""Reductions over loops bound to threads: each thread reduces its part, then the threads of a block combine their results.

A block whose reduce axis is bound to a thread's index becomes: a local accumulator, initialized with the identity of the op; the block,
accumulating into it; an all-reduce; and the store of the result, combined with the block's init, by one thread, or by each where the
result is local.
"""
from collections.abc import Callable
from dataclasses import dataclass

from legato.analysis.indices.conditions import conjuncts
from legato.analysis.indices.forms import roots
from legato.analysis.structured.identities import identity, is_identity
from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import ancestors, body, in_program_order, index, present, replace_uses, terminator
from legato.core.mlir import arith, ir, memref, scf
from legato.core.views import root_of
from legato.dialects.tir.loops import REDUCE, SERIAL, BlockOp, ForOp, make_buffer
from legato.dialects.tir.walk import blocks
from legato.passes.gpu.threads.all_reduce import all_reduce
from legato.passes.gpu.threads.combiners import combine, combiner_of
from legato.passes.gpu.threads.launch import Launch, LaunchAxis
from legato.passes.gpu.threads.memory import LOCAL, name_of, scope_of


@dataclass(frozen=True)
class Sum:
    """One store of a reduction.

    ``combiner``: the op that combines ``value`` with the element of ``buffer`` at ``indices``; ``init``: the initial value, None where
    the block has no init.
    """

    store: ir.Operation
    combiner: ir.Operation
    value: ir.Value
    buffer: ir.Value
    indices: list[ir.Value]
    init: ir.Value | None


def lower_reductions(launch: Launch) -> None:
    """Lowers the blocks of a launch that reduce over threads; loops bound to threads are replaced by indices already."""
    for block in blocks(launch.operation):
        across = reduced_axes(launch, block)
        if across:
            lower_reduction(launch, block, across)


def reduced_axes(launch: Launch, block: BlockOp) -> list[LaunchAxis]:
    """The axes over whose threads a block reduces. PassFailed for axes of blocks, and for ones that also give a spatial axis."""
    reduced = {r for kind, v in zip(block.kinds, block.values) if kind == REDUCE for r in roots(v)}
    others = {r for kind, v in zip(block.kinds, block.values) if kind != REDUCE for r in roots(v)}
    found = [a for a in launch.axes.values() if a.id in reduced]
    for axis in found:
        what = f"block '{block.name}' is reduced over {axis.name}"
        if not axis.is_thread:
            raise PassFailed(f"{what}: blocks cannot add up what they have; bind the loop to threadIdx, or let each block write its own "
                             "part (rfactor), and a second nest add these up", block.operation)
        if axis.id in others:
            raise PassFailed(f"{what}, which also gives the values of an axis that is not reduced: bind the two to loops of their own",
                             block.operation)
    return found


def lower_reduction(launch: Launch, block: BlockOp, across: list[LaunchAxis]) -> None:
    """Lowers one block that reduces over the axes ``across``."""
    sums = sums_of(block)
    for axis, kind, value in zip(block.axes, block.kinds, block.values):
        for root in roots(value) if kind == REDUCE else ():
            loop = root.owner.owner.operation
            if loop.name == "tir.for" and launch.operation not in ancestors(loop):
                raise PassFailed(f"block '{block.name}' is reduced over threads, and its axis {axis} also over the loop {loop.opview.name} "
                                 "around the launch: put that loop inside of those bound to threads", block.operation)
    varying = {a.id for a in across} | {r for kind, v in zip(block.kinds, block.values) if kind == REDUCE for r in roots(v)}
    chain = inside(block.operation, launch)
    top = next((op for op in chain if depends(op, varying)), block.operation)
    tests = inner_tests(block, chain[chain.index(top):] if top in chain else [], varying)
    check_alone(block, sums, top)
    spatial = dict(zip(block.block.arguments, block.values))
    accumulators = []
    with ir.InsertionPoint(top), block.operation.location:
        for one in sums:
            type_ = one.combiner.results[0].type
            accumulators.append(make_buffer(ir.MemRefType.get([1], type_), f"{name_of(one.buffer)}_part", LOCAL))
            memref.StoreOp(identity(one.combiner), accumulators[-1], [index(0)])
    with behind(top), block.operation.location:
        totals = [all_reduce(launch, across, accumulator, one.combiner, name_of(one.buffer))
                  for one, accumulator in zip(sums, accumulators)]
        write(block, sums, totals, across, tests, spatial)
    for one, accumulator in zip(sums, accumulators):
        with ir.InsertionPoint(one.store), one.store.location:
            whole = memref.LoadOp(accumulator, [index(0)]).result
            memref.StoreOp(combine(one.combiner, whole, one.value), accumulator, [index(0)])
        for op in (one.store, one.combiner, before(one)):
            op.erase()
    replace_uses(block.block, block.values)
    for op in body(block.block):
        op.move_before(block.operation)
    block.operation.erase()


def sums_of(block: BlockOp) -> list[Sum]:
    """The reductions of a block. PassFailed for a block that does anything else."""
    stores = [op for op in in_program_order(block.operation) if op.name == "memref.store" and op.block == block.block]
    first = [] if block.init_block is None else body(block.init_block)
    inits = {root_of(op.operands[1]): op for op in first if op.name == "memref.store"}
    sums = []
    for store in stores:
        buffer = store.operands[1]
        found = combiner_of(store)
        if found is None:
            raise PassFailed(f"block '{block.name}' is reduced over threads, and what it writes to {name_of(buffer)} is not the sum, "
                             "product, maximum or minimum of what was there and another value", store)
        combiner, value = found
        reduced = {a for a, kind in zip(block.block.arguments, block.kinds) if kind == REDUCE}
        indices = list(store.operands)[2:]
        if any(roots(i) & reduced for i in indices):
            raise PassFailed(f"block '{block.name}' is reduced over threads, and writes to {name_of(buffer)} at an index that depends on "
                             "the reduced axis", store)
        init = inits.get(root_of(buffer))
        value_at_first = None
        if init is not None:
            mapping = dict(zip(present(block.init_block).arguments, block.block.arguments))
            with ir.InsertionPoint.at_block_begin(block.block), init.location:
                value_at_first = rebuild(init.operands[0], mapping)
        sums.append(Sum(store, combiner, value, buffer, indices, value_at_first))
    if not sums or any(o.name in ("memref.store", "func.call") and o not in stores for o in in_program_order(block.operation)
                       if block.init_block is None or o.block != block.init_block):
        raise PassFailed(f"block '{block.name}' is reduced over threads: its body adds to elements of buffers, and does nothing else",
                         block.operation)
    return sums


def inside(op: ir.Operation, launch: Launch) -> list[ir.Operation]:
    """The ops around one in a launch, outermost first."""
    around = ancestors(op)
    return list(reversed(around[:around.index(launch.operation)]))


def depends(op: ir.Operation, varying: set[ir.Value]) -> bool:
    """Whether a loop or condition depends on the reduced variables."""
    if op.name == "tir.for":
        return op.opview.variable in varying
    return op.name == "scf.if" and bool(roots(op.operands[0]) & varying)


def inner_tests(block: BlockOp, chain: list[ir.Operation], varying: set[ir.Value]) -> list[ir.Value]:
    """The conditions inside of the outermost reduced loop that do not depend on reduced variables: they tell which results are written.

    PassFailed for ops that cannot stand in a reduction.
    """
    tests = []
    for op, inner in zip(chain, [*chain[1:], block.operation]):
        if op.name == "tir.for":
            loop: ForOp = op.opview
            if loop.variable not in varying:
                raise PassFailed(f"block '{block.name}' is reduced over threads, and the loop {loop.name}, which is not reduced, stands "
                                 "inside of one that is: move it outside (reorder)", op)
            if loop.kind != SERIAL and loop.kind != "unrolled":
                raise PassFailed(f"block '{block.name}' is reduced over the {loop.kind} loop {loop.name}", op)
        elif op.name == "scf.if":
            if len(op.regions[1].blocks) and inner.block == op.regions[1].blocks[0]:
                raise PassFailed(f"block '{block.name}' is reduced over threads in the else part of a condition: negate the condition",
                                 op)
            tests += [t for t in conjuncts(op.operands[0]) if not roots(t) & varying]
        else:
            raise PassFailed(f"block '{block.name}' is reduced over threads inside of {op.name}", op)
    return tests


def check_alone(block: BlockOp, sums: list[Sum], top: ir.Operation) -> None:
    """PassFailed where the result is used while it is computed."""
    results = [root_of(s.buffer) for s in sums]
    for op in in_program_order(top):
        if op.name in ("memref.load", "memref.store") and block.operation not in ancestors(op):
            buffer = root_of(op.operands[0 if op.name == "memref.load" else 1])
            if buffer in results:
                raise PassFailed(f"block '{block.name}' is reduced over threads: {name_of(buffer)} has its value after the loops, and is "
                                 "used inside of them", op)
    for one in sums:
        for op in in_program_order(block.operation):
            if op.name == "memref.load" and op != before(one) and root_of(op.operands[0]) == root_of(one.buffer):
                raise PassFailed(f"block '{block.name}' is reduced over threads, and reads {name_of(one.buffer)} for more than to add to "
                                 "it", op)


def before(one: Sum) -> ir.Operation:
    """The load of the accumulated element."""
    a, b = one.combiner.operands
    return (b if a == one.value else a).owner.operation


def behind(top: ir.Operation) -> ir.InsertionPoint:
    """The insertion point after an op."""
    following = [op.operation for op in top.block.operations]
    return ir.InsertionPoint(following[following.index(top) + 1])


def write(block: BlockOp, sums: list[Sum], totals: list[Callable[[], ir.Value]], across: list[LaunchAxis], tests: list[ir.Value],
          spatial: dict[ir.Value, ir.Value]) -> None:
    """Stores the results."""
    for one, total in zip(sums, totals):
        conditions = [rebuild(t, {}) for t in tests]
        if scope_of(one.buffer) != LOCAL:
            conditions += [arith.CmpIOp(arith.CmpIPredicate.eq, a.id, index(0)).result for a in across]
        test = None
        for condition in conditions:
            test = condition if test is None else arith.AndIOp(test, condition).result
        place = ir.InsertionPoint.current
        if test is not None:
            made = scf.IfOp(test)
            with ir.InsertionPoint(made.then_block):
                scf.YieldOp([])
            place = ir.InsertionPoint(terminator(made.then_block))
        with place:
            indices = [rebuild(i, spatial) for i in one.indices]
            result = total()  # here, so that only threads that write the result read it
            if one.init is None:
                result = combine(one.combiner, memref.LoadOp(one.buffer, indices).result, result)
            elif not is_identity(one.init, one.combiner):
                result = combine(one.combiner, rebuild(one.init, spatial), result)
            memref.StoreOp(result, one.buffer, indices)


def rebuild(value: ir.Value, mapping: dict[ir.Value, ir.Value]) -> ir.Value:
    """A value recomputed at the insertion point, with a block's arguments replaced; all its ops are cloned."""
    if value in mapping:
        return rebuild(mapping[value], {})
    owner = value.owner
    if isinstance(owner, ir.Block) or len(owner.operation.regions):
        return value
    if owner.operation.name in ("tir.alloc_buffer", "bufferization.to_buffer", "memref.alloc"):
        return value
    operands = [rebuild(operand, mapping) for operand in owner.operation.operands]
    new = owner.operation.clone()
    for number, operand in enumerate(operands):
        new.operands[number] = operand
    return new.results[list(owner.operation.results).index(value)]


