"""relax and tir: ops, types, verifiers, shape inference, numpy semantics, builders; modules and their weights.

Names are imported at first use: a saved model is loaded without MLIR, and ``dialects.artifacts`` needs none.
"""
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from legato.dialects.loading import load_dialects, make_context
    from legato.dialects.module import Module

_WHERE = {"Module": "module", "load_dialects": "loading", "make_context": "loading"}

__all__ = ["Module", "load_dialects", "make_context"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"legato.dialects.{_WHERE[name]}"), name)
