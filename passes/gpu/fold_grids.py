"""tir-fold-grids: a grid that may be longer on an axis than the device takes is folded."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import body, find, index
from legato.core.mlir import arith, ir, scf
from legato.dialects.module import Module
from legato.dialects.tir.loops import constant_of
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

LONGEST = 2**31 - 1     # an axis that is never too short: sizes are below 2^31
MOST_OTHERS = 65535     # blocks on the axes y and z, where x may be as long
AXES = 3    # of a grid; then come those of a block's threads


@dataclass(frozen=True)
class FoldGrids(ModulePass):
    """Gives launches whose blocks lie on one axis, in a number that is unknown or greater than the target's limit, a second axis: block
    y * size + x does what block x did, and blocks beyond the number do nothing.

    Where only the first axis may be long, as on NVIDIA's GPUs, others whose number of blocks is unknown or above 65,535 become parts of it.
    """

    name: ClassVar[str] = "tir-fold-grids"
    target: TargetText = option("vulkan", "the target whose limit it is")

    def run(self, module: Module, context: PassContext) -> None:
        most = context.gpu(self.target).grid
        with module.context:
            for launch in find(module.operation, "gpu.launch"):
                if most >= LONGEST:
                    fold_others(launch)
                else:
                    fold_grid(launch, most)


def fold_others(launch: ir.Operation) -> None:
    """Makes the axes y and z of one launch, where they may have too many blocks, slower parts of its axis x."""
    sizes = list(launch.operands)[:AXES]
    folded = [axis for axis in range(1, AXES) if (number := constant_of(sizes[axis])) is None or number > MOST_OTHERS]
    if not folded:
        return
    block = launch.regions[0].blocks[0]
    with ir.InsertionPoint(launch), launch.location:
        total = sizes[0]
        for axis in folded:
            total = arith.muli(total, sizes[axis])
            launch.operands[axis] = index(1)
        launch.operands[0] = total
    with ir.InsertionPoint.at_block_begin(block), launch.location:
        parts, rest, made = [0, *folded], block.arguments[0], []
        for axis in parts[:-1]:
            size = arith.maxui(sizes[axis], index(1))     # a grid may be empty
            place, quotient = arith.RemUIOp(rest, size), arith.DivUIOp(rest, size)
            made += [place.operation, quotient.operation]
            replace(block.arguments[axis], place.result, made)
            rest = quotient.result
        replace(block.arguments[parts[-1]], rest, made)
        for axis in parts:
            block.arguments[2 * AXES + axis].replace_all_uses_with(sizes[axis])


def replace(old: ir.Value, new: ir.Value, own: list[ir.Operation]) -> None:
    """Replaces an index of blocks, but in the ops that compute the new ones."""
    for use in list(old.uses):
        if use.owner.operation not in own:
            use.owner.operation.operands[use.operand_number] = new


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
