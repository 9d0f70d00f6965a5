"""Primitives that do not change the computation: annotate, unannotate, add_unit_loop."""
from legato.core.ir_helpers import index, terminator
from legato.core.mlir import ir
from legato.dialects.tir.loops import ForOp, make_for
from legato.schedule.query_primitives import named
from legato.schedule.state import Kernel, ScheduleError

NOTES = "annotations"


def annotate(kernel: Kernel, op: ir.Operation, key: str, value: ir.Attribute) -> None:
    """Adds an annotation for lowering to a loop or a block."""
    op.attributes[NOTES] = ir.DictAttr.get({**notes(op), key: value}, op.context)


def unannotate(kernel: Kernel, op: ir.Operation, key: str) -> None:
    """Removes an annotation. ScheduleError if there is none with this key."""
    found = notes(op)
    if key not in found:
        raise ScheduleError(f"unannotate: {named(op)} has no annotation '{key}'; it has: {', '.join(found) or 'none'}")
    del found[key]
    if found:
        op.attributes[NOTES] = ir.DictAttr.get(found, op.context)
    else:
        del op.attributes[NOTES]


def notes(op: ir.Operation) -> dict[str, ir.Attribute]:
    """The annotations of a loop or a block."""
    return {entry.name: entry.attr for entry in op.attributes[NOTES]} if NOTES in op.attributes else {}


def add_unit_loop(kernel: Kernel, op: ir.Operation) -> ForOp:
    """Encloses a loop or a block in a loop of one iteration, which is returned."""
    with ir.InsertionPoint(op), op.location:
        made = make_for(index(0), index(1), name="u")
    op.move_before(terminator(made.block))
    return made
