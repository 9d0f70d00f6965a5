"""Finds loops, blocks and buffer names in kernels written as loops."""
from legato.core.ir_helpers import ancestors, everything, find
from legato.core.mlir import ir
from legato.dialects.tir.loops import BlockOp, ForOp, text
from legato.dialects.tir.markers import NAMES

# the number of the first index operand of an access, after the stored value and the buffer
FIRST_INDEX = {"memref.load": 1, "memref.store": 2}


def loops(root: ir.Operation) -> list[ForOp]:
    """The loops in an op, outer ones first."""
    return [op.opview for op in find(root, "tir.for")]


def blocks(root: ir.Operation) -> list[BlockOp]:
    """The blocks in an op, in order."""
    return [op.opview for op in find(root, "tir.block")]


def loops_around(op: ir.Operation) -> list[ForOp]:
    """The loops that enclose an op, outermost first."""
    return [a.opview for a in reversed(ancestors(op)) if a.name == "tir.for"]


def localize_constants(root: ir.Operation) -> None:
    """Copies outer constants into each block that uses them, so that the block can be moved out of the loops around it."""
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


def buffer_name(buffer: ir.Value) -> str:
    """The name of a buffer for messages: its own, or that of the kernel's parameter (``arg0`` if it has none)."""
    owner = buffer.owner
    if isinstance(owner, ir.Block):
        return "buffer"
    if owner.name == "bufferization.to_buffer" and isinstance(owner.operands[0].owner, ir.Block):
        number = ir.BlockArgument(owner.operands[0]).arg_number
        kernel = owner.operands[0].owner.owner
        return parameter_name(kernel, number, f"arg{number}")
    return text(owner.operation, "name", "buffer")


def parameter_name(kernel: ir.Operation | ir.OpView, number: int, otherwise: str) -> str:
    """The name of a kernel's parameter; ``otherwise`` if it has none."""
    names = kernel.attributes[NAMES] if NAMES in kernel.attributes else ()
    return names[number].value if number < len(names) else otherwise
