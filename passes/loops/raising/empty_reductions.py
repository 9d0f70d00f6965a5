"""Inits of reductions without steps: a loop over nothing does not run them, and neither does the structured form."""
from functools import reduce
from math import copysign

from legato.analysis.kernel_sizes import KernelSizes, Size
from legato.core.ir_helpers import index, terminator
from legato.core.mlir import arith, ir


def has_steps(extents: list[Size], sizes: KernelSizes) -> ir.Value:
    """Whether no extent is 0, as a value at the insertion point."""
    tests = [arith.CmpIOp(arith.CmpIPredicate.ne, sizes.value(extent), index(0)).result for extent in extents]
    return reduce(lambda a, b: arith.AndIOp(a, b).result, tests)


def limit_init(op: ir.Operation, extents: list[Size], keeps: list[bool], sizes: KernelSizes) -> None:
    """Makes an init that is no fill write only where its reduction has steps: without, a buffer keeps what was written before, or starts
    from zeros as all that is not written."""
    with ir.InsertionPoint(op):
        runs = has_steps(extents, sizes)
    block = op.regions[0].blocks[0]
    end = terminator(block)
    former = list(block.arguments)[-len(keeps):]
    with ir.InsertionPoint(end):
        for number, (value, old, kept) in enumerate(zip(list(end.operands), former, keeps)):
            end.operands[number] = arith.SelectOp(runs, value, old if kept else zero(value.type)).result


def zero(type_: ir.Type) -> ir.Value:
    """The constant 0 of an element type."""
    return arith.ConstantOp(type_, ir.FloatAttr.get(type_, 0.0) if isinstance(type_, ir.FloatType) else ir.IntegerAttr.get(type_, 0)).result


def is_zero(value: ir.Value) -> bool:
    """Whether a scalar is the constant 0 (+0.0, not -0.0)."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return False
    number = owner.opview.value
    return number.value == 0 and not (isinstance(number, ir.FloatAttr) and copysign(1.0, number.value) < 0)
