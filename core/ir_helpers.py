"""Walking IR, and moving, copying and substituting the operations in it."""

from collections.abc import Iterable, Mapping

from legato.core.mlir import ir


def find(root: ir.Operation, *names: str, inner_first: bool = False) -> list[ir.Operation]:
    """The ops of these names under one."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in names:
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    root.operation.walk(visit, ir.WalkOrder.POST_ORDER if inner_first else ir.WalkOrder.PRE_ORDER)
    return found


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


def everything(op: ir.Operation) -> list[ir.Operation]:
    """An op and all under it, inner ones first."""
    found: list[ir.Operation] = []

    def visit(one: ir.Operation) -> ir.WalkResult:
        found.append(one.operation)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


