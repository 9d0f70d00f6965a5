"""Primitives that change nothing of what is computed: annotate, unannotate, add_unit_loop."""
from legato.core.ir_helpers import terminator
from legato.core.mlir import ir
from legato.dialects.tir.loops import ForOp, index, make_for
from legato.schedule.query_primitives import named
from legato.schedule.state import Kernel, ScheduleError

NOTES = "annotations"


def annotate(kernel: Kernel, op: ir.Operation, key: str, value: ir.Attribute) -> None:
    """Notes something on a loop or a block for who lowers it."""
    op.attributes[NOTES] = ir.DictAttr.get({**notes(op), key: value}, op.context)


def unannotate(kernel: Kernel, op: ir.Operation, key: str) -> None:
    """Takes a note away."""
    found = notes(op)
    if key not in found:
        raise ScheduleError(f"unannotate: {named(op)} has no annotation '{key}'; it has: {', '.join(found) or 'none'}")
    del found[key]
    if found:
        op.attributes[NOTES] = ir.DictAttr.get(found, op.context)
    else:
        del op.attributes[NOTES]


def notes(op: ir.Operation) -> dict[str, ir.Attribute]:
    """What is noted on a loop or a block."""
    return {entry.name: entry.attr for entry in op.attributes[NOTES]} if NOTES in op.attributes else {}


def add_unit_loop(kernel: Kernel, op: ir.Operation) -> ForOp:
    """A loop of one step around a loop or a block; gives it."""
    with ir.InsertionPoint(op), op.location:
        made = make_for(index(0), index(1), name="u")
    op.move_before(terminator(made.block))
    return made
