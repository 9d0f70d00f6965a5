"""``legato-compile --diff STAGE``: what a stage changed, function by function, as a unified diff."""
from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.passes.pipeline.scope import symbol
from legato.tools.console import ADDED, PLACE, REMOVED, styled
from legato.tools.ir_text import IrPrinter

CONTEXT = 3           # lines around a change
ELEMENTS = 16         # of a constant that is printed
NOTHING = "/dev/null"
VALUE = re.compile(r"%[\w$.#:-]+")
STYLES = {"+": ADDED, "-": REMOVED, "@": PLACE}


def stage_diff(before: Module, after: Module, names: tuple[str, str], colour: bool = False) -> str:
    """The differences between two modules as a unified diff, function by function; ``names``: of their stages.

    Lines that differ only in the numbers of SSA values count as equal: an op that is inserted renumbers those after it.
    """
    old, new = _functions(before), _functions(after)
    lines, same = [], []
    for name in dict.fromkeys([*new, *old]):
        found = list(_hunks(old.get(name, []), new.get(name, [])))
        if not found:
            same.append(name)
            continue
        before_name, after_name = (f"{stage} {name}" if name in there else NOTHING for stage, there in zip(names, (old, new)))
        lines += [f"--- {before_name}", f"+++ {after_name}", *found]
    if same:
        lines.append(f"unchanged: {', '.join(same)}")
    return "\n".join(styled(line, STYLES[line[0]]) if colour and line[:1] in STYLES else line for line in lines)


def _functions(module: Module) -> dict[str, list[str]]:
    """The lines of each function, and of each other op of the module, by name."""
    printer, found = IrPrinter(local_scope=True, elements_limit=ELEMENTS), {}
    for number, op in enumerate(module.body.operations):
        name = symbol(op)
        found[f"@{name}" if name else f"{op.operation.name} {number}"] = _lines(printer, op.operation)
    return found


def _lines(printer: IrPrinter, operation: ir.Operation) -> list[str]:
    return printer.text(operation, assume_verified=True).splitlines()


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    """The hunks of a unified diff. Lines that are equal but for the names of values are shown as they are in the new text."""
    keys = [[VALUE.sub("%", line) for line in lines] for lines in (old, new)]
    for group in SequenceMatcher(None, *keys, autojunk=False).get_grouped_opcodes(CONTEXT):
        (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = group[0], group[-1]
        yield f"@@ -{_range(old_start, old_end)} +{_range(new_start, new_end)} @@"
        for kind, i, j, k, m in group:
            if kind == "equal":
                yield from (f" {line}" for line in new[k:m])
                continue
            yield from (f"-{line}" for line in old[i:j])
            yield from (f"+{line}" for line in new[k:m])


def _range(start: int, end: int) -> str:
    """A range of lines as unified diffs write it: first line from 1, and how many."""
    return f"{start + 1 if end > start else start},{end - start}"
