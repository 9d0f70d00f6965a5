"""Legato: an MLIR-based compiler frontend in Python, from ONNX and Python functions to native code.

    import legato
    module = legato.from_onnx("model.onnx")
    exe = legato.compile(module, target="llvm{threads=2}")
    y = exe(x)
    exe.save("model.legato"); exe = legato.load("model.legato")

Names are imported at first use: ``legato.load`` runs a saved model without loading any compiler.
"""
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from legato.core.errors import LegatoError, Refusal, UnsupportedError
    from legato.dialects.module import Module
    from legato.driver import Report, compile, explain, lower
    from legato.frontends.onnx import from_onnx
    from legato.frontends.script.replace import replace
    from legato.partitioning import partition
    from legato.passes.pipeline.base import ModulePass, PassContext
    from legato.passes.pipeline.registry import register_pass
    from legato.pipelines import Pipeline
    from legato.profiling import profile
    from legato.runtime import Executable, load
    from legato.schedule.attach import attach_schedule
    from legato.schedule.state import ScheduleError
    from legato.schedule.tensor_primitives import register_tensor_intrinsic
    from legato.scheduling import Schedule
    from legato.script import module, relax, tir
    from legato.targets.backend import Backend
    from legato.targets.registry import legalize, legalize_intrinsic, lower_intrinsic, register_target
    from legato.targets.rule import kernel, rewrite
    from legato.targets.target import Target

__version__ = "0.1.0"

_WHERE = {
    "Backend": ".targets.backend",
    "Executable": ".runtime",
    "LegatoError": ".core.errors",
    "Module": ".dialects.module",
    "ModulePass": ".passes.pipeline.base",
    "PassContext": ".passes.pipeline.base",
    "Pipeline": ".pipelines",
    "Report": ".driver",
    "Schedule": ".scheduling",
    "ScheduleError": ".schedule.state",
    "attach_schedule": ".schedule.attach",
    "Target": ".targets.target",
    "UnsupportedError": ".core.errors",
    "Refusal": ".core.errors",
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
    "profile": ".profiling",
    "register_pass": ".passes.pipeline.registry",
    "register_target": ".targets.registry",
    "register_tensor_intrinsic": ".schedule.tensor_primitives",
    "relax": ".script",
    "replace": ".frontends.script.replace",
    "rewrite": ".targets.rule",
    "tir": ".script",
}

__all__ = [
    "Backend", "Executable", "LegatoError", "Module", "ModulePass", "PassContext", "Pipeline", "Refusal", "Report", "Schedule",
    "ScheduleError", "Target", "UnsupportedError", "attach_schedule", "compile", "explain", "from_onnx", "kernel", "legalize",
    "legalize_intrinsic", "load", "lower", "lower_intrinsic", "module", "partition", "profile", "register_pass",
    "register_target", "register_tensor_intrinsic", "relax", "replace", "rewrite", "tir",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'legato' has no attribute '{name}'")
    value = getattr(import_module(f"legato{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE])
