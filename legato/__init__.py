"""Legato: an MLIR-based compiler frontend in Python, from ONNX and Python functions to native code.

    import legato
    module = legato.from_onnx("model.onnx")
    exe = legato.compile(module, target="llvm{threads=2}")
    y = exe(x)
    exe.save("model.so"); exe = legato.load("model.so")

Names are imported at first use: ``legato.load`` runs a saved model without loading any compiler.
"""
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dialects.errors import LegatoError, Refusal, UnsupportedError
    from .dialects.module import Module
    from .driver import Report, compile, explain, lower
    from .frontends.onnx import from_onnx
    from .frontends.script.replace import replace
    from .partitioning import partition
    from .passes.base import ModulePass, PassContext
    from .passes.pipeline import Pipeline
    from .passes.scheduling.attach import attach_schedule
    from .passes.scheduling.state import ScheduleError
    from .passes.scheduling.tensor_primitives import register_tensor_intrinsic
    from .runtime import Executable, load
    from .scheduling import Schedule
    from .script import module, relax, tir
    from .targets.backend import Backend
    from .targets.registry import legalize, legalize_intrinsic, lower_intrinsic, register_target
    from .targets.rule import kernel, rewrite
    from .targets.target import Target

__version__ = "0.1.0"

_WHERE = {
    "Backend": ".targets.backend",
    "Executable": ".runtime",
    "LegatoError": ".dialects.errors",
    "Module": ".dialects.module",
    "ModulePass": ".passes.base",
    "PassContext": ".passes.base",
    "Pipeline": ".passes.pipeline",
    "Report": ".driver",
    "Schedule": ".scheduling",
    "ScheduleError": ".passes.scheduling.state",
    "attach_schedule": ".passes.scheduling.attach",
    "Target": ".targets.target",
    "UnsupportedError": ".dialects.errors",
    "Refusal": ".dialects.errors",
    "compile": ".driver",
    "explain": ".driver",
    "from_onnx": ".frontends.onnx",
    "kernel": ".targets.rule",
    "legalize": ".targets.registry",
    "legalize_intrinsic": ".targets.registry",
    "load": ".runtime",
    "lower": ".driver",
    "module": ".script",
    "partition": ".partitioning",
    "lower_intrinsic": ".targets.registry",
    "register_target": ".targets.registry",
    "register_tensor_intrinsic": ".passes.scheduling.tensor_primitives",
    "relax": ".script",
    "replace": ".frontends.script.replace",
    "rewrite": ".targets.rule",
    "tir": ".script",
}

__all__ = [
    "Backend", "Executable", "LegatoError", "Module", "ModulePass", "PassContext", "Pipeline", "Refusal", "Report", "Schedule",
    "ScheduleError", "Target", "UnsupportedError", "attach_schedule", "compile", "explain", "from_onnx", "kernel", "legalize",
    "legalize_intrinsic", "load", "lower", "lower_intrinsic", "module", "partition", "register_target",
    "register_tensor_intrinsic", "relax", "replace", "rewrite", "tir",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'legato' has no attribute '{name}'")
    value = getattr(import_module(_WHERE[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE])
