"""Results of main in the memory of arguments."""
from legato.core.ir_helpers import everything
from legato.core.mlir import bufferization, ir
from legato.passes.memory.bufferize.reads import VIEWS, WHOLE_VIEWS


def is_whole(value: ir.Value, argument: ir.BlockArgument) -> bool:
    """Whether a value is an argument, or a view of it that has its type again."""
    root = value
    while not isinstance(root.owner, ir.Block) and root.owner.name in WHOLE_VIEWS:
        root = root.owner.operands[0]
    return root == argument and value.type == argument.type


def in_memory_of(argument: ir.BlockArgument, value: ir.Value, last: ir.Operation) -> ir.Value:
    """The returned value, tied to the argument's memory. Where nothing reads the argument once the value is computed, it is computed there;
    else bufferization decides, and copies what it cannot prove."""
    if value == argument:
        return argument
    compute_in(argument, value)
    with ir.InsertionPoint(last), last.location:
        return bufferization.MaterializeInDestinationOp(argument.type, value, argument).result


def compute_in(argument: ir.BlockArgument, value: ir.Value, store: ir.Operation | None = None) -> None:
    """Gives a call that makes the value the argument as its output, if that was empty and all readers of the argument come before, but for
    a ``store`` of the value."""
    if isinstance(value.owner, ir.Block) or value.owner.name != "func.call":
        return
    call = value.owner.operation
    block = argument.owner
    place = len(call.operands) - len(call.results) + ir.OpResult(value).result_number
    output = call.operands[place]
    if call.block != block or isinstance(output.owner, ir.Block) or output.owner.name != "tensor.empty" or output.type != argument.type:
        return
    order = {op.operation: number for number, op in enumerate(block.operations)}
    readers = (_in_block(reader, block) for reader in _readers(argument, block) if store is None or reader != store)
    if all(order[reader] < order[call] for reader in readers):
        call.operands[place] = argument


def _readers(argument: ir.BlockArgument, block: ir.Block) -> list[ir.Operation]:
    """The ops that read the argument or a view of it."""
    aliases, found = {argument}, []
    for op in everything(block.owner.operation):
        if any(operand in aliases for operand in op.operands):
            found.append(op)
            if op.name in VIEWS:
                aliases.update(op.results)
    return found


def _in_block(op: ir.Operation, block: ir.Block) -> ir.Operation:
    """The op of the block that is, or holds, an op."""
    while op.block != block:
        op = op.parent.operation
    return op.operation
