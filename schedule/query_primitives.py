"""Primitives that find blocks and loops: by name, around and inside of others, by what they read and write."""
from legato.analysis.accesses import buffer_of
from legato.core.ir_helpers import ancestors
from legato.core.mlir import ir
from legato.core.views import root_of
from legato.dialects.tir.loops import BlockOp, ForOp
from legato.dialects.tir.walk import blocks, loops_around
from legato.schedule.state import Kernel, ScheduleError, accesses


def get_block(root: ir.Operation, name: str) -> BlockOp:
    """The block of that name in an op: a kernel, a loop, a block, or a module. ScheduleError where there is none, or several."""
    found = [b for b in blocks(root) if b.name == name]
    if len(found) == 1:
        return found[0]
    there = ", ".join(b.name for b in blocks(root)) or "none"
    what = "is no block" if not found else "are several blocks"
    raise ScheduleError(f"there {what} '{name}' in {named(root)}, whose blocks are: {there}")


def named(op: ir.Operation) -> str:
    """An op as messages call it."""
    if op.name == "builtin.module":
        return "the module"
    view = op.opview
    return f"@{op.attributes['sym_name'].value}" if "sym_name" in op.attributes else (
        f"the loop {view.name}" if isinstance(view, ForOp) else f"block '{view.name}'" if isinstance(view, BlockOp) else op.name)


def get_loops(kernel: Kernel, block: BlockOp) -> list[ForOp]:
    """The loops around a block, outermost first."""
    return loops_around(block.operation)


def get_child_blocks(root: ir.Operation) -> list[BlockOp]:
    """The blocks in a block or loop that are in no other block in it."""
    inside = blocks(root)
    if root.name == "tir.block":
        inside = [b for b in inside if b.operation != root]
    all_ = [b.operation for b in inside]
    return [b for b in inside if not any(a in all_ for a in ancestors(b.operation))]


def get_producers(kernel: Kernel, block: BlockOp) -> list[BlockOp]:
    """The blocks before a block that write buffers it reads."""
    read = touched(block, "memref.load")
    before, _ = others(kernel, block)
    return [b for b in before if any(buffer in read for buffer in touched(b, "memref.store"))]


def get_consumers(kernel: Kernel, block: BlockOp) -> list[BlockOp]:
    """The blocks after a block that read buffers it writes."""
    written = touched(block, "memref.store")
    _, behind = others(kernel, block)
    return [b for b in behind if any(buffer in written for buffer in touched(b, "memref.load"))]


def get_output_blocks(kernel: Kernel, root: ir.Operation) -> list[BlockOp]:
    """The blocks in an op that write outputs of the kernel."""
    return [b for b in blocks(root) if b.operation != root and any(map(kernel.is_output, touched(b, "memref.store")))]


def touched(block: BlockOp, kind: str) -> list[ir.Value]:
    """The buffers of a block's loads or stores, of which these may see views."""
    return [root_of(buffer_of(op)) for op in accesses(block.operation, kind)]


def others(kernel: Kernel, block: BlockOp) -> tuple[list[BlockOp], list[BlockOp]]:
    """The blocks before a block and after it, without those around it and in it."""
    found = blocks(kernel.function.operation)
    number = next(n for n, b in enumerate(found) if b.operation == block.operation)
    around = ancestors(block.operation)
    return ([b for b in found[:number] if b.operation not in around],
            [b for b in found[number + 1:] if block.operation not in ancestors(b.operation)])
