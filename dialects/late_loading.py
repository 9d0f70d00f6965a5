"""MLIR's dialects that contexts load when the first of their ops is parsed or built: all but those that most models need.

A context with all dialects takes 2 ms longer to make, and each of some twenty canonicalizations of a compile collects the patterns of all
ops. MLIR itself loads a dialect where a text or a pass names it. What Python builds is added here: ops by ``ir.Operation.create``, and by
the classes of a dialect, whose import loads it in all contexts.
"""
from __future__ import annotations

import functools
import importlib
import sys
import weakref
from contextlib import suppress
from typing import Any

from legato.core.mlir import PROVIDER, ir

EARLY = ("affine", "arith", "bufferization", "cf", "complex", "func", "gpu", "index", "linalg", "llvm", "math", "memref", "nvgpu", "nvvm",
         "quant", "scf", "tensor", "transform", "ub", "vector")

_contexts: weakref.WeakSet[ir.Context] = weakref.WeakSet()
_named: set[str] = set()     # further dialects whose classes are imported


def load_early(context: ir.Context) -> None:
    """Loads the dialects that most models need, and those whose classes are imported; others when something names them."""
    _contexts.add(context)
    for name in (*EARLY, *sorted(_named.difference(EARLY))):
        _load(context, name)


def _load(context: ir.Context, name: str) -> None:
    if not context.is_dialect_loaded(name):
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
