"""Splits conditions that differ between threads around barriers: all threads reach the barrier, and the statements before and after it
stay under the condition.
"""
from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import body, find, replace_uses, terminator
from legato.core.mlir import arith, ir, scf
from legato.dialects.tir.loops import constant_of, make_for
from legato.passes.gpu.threads.launch import Launch
from legato.passes.gpu.threads.uniform import Uniform

BARRIERS = ("gpu.barrier", "gpu.shuffle")
MOVABLE = ("arith.", "memref.dim", "math.", "memref.alloca")


def split_conditions(launch: Launch) -> None:
    """Splits each condition around a barrier that is not the same for all threads of a block, inner ones first."""
    uniform = Uniform(launch)
    for op in reversed(find(launch.operation, "scf.if")):
        if holds_barrier(op) and not uniform(op.operands[0]):
            split(op)


def holds_barrier(op: ir.Operation) -> bool:
    """Whether a barrier or shuffle is in an op."""
    return bool(find(op, *BARRIERS))


def split(op: ir.Operation) -> None:
    """Splits one condition."""
    if len(op.results):
        raise PassFailed("a barrier is needed inside of a condition that gives a value, and that not all threads take: write the value to "
                         "a buffer first", op)
    test = op.operands[0]
    with ir.InsertionPoint(op), op.location:
        branches = [(test, op.regions[0].blocks[0])]
        if len(op.regions[1].blocks):
            true = arith.ConstantOp(ir.IntegerType.get_signless(1), 1).result
            branches.append((arith.XOrIOp(test, true).result, op.regions[1].blocks[0]))
    for condition, block in branches:
        distribute(block, condition, op)
    op.erase()


def distribute(block: ir.Block, test: ir.Value, before: ir.Operation) -> None:
    """Moves a block's statements before an op; runs of statements without a barrier go under the condition."""
    run: list[ir.Operation] = []
    for op in body(block):
        if op.name.startswith(MOVABLE) and speculatable(op) and all(is_before(v, block) for v in op.operands):
            op.move_before(before)
        elif not holds_barrier(op):
            run.append(op)
        else:
            under(run, test, before)
            run = []
            around(op, test, before)
    under(run, test, before)


def is_before(value: ir.Value, block: ir.Block) -> bool:
    """Whether a value is defined outside of a block."""
    owner = value.owner
    return isinstance(owner, ir.Block) or owner.operation.block != block


def speculatable(op: ir.Operation) -> bool:
    """Whether an op can be computed where its result is not needed."""
    if "div" in op.name or "rem" in op.name:
        divisor = constant_of(op.operands[1]) if op.name.endswith("i") or isinstance(op.results[0].type, ir.IndexType) else 1
        return divisor is not None and divisor > 0
    return not len(op.regions)


def around(op: ir.Operation, test: ir.Value, before: ir.Operation) -> None:
    """Moves a statement with a barrier inside out of the condition; the condition is distributed over its body."""
    if op.name in BARRIERS:
        op.move_before(before)
        return
    if op.name == "tir.for":
        loop = op.opview
        with ir.InsertionPoint(before), op.location:
            lower, upper = loop.bounds
            made = make_for(lower, upper, loop.kind, loop.name)
        replace_uses(loop.block, [made.variable])
        distribute(loop.block, test, terminator(made.block))
    elif op.name == "scf.if" and not len(op.results):
        with ir.InsertionPoint(before), op.location:
            made = scf.IfOp(op.operands[0], has_else=len(op.regions[1].blocks) > 0)
        for region, target in zip(op.regions, (made.then_block, made.else_block if len(op.regions[1].blocks) else None)):
            if target is not None:
                with ir.InsertionPoint(target):
                    end = scf.YieldOp([]).operation
                distribute(region.blocks[0], test, end)
    else:
        raise PassFailed(f"a barrier is needed inside of {op.name}, under a condition that not all threads take: it cannot be moved out",
                         op)
    op.erase()


def under(run: list[ir.Operation], test: ir.Value, before: ir.Operation) -> None:
    """Puts statements under the condition, before an op; values used outside become results of the ``scf.if``."""
    if not run:
        return
    with ir.InsertionPoint(before), run[0].location:
        wanted = [r for op in run for r in op.results if any(not inside(u.owner.operation, run) for u in r.uses)]
        made = scf.IfOp(test, [r.type for r in wanted], has_else=bool(wanted))
        with ir.InsertionPoint(made.then_block):
            end = scf.YieldOp([]).operation
    for op in run:
        op.move_before(end)
    if wanted:
        for value, result in zip(wanted, made.results):
            for use in [u for u in value.uses if not inside(u.owner.operation, run)]:
                use.owner.operation.operands[use.operand_number] = result
        with ir.InsertionPoint(end), end.location:
            scf.YieldOp(wanted)
        end.erase()
        with ir.InsertionPoint(made.else_block), made.location:
            scf.YieldOp([zero(v) for v in wanted])


def zero(value: ir.Value) -> ir.Value:
    """A zero of a value's type, for the branch that is not taken. PassFailed for buffers."""
    type_ = value.type
    if isinstance(type_, ir.MemRefType):
        raise PassFailed("a buffer is made under a condition that not all threads take, and used after a barrier", value.owner.operation)
    number = ir.FloatAttr.get(type_, 0.0) if isinstance(type_, ir.FloatType) else ir.IntegerAttr.get(type_, 0)
    return arith.ConstantOp(type_, number).result


def inside(op: ir.Operation, run: list[ir.Operation]) -> bool:
    """Whether an op is one of ``run``, or nested in one of them."""
    while op is not None and op.name != "func.func":
        if op in run:
            return True
        op = None if op.parent is None else op.parent.operation
    return False
