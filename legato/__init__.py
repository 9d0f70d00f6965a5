"""Legato: an MLIR-based compiler frontend in Python, from ONNX and Python functions to native code.

    import legato
    module = legato.from_onnx("model.onnx")
    exe = legato.compile(module, target="llvm{threads=2}")
    y = exe(x)
    exe.save("model.legato"); exe = legato.load("model.legato")

Names and submodules are imported at first use: ``legato.load`` runs a saved model without loading any compiler.
"""
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from legato import artifacts, cache, kernels, mlir, patterns, script
    from legato.bisecting import bisect
    from legato.check_module import check
    from legato.checking.checker import PassChecker
    from legato.checking.errors import CheckFailed
    from legato.core.diagnostics import PassFailed
    from legato.core.errors import LegatoError, Refusal, UnsupportedError
    from legato.dialects.module import Module
    from legato.donating import donate
    from legato.driver import compile, explain, lower
    from legato.frontends.onnx import from_onnx, onnx_op
    from legato.frontends.onnx.report import onnx_report
    from legato.frontends.script.replace import replace
    from legato.frontends.torch import from_torch
    from legato.partitioning import partition
    from legato.passes.pipeline.base import ModulePass, PassContext, option
    from legato.passes.pipeline.registry import register_pass
    from legato.passes.pipeline.text import PipelineError
    from legato.pipelines import Pipeline
    from legato.profiling import profile
    from legato.reduction import reduce
    from legato.report import Report
    from legato.runtime import Executable, load
    from legato.schedule.attach import attach_schedule
    from legato.schedule.state import ScheduleError
    from legato.schedule.tensor_primitives import register_tensor_intrinsic
    from legato.scheduling import Schedule
    from legato.script import ir_module, relax, tir
    from legato.targets.backend import Backend
    from legato.targets.registry import legalize, legalize_intrinsic, lower_intrinsic, register_target
    from legato.targets.rule import kernel, rewrite
    from legato.targets.target import Target
    from legato.torch_module import compile_torch
    from legato.viewing import view

__version__ = "0.1.0"

_WHERE = {
    "Backend": ".targets.backend",
    "CheckFailed": ".checking.errors",
    "PassChecker": ".checking.checker",
    "Executable": ".runtime",
    "LegatoError": ".core.errors",
    "Module": ".dialects.module",
    "ModulePass": ".passes.pipeline.base",
    "PassContext": ".passes.pipeline.base",
    "PassFailed": ".core.diagnostics",
    "Pipeline": ".pipelines",
    "PipelineError": ".passes.pipeline.text",
    "Refusal": ".core.errors",
    "Report": ".report",
    "Schedule": ".scheduling",
    "ScheduleError": ".schedule.state",
    "Target": ".targets.target",
    "UnsupportedError": ".core.errors",
    "attach_schedule": ".schedule.attach",
    "check": ".check_module",
    "bisect": ".bisecting",
    "compile": ".driver",
    "compile_torch": ".torch_module",
    "donate": ".donating",
    "explain": ".driver",
    "from_onnx": ".importing",
    "from_torch": ".frontends.torch",
    "ir_module": ".script",
    "kernel": ".targets.rule",
    "legalize": ".targets.registry",
    "legalize_intrinsic": ".targets.registry",
    "load": ".runtime",
    "lower": ".driver",
    "lower_intrinsic": ".targets.registry",
    "onnx_op": ".frontends.onnx",
    "onnx_report": ".frontends.onnx.report",
    "option": ".passes.pipeline.base",
    "partition": ".partitioning",
    "profile": ".profiling",
    "reduce": ".reduction",
    "register_pass": ".passes.pipeline.registry",
    "register_target": ".targets.registry",
    "register_tensor_intrinsic": ".schedule.tensor_primitives",
    "relax": ".script",
    "replace": ".frontends.script.replace",
    "rewrite": ".targets.rule",
    "tir": ".script",
    "view": ".viewing",
}
_SUBMODULES = ("artifacts", "cache", "kernels", "mlir", "patterns", "script")
_RENAMED = {"module": "ir_module"}   # old names, which work and warn

__all__ = [
    "Backend", "CheckFailed", "Executable", "LegatoError", "Module", "ModulePass", "PassChecker", "PassContext", "PassFailed",
    "Pipeline", "PipelineError", "Refusal", "Report", "Schedule", "ScheduleError", "Target", "UnsupportedError", "artifacts",
    "attach_schedule", "bisect", "cache", "check", "compile", "compile_torch", "donate", "explain", "from_onnx", "from_torch",
    "ir_module", "kernel", "kernels", "legalize", "legalize_intrinsic", "load", "lower", "lower_intrinsic", "mlir", "onnx_op",
    "onnx_report", "option", "partition", "patterns", "profile", "reduce", "register_pass", "register_target",
    "register_tensor_intrinsic", "relax", "replace", "rewrite", "script", "tir", "view",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"legato.{name}")
    if name not in _WHERE:
        from legato.core.deprecated import renamed_names

        return renamed_names("legato", _RENAMED)(name)
    from legato.core.collector import importing

    with importing():
        value = getattr(import_module(f"legato{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
