"""Contexts with our dialects loaded."""

import sys
import threading
from collections.abc import Iterable, Sequence

from legato.core.emitted_once import members_of
from legato.core.ir_helpers import present
from legato.core.mlir import PROVIDER, ext, ir
from legato.dialects.late_loading import load_early
from legato.dialects.relax import Relax
from legato.dialects.tir.dialect import Tir

USES = 100      # of a context whose IR is dropped: its attributes stay

_lock = threading.Lock()


class _Scratch(threading.local):
    """A thread's context for IR that is dropped, what it knows of dialects in Python, and how often it was given."""

    context: ir.Context | None = None
    members: Sequence[tuple[type[ext.Dialect], int]] = ()
    uses = 0


_scratch = _Scratch()


def load_dialects(context: ir.Context | None = None, dialects: Iterable[type[ext.Dialect]] = ()) -> ir.Context:
    """Loads relax, tir and the given dialects into the context (None: the current one) unless they are loaded. Returns the context.

    The bindings allow one load per dialect and context, and crash when two threads load at once; this function holds a lock.
    """
    chosen = present(ir.Context.current) if context is None else context
    with _lock, chosen:
        for dialect in (Relax, Tir, *dialects):
            if not chosen.is_dialect_loaded(dialect.DIALECT_NAMESPACE):
                dialect.load()
            # Without a registered module the bindings search for one at every op they wrap, 25 us each time.
            home = sys.modules.get(dialect.__module__, sys.modules[__name__])  # code of exec() has none
            sys.modules.setdefault(f"{PROVIDER}.dialects.{dialect.DIALECT_NAMESPACE}", home)
    return chosen


def python_dialects() -> dict[str, type[ext.Dialect]]:
    """The dialects defined in Python in this process, Legato's and the user's, by name; of several of one name the last one."""
    return {one.DIALECT_NAMESPACE: one for one in ext.Dialect.__subclasses__()}


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
