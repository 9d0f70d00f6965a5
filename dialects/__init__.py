"""The relax and tir dialects, and modules with their weights.

Names are imported at their first use: loading a saved model needs ``dialects.artifacts`` but no MLIR.
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
