"""The steps of scf loops around reads, and whether indices depend on them."""
from legato.core.mlir import ir
from legato.dialects.tir.loops import constant_of


def step_count(loop: ir.Operation) -> int | None:
    """The number of steps of an ``scf.for``; None if it is not constant."""
    lower, upper, step = (constant_of(bound) for bound in list(loop.operands)[:3])
    return None if lower is None or upper is None or step is None else -(-(upper - lower) // step)


def depends(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether an index is a loop's variable, or what the loop carries, or computed from these."""
    if isinstance(value.owner, ir.Block):
        return value.owner.owner.operation == loop
    return any(depends(operand, loop) for operand in value.owner.operation.operands)
