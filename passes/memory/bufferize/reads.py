"""Reads of one tensor by many ops of main, in bunches: bufferization compares every pair of a tensor's reads."""
from collections.abc import Callable

from legato.core.ir_helpers import everything
from legato.core.mlir import bufferization, func, ir
from legato.core.views import root_of
from legato.passes.memory.bufferize.functions import donated

WHOLE_VIEWS = frozenset({"tensor.cast", "tensor.expand_shape", "tensor.collapse_shape", "tensor.reshape"})
VIEWS = WHOLE_VIEWS | {"tensor.extract_slice"}
RETURN = "func.return"
READERS = {*VIEWS, "tensor.dim", "tensor.extract", "tensor.concat", "bufferization.alloc_tensor", RETURN}
READS = 32  # of one value, for bufferization to compare with each other

Uses = dict[ir.Value, list[tuple[ir.Operation, int]]]


def separate_reads(function: func.FuncOp) -> None:
    """Gives bunches of reads of an argument, a constant, a call's result or a view of these tensors of their own.

    Nothing writes to these buffers after the call (arguments and constants are not writable), so that the tensors need not be known to
    share them.
    """
    uses = uses_in(function)
    many = [value for value, places in uses.items() if len(places) > READS]
    if not many:
        return
    written = {root_of(value, VIEWS) for value, places in uses.items() for user, number in places if may_write(user, number)}
    for value in many:
        root = root_of(value, VIEWS)
        if root != root_of(value, WHOLE_VIEWS):
            continue  # a part of a buffer, which has no plain layout
        if _is_protected(root, function) or (_is_result(root) and root not in written):
            _separate(function, value, [place for place in uses[value] if place[0].name != RETURN])


def uses_in(function: func.FuncOp) -> Uses:
    """The uses of each tensor, in the order of the ops: that of a value's own list is lost in text."""
    uses: Uses = {}
    for user in everything(function.operation):
        for number, operand in enumerate(user.operands):
            if isinstance(operand.type, ir.RankedTensorType):
                uses.setdefault(operand, []).append((user, number))
    return uses


def may_write(user: ir.Operation, number: int) -> bool:
    """Whether an op may write to the buffer of one of its operands, or make it another value's."""
    if user.name == "func.call":
        return number >= len(user.operands) - len(user.results)  # its outputs
    if user.name == "tensor.insert_slice":
        return number == 1
    if user.name == "bufferization.to_buffer":
        return "read_only" not in user.attributes
    return user.name not in READERS


def _is_protected(root: ir.Value, function: func.FuncOp) -> bool:
    """Whether bufferization copies what would be written to the buffer."""
    if isinstance(root.owner, ir.Block):
        return root.owner == function.body.blocks[0] and root not in donated(function).values()
    return root.owner.name == "arith.constant"


def _is_result(root: ir.Value) -> bool:
    return not isinstance(root.owner, ir.Block) and root.owner.name == "func.call"


def _separate(function: func.FuncOp, value: ir.Value, places: list[tuple[ir.Operation, int]]) -> None:
    """Makes every bunch of uses use a tensor of its own."""
    with _behind(function, value), ir.Location.unknown():
        another = _same_constant(value) or _same_buffer(value)
        for start in range(0, len(places), READS):
            bunch = another().results[0]
            for user, number in places[start:start + READS]:
                user.operands[number] = bunch


def _behind(function: func.FuncOp, value: ir.Value) -> ir.InsertionPoint:
    """After the op that makes the value; for an argument, the begin of the function."""
    if isinstance(value.owner, ir.Block):
        return ir.InsertionPoint.at_block_begin(function.body.blocks[0])
    return ir.InsertionPoint.after(value.owner)


def _same_constant(value: ir.Value) -> Callable[[], ir.Operation] | None:
    if isinstance(value.owner, ir.Block) or value.owner.name != "arith.constant":
        return None
    return value.owner.clone


def _same_buffer(value: ir.Value) -> Callable[[], ir.Operation]:
    """Makes tensors that read a value's buffer."""
    type_ = ir.RankedTensorType(value.type)
    buffer = bufferization.ToBufferOp(ir.MemRefType.get(type_.shape, type_.element_type), value, read_only=True).result
    return lambda: bufferization.ToTensorOp(type_, buffer, restrict=True).operation
