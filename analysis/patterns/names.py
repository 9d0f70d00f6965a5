"""The names of ops in patterns: one that no graph can have is misspelled."""
from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from legato.core.errors import LegatoError
from legato.core.mlir import ext
from legato.dialects.relax import semantics

if TYPE_CHECKING:
    from legato.analysis.patterns.language import Pattern


def ops_of(dialect: str) -> set[str]:
    """The ops of a dialect defined in Python in this process: relax, or a user's. Empty for any other."""
    names = [*semantics, *(getattr(op, "OPERATION_NAME", "") for one in ext.Dialect.__subclasses__() for op in one.operations)]
    return {name for name in names if name.startswith(f"{dialect}.")}


def check_op(name: str, whose: str) -> None:
    """LegatoError, with similar names, if the op's dialect is defined in Python and lacks it."""
    known = ops_of(name.partition(".")[0])
    if not known or name in known:
        return
    near = difflib.get_close_matches(name, known, 3) or difflib.get_close_matches(f"{name.split('.')[0]}.{name.split('.')[-1]}", known, 3)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise LegatoError(f"{whose}: there is no op '{name}'{hint}")


def check_count(names: Sequence[str], count: int) -> None:
    """LegatoError if none of the ops can have that number of operands."""
    declared = {op.OPERATION_NAME: [operand.name for operand in op.OPERANDS] for one in ext.Dialect.__subclasses__()
                for op in one.operations if getattr(op, "OPERATION_NAME", None) in names and hasattr(op, "ATTRIBUTES")}
    if all(name in declared and len(declared[name]) != count for name in names):
        known = "; ".join(f"{name} has {len(declared[name])}: {', '.join(declared[name])}" for name in names)
        raise LegatoError(f"a pattern with {count} operand{'' if count == 1 else 's'} matches nothing: {known}")


def check_attributes(names: Sequence[str], wanted: Iterable[str]) -> None:
    """LegatoError, with what there is, for an attribute that none of the ops has."""
    declared = [op.ATTRIBUTES for one in ext.Dialect.__subclasses__() for op in one.operations
                if getattr(op, "OPERATION_NAME", None) in names and hasattr(op, "ATTRIBUTES")]
    if len(declared) < len(set(names)) or not declared:
        return   # an op of another dialect, or no op
    known = list(dict.fromkeys(name for attributes in declared for name in attributes))
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, 3)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else f" (it has: {', '.join(known) or 'none'})"
            raise LegatoError(f"has_attr: {' or '.join(names)} has no attribute '{name}'{hint}")


def check_ops(parts: Iterable[Pattern], whose: str) -> None:
    """``check_op`` for all ops of the parts of a pattern."""
    for name in sorted({name for part in parts for name in part.ops()}):
        check_op(name, whose)
