"""What passes may do to a kernel's body: ``tir.state`` of a prim_func.

- absent: the body is structured; passes may fuse, collapse, pack and schedule it.
- ``"written"``: it is loops, or anything else, as somebody wrote it. Not fused and not scheduled; loops may be raised to structured ops.
- ``"scheduled"``: its loops are the result of a schedule. They stay.

A kernel that carries a schedule (``tir.schedule = @sequence``) stays as it is until ``tir-apply-schedules`` runs that.
"""
from typing import Literal

from legato.core.mlir import func, ir
from legato.dialects.tir.kernel import prim_funcs
from legato.dialects.tir.markers import SCHEDULE, STATE

State = Literal["written", "scheduled"]
WRITTEN: State = "written"
SCHEDULED: State = "scheduled"


def set_state(kernel: func.FuncOp, state: State | None) -> None:
    """Sets a prim_func's state; None makes it one that passes may rewrite."""
    if state is not None:
        kernel.attributes[STATE] = ir.StringAttr.get(state, kernel.context)
    elif STATE in kernel.attributes:
        del kernel.attributes[STATE]


def state_of(kernel: func.FuncOp) -> str | None:
    """A prim_func's state, None where it has none. A kernel that carries a schedule counts as scheduled."""
    if SCHEDULE in kernel.attributes:
        return SCHEDULED
    return ir.StringAttr(kernel.attributes[STATE]).value if STATE in kernel.attributes else None


def schedulable(module: ir.Module) -> list[func.FuncOp]:
    """The prim_funcs that passes may rewrite and schedule: those without a state."""
    return [kernel for kernel in prim_funcs(module) if state_of(kernel) is None]
