"""Inlining of ``tir.block``: its axes are replaced by their values."""
from legato.core.ir_helpers import body, index, move_before, replace_uses
from legato.core.mlir import arith, ir, scf
from legato.dialects.tir.loops import REDUCE, BlockOp, constant_of


def inline_block(block: BlockOp) -> None:
    """Replaces a block by its statements; its init goes under the condition that all reduce axes are 0."""
    operation = block.operation
    values = list(operation.operands)
    if block.init_block is not None:
        with ir.InsertionPoint(operation), operation.location:
            conditions = [arith.CmpIOp(arith.CmpIPredicate.eq, v, index(0)).result
                          for v, kind in zip(values, block.kinds) if kind == REDUCE and constant_of(v) != 0]
            replace_uses(block.init_block, values)
            place = operation
            if conditions:
                together = conditions[0]
                for condition in conditions[1:]:
                    together = arith.AndIOp(together, condition).result
                test = scf.IfOp(together)
                with ir.InsertionPoint(test.then_block):
                    place = scf.YieldOp([]).operation
        move_before(body(block.init_block), place)
    replace_uses(block.block, values)
    move_before(body(block.block), operation)
    operation.erase()
