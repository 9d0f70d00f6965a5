"""tir-drop-loop-copies: removes copies of what loops of main carry whose sizes change.

One-shot bufferization copies such a tensor once more in each step of an ``scf.while``, between the condition and the body, though the body
owns it; and a step's result that is a buffer of the step need not be copied to be carried.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find, terminator
from legato.core.mlir import ir
from legato.core.views import VIEWS
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.memory.bufferize.functions import on_tensors
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class DropLoopCopies(ModulePass):
    """Lets a loop of main carry a buffer itself where it carries a copy that nothing else reads."""

    name: ClassVar[str] = "tir-drop-loop-copies"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for function in on_tensors(module.module):
                if not function.is_external and not tir.is_prim_func(function):
                    for loop in find(function.operation, "scf.while", inner_first=True):
                        drop_copies(loop.regions[0].blocks[0], are_arguments=True)
                    for loop in find(function.operation, "scf.for", "scf.while", inner_first=True):
                        drop_copies(loop.regions[len(loop.regions) - 1].blocks[0], are_arguments=False)


def drop_copies(block: ir.Block, are_arguments: bool) -> None:
    """Makes the block's terminator carry what it carries a copy of: ``are_arguments``: an argument of the block, else a buffer that the
    block allocates and nothing touches after the copy."""
    last = terminator(block)
    for number, value in enumerate(list(last.operands)):
        copy = _copy_into(value, last)
        if copy is None:
            continue
        source = copy.operands[0]
        is_whole = source.type == value.type and not _is_carried(source, last)
        if is_whole and (_is_argument(source, block) if are_arguments else _is_own(source, block, copy)):
            last.operands[number] = source
            copy.erase()
            value.owner.erase()


def _copy_into(value: ir.Value, last: ir.Operation) -> ir.Operation | None:
    """The copy that fills an allocation of the terminator's block, if nothing but that and the terminator touches it."""
    if isinstance(value.owner, ir.Block) or value.owner.name != "memref.alloc" or value.owner.operation.block != last.block:
        return None
    users = [use.owner.operation for use in value.uses]
    copies = [user for user in users if user.name == "memref.copy" and user.operands[1] == value and user.block == last.block]
    return copies[0] if len(users) == 2 and len(copies) == 1 and last in users else None


def _is_argument(value: ir.Value, block: ir.Block) -> bool:
    return isinstance(value.owner, ir.Block) and value.owner == block


def _is_own(value: ir.Value, block: ir.Block, copy: ir.Operation) -> bool:
    """Whether a value is an allocation of a block which after a copy of it is only copied."""
    if isinstance(value.owner, ir.Block) or value.owner.name != "memref.alloc" or value.owner.operation.block != block:
        return False
    ops = [op.operation for op in block.operations]
    behind = ops[ops.index(copy):]
    return all(op.name == "memref.copy" and op.operands[1] != value for op in _touching(value) if _at(op, block) in behind)


def _touching(value: ir.Value) -> list[ir.Operation]:
    """The ops that use a buffer or a view of it."""
    found: list[ir.Operation] = []
    for use in value.uses:
        op = use.owner.operation
        found += [op, *(_touching(op.results[0]) if op.name in VIEWS else [])]
    return found


def _at(op: ir.Operation, block: ir.Block) -> ir.Operation:
    """The op of a block that is an op or has it in a region."""
    while op.block != block:
        op = op.parent.operation
    return op


def _is_carried(value: ir.Value, last: ir.Operation) -> bool:
    return any(operand == value for operand in last.operands)
