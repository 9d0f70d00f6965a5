"""Contexts with our dialects loaded."""

import threading
from collections.abc import Iterable, Sequence

from legato.core.emitted_once import members_of
from legato.core.errors import LegatoError
from legato.core.ir_helpers import kinds, present
from legato.core.locations import describe
from legato.core.mlir import ext, ir
from legato.dialects.late_loading import load_early, load_python
from legato.dialects.relax import Relax
from legato.dialects.tir.dialect import Tir

USES = 100      # of a context whose IR is dropped: its attributes stay


class _Scratch(threading.local):
    """A thread's context for IR that is dropped, what it knows of dialects in Python, and how often it was given."""

    context: ir.Context | None = None
    members: Sequence[tuple[type[ext.Dialect], int]] = ()
    uses = 0


_scratch = _Scratch()


def load_dialects(context: ir.Context | None = None, dialects: Iterable[type[ext.Dialect]] = (),
                  module: ir.Module | None = None) -> ir.Context:
    """Loads relax, tir and the given dialects into the context (None: the current one) unless they are loaded. Returns the context.

    ``module``: IR in that context, which may have been made without the dialects. LegatoError if it has ops of one that has to be loaded.
    """
    chosen = present(ir.Context.current) if context is None else context
    wanted = (Relax, Tir, *dialects)
    if module is not None:
        _check_unregistered(module, {one.DIALECT_NAMESPACE for one in wanted if not chosen.is_dialect_loaded(one.DIALECT_NAMESPACE)})
    for dialect in wanted:
        load_python(chosen, dialect)
    return chosen


def _check_unregistered(module: ir.Module, names: set[str]) -> None:
    """Upstream frees what ops that are not registered point to when their dialect is loaded: to go on would end the process."""
    found = next((op for op in kinds(module) if op.name.partition(".")[0] in names), None) if names else None
    if found is not None:
        name = found.name.partition(".")[0]
        raise LegatoError(f"{describe(found)} was made before the dialect '{name}' was defined, so that it is an op of no dialect: import "
                          "the Python module that defines the dialect before the IR is made")


def make_context(dialects: Iterable[type[ext.Dialect]] = ()) -> ir.Context:
    """A new context with our dialects and MLIR's. Multithreading is off: verifiers written in Python hang or crash under it."""
    context = ir.Context(load_on_create_dialects=["irdl"])
    context.enable_multithreading(False)
    load_dialects(context)      # before MLIR's: the bindings canonicalize our definitions, by the patterns of all dialects that are loaded
    load_early(context)
    return load_dialects(context, dialects)


def scratch_context() -> ir.Context:
    """The thread's context for IR that is built only to find its errors: to make a context takes longer than to parse most kernels. It is a
    new one where a dialect in Python has been defined, or got an op, a type or an attribute, and after so many uses."""
    members = [(one, members_of(one)) for one in ext.Dialect.__subclasses__()]
    if _scratch.context is None or _scratch.members != members or _scratch.uses >= USES:
        _scratch.context, _scratch.members, _scratch.uses = make_context(), members, 0
    _scratch.uses += 1
    return _scratch.context
