"""MLIR's dialects that contexts load when the first of their ops is parsed or built: all but those that most models need.

A context with all dialects takes 2 ms longer to make, and each of some twenty canonicalizations of a compile collects the patterns of all
ops. MLIR itself loads a dialect where a text or a pass names it. What Python builds is added here: ops by ``ir.Operation.create``, and by
the classes of a dialect, whose import loads it in all contexts.

So are the dialects that users define in Python, where a text that is parsed mentions one, or ``ir.Operation.create`` makes an op of it. An
op made before its dialect is loaded is not registered, and upstream frees what it points to when the dialect is loaded.
"""
from __future__ import annotations

import functools
import importlib
import re
import sys
import threading
import weakref
from contextlib import suppress
from typing import Any

from legato.core.mlir import PROVIDER, ext, ir

EARLY = ("affine", "arith", "bufferization", "cf", "complex", "func", "gpu", "index", "linalg", "llvm", "math", "memref", "nvgpu", "nvvm",
         "quant", "scf", "tensor", "transform", "ub", "vector")

_contexts: weakref.WeakSet[ir.Context] = weakref.WeakSet()
_named: set[str] = set()     # further dialects whose classes are imported
_lock = threading.RLock()


def python_dialects() -> dict[str, type[ext.Dialect]]:
    """The dialects defined in Python in this process, Legato's and the user's, by name; of several of one name the last one."""
    return {one.DIALECT_NAMESPACE: one for one in ext.Dialect.__subclasses__()}


def load_python(context: ir.Context, dialect: type[ext.Dialect]) -> None:
    """Loads a dialect defined in Python into the context, unless it is loaded. The bindings allow one load per dialect and context, and
    crash when two threads load at once."""
    with _lock, context:
        if not context.is_dialect_loaded(dialect.DIALECT_NAMESPACE):
            dialect.load()
        # Without a registered module the bindings search for one at every op they wrap, 25 us each time.
        home = sys.modules.get(dialect.__module__, sys.modules[__name__])  # code of exec() has none
        sys.modules.setdefault(f"{PROVIDER}.dialects.{dialect.DIALECT_NAMESPACE}", home)


def load_mentioned(context: ir.Context, text: str | bytes) -> None:
    """Loads those of the dialects defined in Python whose names a text, or bytecode, contains."""
    for name, dialect in python_dialects().items():
        if not context.is_dialect_loaded(name):
            found = name in text if isinstance(text, str) else name.encode() in text
            if found and (isinstance(text, bytes) or re.search(rf"(?<![\w.$]){re.escape(name)}\.", text)):
                load_python(context, dialect)


def load_early(context: ir.Context) -> None:
    """Loads the dialects that most models need, and those whose classes are imported; others when something names them."""
    _contexts.add(context)
    for name in (*EARLY, *sorted(_named.difference(EARLY))):
        _load(context, name)


def _load(context: ir.Context, name: str) -> None:
    if context.is_dialect_loaded(name):
        return
    if (defined := python_dialects().get(name)) is not None:
        return load_python(context, defined)
    with suppress(ValueError):      # MLIR has no such dialect
        context.get_dialect_descriptor(name)


def _create(create: Any, name: str, *arguments: Any, **options: Any) -> ir.Operation:
    """``ir.Operation.create``, which would make an op that is not registered in a dialect that is not loaded."""
    dialect = name.partition(".")[0]
    if dialect not in EARLY and (context := ir.Context.current or getattr(options.get("loc"), "context", None)) in _contexts:
        _load(context, dialect)
    return create(name, *arguments, **options)


def _register(register: Any, dialect: type[ir.Dialect]) -> type[ir.Dialect]:
    """What modules of the bindings call for the class of their dialect, before the classes of its ops."""
    name = dialect.DIALECT_NAMESPACE
    if name not in EARLY:
        _named.add(name)
        for context in list(_contexts):
            _load(context, name)
    return register(dialect)


def _install() -> None:
    bindings = importlib.import_module(f"{PROVIDER}._mlir_libs._mlir")
    for name, module in list(sys.modules.items()):      # what was imported before
        if name.startswith(f"{PROVIDER}.dialects.") and name.endswith("_ops_gen") and hasattr(module, "_Dialect"):
            _named.add(module._Dialect.DIALECT_NAMESPACE)
    bindings.register_dialect = functools.partial(_register, bindings.register_dialect)
    ir.Operation.create = staticmethod(functools.partial(_create, ir.Operation.create))


_install()
