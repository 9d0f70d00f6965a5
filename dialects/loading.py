"""Contexts with our dialects loaded."""

import sys
import threading
from collections.abc import Iterable

from legato.core.ir_helpers import present
from legato.core.mlir import PROVIDER, ext, ir
from legato.dialects.relax import Relax
from legato.dialects.tir.dialect import Tir

_lock = threading.Lock()


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
    """A new context with our dialects. Multithreading is off: verifiers written in Python hang or crash under it."""
    context = ir.Context()
    context.enable_multithreading(False)
    return load_dialects(context, dialects)
