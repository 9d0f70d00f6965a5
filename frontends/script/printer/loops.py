"""Loops of a kernel: tir.for, scf.for, scf.while."""

from legato.core.ir_helpers import ancestors, body
from legato.core.mlir import ir
from legato.dialects.tir.loops import SERIAL, ForOp, constant_of
from legato.frontends.script.printer.notes import notes_of, shown
from legato.frontends.script.printer.text import PrintedText
from legato.frontends.script.printer.words import LOOPS
from legato.frontends.script.printer.writer import KernelWriter


def tir_for(writer: KernelWriter, op: ir.Operation) -> None:
    """``for i, j in T.grid(n, m):``, or one loop of any kind."""
    taken = set(writer.taken)
    nest = grid_of(op)
    bounds = [[writer.index(v) for v in loop.bounds] for loop in nest]
    names = []
    for loop in nest:
        names.append(writer.fresh(loop.name))
        writer.texts[loop.variable] = PrintedText(names[-1], "index")
    last = nest[-1]
    if len(nest) > 1:
        writer.line(f"for {', '.join(names)} in T.grid({', '.join(upper for _, upper in bounds)}):")
    else:
        lower, upper = bounds[0]
        thread = f', thread="{last.thread}"' if last.thread else ""
        found = notes_of(last.operation)
        notes = f", annotations={shown(found)}" if found else ""
        word = LOOPS[last.kind].replace("range", "T.serial") if found else LOOPS[last.kind]
        writer.line(f"for {names[0]} in {word}({'' if lower == '0' else f'{lower}, '}{upper}{thread}{notes}):")
    writer.block(last.block)
    writer.taken = taken


def grid_of(op: ir.Operation) -> list[ForOp]:
    """The perfectly nested serial loops, from an op on, that T.grid can write: from 0, with bounds defined before all of them."""
    found = [op.opview]
    while is_plain(found[-1]):
        inside = [o for o in body(found[-1].block) if o.name != "arith.constant"]
        if len(inside) != 1 or inside[0].name != "tir.for" or not is_plain(inside[0].opview):
            break
        upper = inside[0].opview.bounds[1]
        if constant_of(upper) is None and op in around(upper):
            break
        found.append(inside[0].opview)
    return found


def is_plain(loop: ForOp) -> bool:
    """Whether a loop is serial, from 0, and without annotations."""
    return loop.kind == SERIAL and constant_of(loop.bounds[0]) == 0 and not notes_of(loop.operation)


def around(value: ir.Value) -> list[ir.Operation]:
    """The ops around the definition of a value, innermost first."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return [owner.owner.operation, *ancestors(owner.owner.operation)]
    return ancestors(owner.operation)


def scf_for(writer: KernelWriter, op: ir.Operation) -> None:
    """``for i in range(begin, end, step):``."""
    if op.results:
        raise writer.refuse("it has a loop that carries values")
    lower, upper, step = (writer.index(v) for v in list(op.operands)[:3])
    inside = op.regions[0].blocks[0]
    taken = set(writer.taken)
    name = writer.fresh("i")
    writer.texts[inside.arguments[0]] = PrintedText(name, "index")
    bounds = upper if (lower, step) == ("0", "1") else f"{lower}, {upper}" if step == "1" else f"{lower}, {upper}, {step}"
    writer.line(f"for {name} in range({bounds}):")
    writer.block(inside)
    writer.taken = taken


def scf_while(writer: KernelWriter, op: ir.Operation) -> None:
    """``while test:``, where the test is a single expression."""
    before, after = (region.blocks[0] for region in op.regions)
    if op.results or len(op.operands):
        raise writer.refuse("it has a while loop that carries values")
    count = len(writer.lines)
    writer.statements(body(before))
    text = writer.read(before.operations[len(before.operations) - 1].operation.operands[0])
    if len(writer.lines) != count:
        raise writer.refuse("the condition of a while loop is no expression")
    writer.line(f"while {text.source}:")
    writer.block(after)


OPS = {"tir.for": tir_for, "scf.for": scf_for, "scf.while": scf_while}
