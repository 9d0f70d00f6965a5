"""tir-tile-attention: attention kernels become loops over blocks of queries and keys, whose scores stay in the caches."""
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import AttentionForm
from legato.core.interfaces import AttentionTilesLike
from legato.core.ir_helpers import body, terminator
from legato.core.mlir import bufferization, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.state import SCHEDULED, set_state
from legato.passes.cpu.attention.blocks import AttentionBlocks
from legato.passes.cpu.elements import Buffers
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option


@dataclass(frozen=True)
class TileAttention(ModulePass):
    """Turns kernels that compute an attention into loops over blocks, of sizes that the target chooses, on vectors of one register.

    Kernels that the target chooses no sizes for are left to tir-schedule.
    """

    name: ClassVar[str] = "tir-tile-attention"
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "whose sizes of blocks are used")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                found = context.kernels.of(kernel)
                tiles = target.attention(found)
                if found.attention is not None and tiles is not None:
                    tile(found.attention, tiles)
                    context.kernels.drop(kernel)


def tile(form: AttentionForm, tiles: AttentionTilesLike) -> None:
    """Replaces the structured ops of one kernel by loops."""
    function = form.kernel.function
    block = function.body.blocks[0]
    end = terminator(block)
    with ir.InsertionPoint(end), form.products[1].op.location:
        out = list(function.arguments)[-1]
        blocks = AttentionBlocks(form, tiles, Buffers((tensor for found in form.reads.values() for tensor, _ in found), out))
        blocks.build()
        result = bufferization.ToTensorOp(out.type, blocks.out, restrict=True, writable=True).result
    end.operands[0] = result
    for op in reversed(body(block)):
        if all(next(iter(value.uses), None) is None for value in op.results) and op.name.startswith(("linalg.", "tensor.")):
            op.operation.erase()
    set_state(function, SCHEDULED)

