"""Going through kernels written as loops, and moving and copying what is in them."""

from collections.abc import Iterable, Mapping

from ...mlir import ir
from .loops import BlockOp, ForOp, text

FIRST_INDEX = {"memref.load": 1, "memref.store": 2}  # the operands of accesses: a value stored, the buffer, the indices


def find(root: ir.Operation, *names: str, inner_first: bool = False) -> list[ir.Operation]:
    """The ops of these names under one."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in names:
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    root.operation.walk(visit, ir.WalkOrder.POST_ORDER if inner_first else ir.WalkOrder.PRE_ORDER)
    return found


def loops(root: ir.Operation) -> list[ForOp]:
    """The loops under an op, outer ones first."""
    return [op.opview for op in find(root, "tir.for")]


def blocks(root: ir.Operation) -> list[BlockOp]:
    """The blocks under an op, in order."""
    return [op.opview for op in find(root, "tir.block")]


def body(block: ir.Block) -> list[ir.Operation]:
    """The operations of a block, without its terminator."""
    return [op.operation for op in block.operations][:-1]


def terminator(block: ir.Block) -> ir.Operation:
    return block.operations[len(block.operations) - 1].operation


def ancestors(op: ir.Operation) -> list[ir.Operation]:
    """The ops around one, the nearest first, up to its function."""
    found = []
    parent = op.operation.parent
    while parent is not None:
        found.append(parent.operation)
        if parent.operation.name == "func.func":
            break
        parent = parent.operation.parent
    return found


def loops_around(op: ir.Operation) -> list[ForOp]:
    """The loops around an op, outermost first."""
    return [a.opview for a in reversed(ancestors(op)) if a.name == "tir.for"]


def replace_uses(block: ir.Block, values: Iterable[ir.Value]) -> None:
    """Who reads the block's arguments reads these values."""
    for argument, value in zip(block.arguments, values, strict=True):
        argument.replace_all_uses_with(value)


def move_before(operations: Iterable[ir.Operation], place: ir.Operation) -> None:
    for op in list(operations):
        op.move_before(place)


def copy(operations: Iterable[ir.Operation], mapping: Mapping[ir.Value, ir.Value]) -> dict[ir.Value, ir.Value]:
    """Copies operations to the insertion point, with these values in the places of others. Returns the mapping, results included."""
    mapping = dict(mapping)
    for op in operations:
        new = op.clone()
        substitute(new, mapping)
        for old, result in zip(op.results, new.results):
            mapping[old] = result
    return mapping


def substitute(root: ir.Operation, mapping: Mapping[ir.Value, ir.Value]) -> None:
    """Puts values in the places of others, in an op and all under it."""
    inside: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        inside.append(op.operation)
        return ir.WalkResult.ADVANCE

    root.operation.walk(visit)
    for op in inside:
        for number, operand in enumerate(op.operands):
            if operand in mapping:
                op.operands[number] = mapping[operand]


def localize_constants(root: ir.Operation) -> None:
    """Gives each block constants of its own: simplifications share them with the loops around, which the block is moved out of."""
    for block in find(root, "tir.block"):
        for region in block.regions:
            for inside in region.blocks:
                _localize(inside, block)


def _localize(inside: ir.Block, block: ir.Operation) -> None:
    made: dict[ir.Value, ir.Value] = {}
    nested = [o for op in inside.operations for o in everything(op.operation)]
    for op in nested:
        for number, value in enumerate(op.operands):
            owner = value.owner
            if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant" or block in ancestors(owner.operation):
                continue
            if value not in made:
                with ir.InsertionPoint.at_block_begin(inside):
                    made[value] = owner.operation.clone().results[0]
            op.operands[number] = made[value]


def everything(op: ir.Operation) -> list[ir.Operation]:
    """An op and all under it, inner ones first."""
    found: list[ir.Operation] = []

    def visit(one: ir.Operation) -> ir.WalkResult:
        found.append(one.operation)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def reaches_out(block: BlockOp) -> bool:
    """Whether a block reads something of the loops around it but the values of its axes."""
    for region in block.operation.regions:
        for inside in region.blocks:
            for op in [o for one in inside.operations for o in everything(one.operation)]:
                for value in op.operands:
                    owner = value.owner
                    home = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation.parent.operation
                    if home != block.operation and block.operation not in ancestors(home) and home.name != "func.func":
                        return True
    return False


def buffer_name(buffer: ir.Value) -> str:
    """A buffer as a person knows it: its own name, or that of the kernel's parameter (``arg0`` if it has none)."""
    owner = buffer.owner
    if isinstance(owner, ir.Block):
        return "buffer"
    if owner.name == "bufferization.to_buffer" and isinstance(owner.operands[0].owner, ir.Block):
        number = ir.BlockArgument(owner.operands[0]).arg_number
        kernel = owner.operands[0].owner.owner
        return kernel.attributes["tir.names"][number].value if "tir.names" in kernel.attributes else f"arg{number}"
    return text(owner.operation, "name", "buffer")
