"""Schedules as transform scripts: parsing, setting knobs, running them on a kernel."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from legato.core.diagnostics import Diagnostic, PassFailed, Position, position_of
from legato.core.errors import LegatoError
from legato.core.ir_helpers import everything, find, walk
from legato.core.mlir import func, ir
from legato.dialects.tir.schedule_ops import EXPECT, PREFIX
from legato.schedule.interpret import INTERPRETER, run_interpreter
from legato.schedule.state import ScheduleError, fresh

SEQUENCE, KNOB, MATCH, INCLUDE = "transform.named_sequence", "transform.tune.knob", "transform.structured.match", "transform.include"
ENTRIES = ("__transform_main", "schedule")  # names of the entry if there are several sequences
WITH_SEQUENCES = "transform.with_named_sequence"
TAG, TAGGED = "transform.target_tag", "legato.scheduled"
HARMLESS = ("builtin.module", SEQUENCE, INCLUDE, KNOB, "transform.yield", "transform.param.constant")  # ops that do not change kernels
STEP = "in the step: "
MAY_BE_EMPTY = ("transform.foreach", "transform.merge_handles", "transform.num_associations")  # the consumers whose handle may be empty


def parse(source: str | Path, context: ir.Context) -> ir.Module:
    """Parses a script's module from text or a file. LegatoError if it is invalid."""
    if not isinstance(source, str | Path):
        raise LegatoError(f"a schedule is the text of a script, or the path of its file as a pathlib.Path, not {type(source).__name__}")
    with context, ir.Location.unknown():
        try:
            return ir.Module.parseFile(str(source)) if isinstance(source, Path) else ir.Module.parse(source)
        except ir.MLIRError as error:
            raise LegatoError(f"this is no schedule: {error}") from error


def sequences(module: ir.Module) -> dict[str, ir.Operation]:
    """The named sequences of a module."""
    return {op.operation.attributes["sym_name"].value: op.operation for op in module.body.operations if op.operation.name == SEQUENCE}


def entry(module: ir.Module) -> ir.Operation:
    """The sequence that a script runs: the only one, the one with a name in ENTRIES, or the one that no other includes."""
    found = sequences(module)
    named = [found[name] for name in ENTRIES if name in found]
    included = {name for sequence in found.values() for name in included_by(sequence)}
    outer = [sequence for name, sequence in found.items() if name not in included]
    if named or len(outer) == 1:
        return (named or outer)[0]
    names = ", ".join(f"@{n}" for n in found) or "none"
    raise LegatoError(f"a schedule is a {SEQUENCE}; of several the one called @{ENTRIES[0]} is run; this text has: {names}")


def included_by(sequence: ir.Operation) -> list[str]:
    """The sequences that a sequence refers to, in any of upstream's ops."""
    found: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        for name in op.attributes:
            attribute = op.attributes[name]
            for one in attribute if isinstance(attribute, ir.ArrayAttr) else [attribute]:
                if isinstance(one, ir.FlatSymbolRefAttr):
                    found.append(one.value)
        return ir.WalkResult.ADVANCE

    walk(sequence, visit)
    return found


def reached(name: str, all_: Mapping[str, ir.Operation]) -> list[str]:
    """A sequence and those that it includes, transitively."""
    found, todo = [], [name]
    while todo:
        one = todo.pop()
        if one in all_ and one not in found:
            found.append(one)
            todo += included_by(all_[one])
    return found


def is_on_loops(roots: list[ir.Operation]) -> bool:
    """Whether sequences work on loops and blocks: by our steps, or by upstream's ops with names of tir's ops."""
    return any(op.name.startswith(PREFIX) or names_loops(op) for root in roots for op in everything(root))


def names_loops(op: ir.Operation) -> bool:
    """Whether an op of a script has, as an attribute, the name of an op of tir's, or a list of such names."""
    lists = [list(one) if isinstance(one, ir.ArrayAttr) else [one] for one in (op.attributes[name] for name in op.attributes)]
    return any(isinstance(one, ir.StringAttr) and one.value.startswith("tir.") for given in lists for one in given)


def only_steps(module: ir.Module) -> bool:
    """Whether a script consists of our steps only."""
    return all(op.name.startswith(PREFIX) or op.name in HARMLESS for op in everything(module.operation))


def set_knobs(module: ir.Module, values: Mapping[str, Any]) -> None:
    """Sets the knobs of a script (``transform.tune.knob``). LegatoError for an unknown one, or a value that is not an option."""
    knobs = find(module.operation, KNOB)
    names = [knob.attributes["name"].value for knob in knobs]
    for name in values:
        if name not in names:
            raise LegatoError(f"the schedule has no parameter '{name}'; it has: {', '.join(names) or 'none'}")
    for knob, name in zip(knobs, names):
        if name in values:
            options = list(knob.attributes["options"])
            chosen = [o for o in options if getattr(o, "value", None) == values[name]]
            if not chosen:
                there = ", ".join(str(getattr(o, "value", o)) for o in options)
                raise LegatoError(f"the parameter '{name}' is one of {there}, not {values[name]}")
            knob.attributes["selected"] = chosen[0]
        elif "selected" not in knob.attributes:
            raise LegatoError(f"the parameter '{name}' has no value: give it one")


def expect_matches(sequence: ir.Operation) -> None:
    """Inserts a check after each match of upstream's, which does not fail if it finds nothing."""
    for match in find(sequence, MATCH):
        if all(u.owner.name in MAY_BE_EMPTY for u in match.results[0].uses) and list(match.results[0].uses):
            continue
        check = ir.Operation.create(EXPECT, operands=[match.results[0]], loc=match.location, ip=False)
        ir.InsertionPoint.after(match).insert(check)


def run_sequence(module: ir.Module, name: str, kernel: func.FuncOp) -> func.FuncOp:
    """Runs a sequence of a module on one of its kernels, by upstream's interpreter. Returns the kernel, which may be another op.

    ScheduleError, with the failed step and its position, if one failed.
    """
    symbol = kernel.name.value
    kernel.attributes[TAG] = ir.StringAttr.get(TAGGED, module.context)
    try:
        run_interpreter(module.operation, f"{INTERPRETER}{{entry-point={name} debug-payload-root-tag={TAGGED}}}")
    except PassFailed as error:
        steps = step_lines(list(sequences(module).values()))
        lines = [told(one, steps) for one in error.diagnostics]
        raise ScheduleError("\n".join([*lines, f"  in the schedule @{name} of @{symbol}"])) from None
    finally:
        for function in [op for op in module.body.operations if isinstance(op, func.FuncOp)]:
            if TAG in function.attributes:
                del function.attributes[TAG]
    return next(op for op in module.body.operations if isinstance(op, func.FuncOp) and op.name.value == symbol)


def run_apart(module: ir.Module, script: ir.Module, entry: ir.Operation, kernel: func.FuncOp) -> func.FuncOp:
    """Like ``run_sequence``, for a script that is added to the module only for the run. The script's names may change."""
    all_ = sequences(script)
    names = reached(entry.attributes["sym_name"].value, all_)
    rename_taken(script, {name: all_[name] for name in names}, symbols(module))
    marked = WITH_SEQUENCES in module.operation.attributes
    module.operation.attributes[WITH_SEQUENCES] = ir.UnitAttr.get(module.context)
    copies = [all_[name].clone(ip=False) for name in names]
    try:
        for one in copies:
            module.body.append(one)
            expect_matches(one)
        return run_sequence(module, entry.attributes["sym_name"].value, kernel)
    finally:
        for one in copies:
            one.erase()
        if not marked:
            del module.operation.attributes[WITH_SEQUENCES]


def symbols(module: ir.Module) -> set[str]:
    """The symbols defined in a module."""
    return {op.operation.attributes["sym_name"].value for op in module.body.operations if "sym_name" in op.operation.attributes}


def rename_taken(module: ir.Module, some: Mapping[str, ir.Operation], taken: set[str]) -> None:
    """Renames sequences of a script whose names are taken elsewhere."""
    for name, sequence in some.items():
        if name in taken:
            rename(module, sequence, fresh(name, {*taken, *sequences(module)}))


def rename(module: ir.Module, sequence: ir.Operation, name: str) -> None:
    """Renames a sequence and its uses."""
    ir.SymbolTable.replace_all_symbol_uses(sequence.attributes["sym_name"].value, name, module.operation)
    ir.SymbolTable.set_symbol_name(sequence, name)


def told(diagnostic: Diagnostic, steps: Mapping[str, str]) -> str:
    """A diagnostic as lines of an error: the message, the step, and the notes, with their lines in the script."""
    notes = list(diagnostic.notes)
    if not any(note.message.startswith(STEP) for note in notes) and str(diagnostic.position) in steps:
        notes.insert(0, Diagnostic("note", STEP + steps[str(diagnostic.position)]))
    lines = [f"  {note.message}{line_of(note.position)}" for note in notes]
    if lines and lines[0].startswith(f"  {STEP}"):
        lines[0] += line_of(diagnostic.position)
    return "\n".join([diagnostic.message, *lines])


def line_of(position: Position | None) -> str:
    """A position as the end of a line of an error; empty for None."""
    if position is None:
        return ""
    return f" ({position})" if position.file != "-" else f" (line {position.line})"


def step_lines(roots: list[ir.Operation]) -> dict[str, str]:
    """The first line of each op of the sequences, by position."""
    return {str(position_of(op.location)): str(op).strip().splitlines()[0] for root in roots for op in everything(root)}
