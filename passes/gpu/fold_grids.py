"""tir-fold-grids: a grid that may be longer than the device takes is folded into two axes."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import body, find, index
from legato.core.mlir import arith, ir, scf
from legato.dialects.module import Module
from legato.dialects.tir.loops import constant_of
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

LONGEST = 2**31 - 1     # an axis that is never too short: sizes are below 2^31
AXES = 3    # of a grid; then come those of a block's threads


@dataclass(frozen=True)
class FoldGrids(ModulePass):
    """Gives launches whose blocks lie on one axis, in a number that is unknown or greater than the target's limit, a second axis: block
    y * size + x does what block x did, and blocks beyond the number do nothing.
    """

    name: ClassVar[str] = "tir-fold-grids"
    target: TargetText = option("vulkan", "the target whose limit it is")

    def run(self, module: Module, context: PassContext) -> None:
        most = context.gpu(self.target).grid
        if most >= LONGEST:
            return
        with module.context:
            for launch in find(module.operation, "gpu.launch"):
                fold_grid(launch, most)


def fold_grid(launch: ir.Operation, most: int) -> None:
    """Folds the grid of one launch, where it may have more than ``most`` blocks on its first axis and has none on the others."""
    blocks, *others = list(launch.operands)[:AXES]
    number = constant_of(blocks)
    if any(constant_of(other) != 1 for other in others) or (number is not None and number <= most):
        return
    block = launch.regions[0].blocks[0]
    inside = body(block)
    with ir.InsertionPoint(launch), launch.location:
        columns = arith.minui(blocks, index(most))
        launch.operands[0] = columns
        launch.operands[1] = arith.ceildivui(blocks, arith.maxui(columns, index(1)))     # a grid may be empty
    with ir.InsertionPoint.at_block_begin(block), launch.location:
        zero, one = index(0), index(1)
        row = arith.MulIOp(block.arguments[1], columns)
        place = arith.AddIOp(row.result, block.arguments[0])
        exists = scf.IfOp(arith.cmpi(arith.CmpIPredicate.ult, place.result, blocks))
    with ir.InsertionPoint(exists.then_block), launch.location:
        end = scf.YieldOp([]).operation
    block.arguments[0].replace_all_uses_except(place.result, place.operation)
    block.arguments[1].replace_all_uses_except(zero, row.operation)
    block.arguments[2 * AXES].replace_all_uses_with(blocks)
    block.arguments[2 * AXES + 1].replace_all_uses_with(one)
    for op in inside:
        op.move_before(end)
