"""Expands buffers that each iteration of a loop writes anew by a dimension for the loop, so that the loop can be split."""
from legato.analysis.accesses import ElementAccess, accesses_in
from legato.analysis.indices.forms import depends
from legato.analysis.kernel_sizes import DYNAMIC, KernelSizes
from legato.core.ir_helpers import body
from legato.core.mlir import ir, memref
from legato.dialects.tir.loops import REDUCE, SPATIAL, ForOp, constant_of, make_buffer
from legato.passes.loops.raising.order import shared
from legato.passes.loops.raising.statements import Statement


def privatize(statements: list[Statement], own: dict[ir.Value, str], sizes: KernelSizes) -> dict[ir.Value, str]:
    """Expands the kernel's own buffers that are written anew in each iteration. Returns the names by buffer, with the new ones."""
    found = {}
    for buffer, name in own.items():
        users = [s for s in statements if touches(s, buffer)]
        loops = [loop for loop in loops_of(users) if not any(reads_by(s, buffer, loop) or reduces_over(s, loop) for s in users)]
        known = [(loop, sizes.of(loop.bounds[1])) for loop in loops]
        usable = known and all(size is not None and constant_of(loop.bounds[0]) == 0 for loop, size in known)
        if usable and begins_anew(users[0], buffer) and all(axis(s, loop) is not None for s in users for loop in loops):
            found[widened(buffer, name, loops, users, sizes)] = name
        else:
            found[buffer] = name
    for statement in statements:
        if statement.own:
            set_kinds(statement)
    return found


def loops_of(users: list[Statement]) -> list[ForOp]:
    """The loops around all statements that use a buffer."""
    if not users:
        return []
    loops = users[0].loops
    for statement in users[1:]:
        loops = [loop for loop in loops if any(loop.operation == o.operation for o in shared(users[0], statement))]
    return loops


def accesses(statement: Statement, buffer: ir.Value) -> list[ElementAccess]:
    """The loads and stores of a buffer in a statement, in order."""
    return accesses_in([statement.block.init_block, statement.block.block], [buffer])


def touches(statement: Statement, buffer: ir.Value) -> bool:
    """Whether a statement accesses a buffer."""
    return bool(accesses(statement, buffer))


def axis(statement: Statement, loop: ForOp) -> int | None:
    """The number of the axis bound to a loop's variable; None where there is none."""
    return next((n for n, v in enumerate(statement.block.values) if v == loop.variable), None)


def reduces_over(statement: Statement, loop: ForOp) -> bool:
    """Whether a block has a reduce axis over a loop: its value is kept between iterations."""
    number = axis(statement, loop)
    return number is not None and statement.block.kinds[number] == REDUCE


def reads_by(statement: Statement, buffer: ir.Value, loop: ForOp) -> bool:
    """Whether an index of the buffer in a statement depends on a loop."""
    number = axis(statement, loop)
    if number is None:
        return True
    block = statement.block
    own = [b.arguments[number] for b in (block.init_block, block.block) if b is not None]
    return any(depends(v, own) for access in accesses(statement, buffer) for v in access.indices)


def begins_anew(statement: Statement, buffer: ir.Value) -> bool:
    """Whether an iteration first writes all of a buffer."""
    block = statement.block
    if statement.tests:
        return False
    first = accesses(statement, buffer)[0]
    inside = block.init_block if block.init_block is not None else block.block
    if not first.writes or first.op not in body(inside):
        return False
    axes = {a: extent for a, extent in zip(inside.arguments, block.extents)}
    sizes = list(buffer.type.shape)
    return all((constant_of(v) == 0 and size == 1) or (v in axes and axes[v] == size != DYNAMIC) for v, size in zip(first.indices, sizes))


def widened(buffer: ir.Value, name: str, loops: list[ForOp], users: list[Statement], sizes: KernelSizes) -> ir.Value:
    """The buffer with a leading dimension for each loop, without its dimensions of size 1."""
    kept = [n for n, size in enumerate(buffer.type.shape) if size != 1]
    old = buffer.owner.operation
    extents = [sizes.of(loop.bounds[1]) for loop in loops]
    shape = [e if isinstance(e, int) else DYNAMIC for e in extents] + [buffer.type.shape[n] for n in kept]
    given = [loop.bounds[1] for loop, e in zip(loops, extents) if not isinstance(e, int)] + list(old.operands)
    with ir.InsertionPoint(old), old.location:
        made = make_buffer(ir.MemRefType.get(shape, buffer.type.element_type), name, "global", given)
    for statement in users:
        numbers = [axis(statement, loop) for loop in loops]
        for access in accesses(statement, buffer):
            op, given = access.op, access.indices
            inside = argument_block(op, statement)
            indices = [inside.arguments[n] for n in numbers if n is not None] + [given[n] for n in kept]
            with ir.InsertionPoint(op), op.location:
                if access.writes:
                    memref.StoreOp(op.operands[0], made, indices)
                else:
                    op.results[0].replace_all_uses_with(memref.LoadOp(made, indices).result)
            op.erase()
    return made


def argument_block(op: ir.Operation, statement: Statement) -> ir.Block:
    """The block of a statement, init or body, that an op is in."""
    block, at = op.block, statement.block.operation
    while block.owner.operation != at:
        block = block.owner.operation.block
    return block


def set_kinds(statement: Statement) -> None:
    """Makes the axes that stores' indices depend on spatial, and the others reduce axes."""
    block = statement.block
    places = [v for access in accesses_in([block.block]) if access.writes for v in access.indices]
    kinds = [SPATIAL if any(depends(v, [a]) for v in places) else REDUCE for a in block.block.arguments]
    block.operation.attributes["kinds"] = ir.ArrayAttr.get([ir.StringAttr.get(k) for k in kinds])
