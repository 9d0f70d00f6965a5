"""Makes a launch of each nest of loops bound to threads."""
from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import body, find
from legato.core.mlir import ir
from legato.dialects.tir.loops import THREAD
from legato.dialects.tir.walk import blocks, localize_constants
from legato.passes.gpu.threads.guards import guard
from legato.passes.gpu.threads.launch import MOST_BLOCKS, Launch, make_launch, take_indices, thread_loops
from legato.passes.gpu.threads.memory import has_effect
from legato.passes.gpu.threads.reductions import lower_reductions
from legato.passes.loops.blocks import inline_block


def make_launches(kernel: ir.Operation, warp: int, most_blocks: int = MOST_BLOCKS) -> list[Launch]:
    """Makes launches of a kernel's loops that are bound to threads; serial loops and buffers are left inside. ``warp``: the
    machine's; ``most_blocks``: on the axes y and z of a grid."""
    for block in find(kernel, "tir.block", inner_first=True):
        if thread_loops(block):
            inline_block(block.opview)
    localize_constants(kernel)
    return [launch(root, warp, most_blocks) for root in roots(kernel.regions[0].blocks[0])]


def launch(root: ir.Operation, warp: int, most_blocks: int) -> Launch:
    """Makes a launch of one nest; serial loops and buffers are left inside."""
    made = make_launch(root, warp, most_blocks)
    guard(made)
    take_indices(made, made.operation)
    lower_reductions(made)
    for block in reversed(blocks(made.operation)):
        inline_block(block)
    return made


def roots(block: ir.Block) -> list[ir.Operation]:
    """The outermost loops bound to threads in a block. Loops around them run on the host and launch in each step.

    PassFailed for surroundings that cannot run on the host.
    """
    found: list[ir.Operation] = []
    for op in body(block):
        if op.name == "tir.for" and op.opview.kind == THREAD:
            found.append(op)
        elif thread_loops(op):
            if op.name not in ("tir.for", "scf.if"):
                raise PassFailed(f"a loop bound to threads stands in {op.name}, which the host cannot run", op)
            for region in op.regions:
                for inner in region.blocks:
                    found += roots(inner)
                    alone(inner)
    return found


def alone(block: ir.Block) -> None:
    """PassFailed for a memory access next to launches in a loop of the host."""
    for op in body(block):
        if not thread_loops(op) and (op.name == "memref.load" or any(has_effect(o) for o in find(op, "memref.store", "func.call"))):
            raise PassFailed(f"{op.name} stands in a loop around loops bound to threads, which runs on the host, and the memory is the "
                             "device's: put it under loops bound to threads too", op)
