"""Contexts with our dialects."""

import sys
import threading
from collections.abc import Iterable

from legato.core.mlir import PROVIDER, ext, ir
from legato.dialects.relax import Relax
from legato.dialects.tir.dialect import Tir

_lock = threading.Lock()


def load_dialects(context: ir.Context | None = None, dialects: Iterable[type[ext.Dialect]] = ()) -> ir.Context:
    """Loads relax, tir, and dialects of your own, into the context (the current one if None), where they are not loaded yet. Returns it.

    The bindings load a dialect once per context, and two threads loading at once crash: hence this function, with a lock.
    """
    context = ir.Context.current if context is None else context
    with _lock, context:
        for dialect in (Relax, Tir, *dialects):
            if not context.is_dialect_loaded(dialect.DIALECT_NAMESPACE):
                dialect.load()
            # The bindings look for a Python module of the dialect at every op they show, 25 us each time, until they find one.
            sys.modules.setdefault(f"{PROVIDER}.dialects.{dialect.DIALECT_NAMESPACE}", sys.modules[dialect.__module__])
    return context


def make_context(dialects: Iterable[type[ext.Dialect]] = ()) -> ir.Context:
    """A new context with our dialects. Multithreading is off: verifiers written in Python hang or crash under it."""
    context = ir.Context()
    context.enable_multithreading(False)
    return load_dialects(context, dialects)
