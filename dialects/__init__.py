"""relax and tir: ops, types, verifiers, shape inference, numpy semantics, builders; modules and their weights.

Names are imported at first use: ``errors``, ``weights`` and ``safetensors_file`` load no MLIR, so that the runtime may use them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import InferenceError, LegatoError, Refusal, UnsupportedError
    from .loading import load_dialects, make_context
    from .module import Module
    from .weights import WeightStore

_WHERE = {
    "InferenceError": "errors",
    "LegatoError": "errors",
    "Module": "module",
    "Refusal": "errors",
    "UnsupportedError": "errors",
    "WeightStore": "weights",
    "load_dialects": "loading",
    "make_context": "loading",
}

__all__ = ["InferenceError", "LegatoError", "Module", "Refusal", "UnsupportedError", "WeightStore", "load_dialects", "make_context"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f".{_WHERE[name]}", __name__), name)
