"""tir-emit-entry: adds the entry for callers, in tvm-ffi's calling convention.

The module is in the LLVM dialect already. Two things are added and exported: ``__tvm_ffi_create``, a function
``create(owner, weight addresses...)`` that creates an instance of the model, which is a function of the inputs; and ``legato_metadata``, a
text that describes the model. Everything else becomes internal.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from legato.codegen.entry.library import cuda_library, library, pool_library
from legato.codegen.entry.metadata import described_calls, metadata, pool_threads, target_of
from legato.codegen.entry.model import has_frame, is_for_cuda, model_text
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects.tir.markers import MAIN_PROFILED, OUT_OF_BOUNDS, PRIM_FUNC, PROFILED
from legato.passes.memory.signature import Boundary, packed_functions
from legato.passes.pipeline.base import ModulePass, PassContext

if TYPE_CHECKING:
    from legato.dialects.module import Module

BASELINE = ("x86-64", "+sse2")   # the entry itself runs on any CPU, to report that the kernels do not
LONG = 512   # ops in a block; of ResNet-50's main 130

@dataclass(frozen=True)
class EmitEntry(ModulePass):
    """Adds the interface for callers: the tvm-ffi function __tvm_ffi_create and the model's metadata; kernels become internal.

    Runs arith-expand, canonicalize, cse, convert-to-llvm and reconcile-unrealized-casts inside, on a module of the entry's own functions,
    which are the same for all models: they are lowered once in a process, not once a model.
    """

    name: ClassVar[str] = "tir-emit-entry"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            emit_entry(module.module)


def emit_entry(module: ir.Module) -> None:
    """Works on one module. LegatoError unless it has been through ``tir-plan-memory`` and the lowering to the LLVM dialect, and if it
    has an entry already."""
    functions = {op.attributes["sym_name"].value: op for op in module.body.operations if op.operation.name == "llvm.func"}
    main = functions.get("main")
    if main is None or "main_sizes" not in functions:
        raise LegatoError("the entry calls @main and @main_sizes as llvm.func: run tir-plan-memory and the passes of the stage llvm first")
    boundary = Boundary.of(main)
    profiled = functions.get(MAIN_PROFILED)
    calls = None
    if profiled is not None:
        if PROFILED not in profiled.attributes:
            raise LegatoError(f"@{MAIN_PROFILED} does not say which calls it records, in {PROFILED}: run tir-profile-main on the module")
        calls = described_calls(profiled)
        del profiled.attributes[PROFILED]
    threads, is_checked = pool_threads(module), OUT_OF_BOUNDS in functions
    texts = (cuda_library() if is_for_cuda(main) else library(bool(packed_functions(main)), has_frame(main), calls is not None, is_checked),
             model_text(main, boundary, metadata(module, main, boundary), calls, threads, is_checked),
             *([pool_library()] if threads > 1 else []))
    cpu = target_of(main)["cpu"]
    for function in functions.values():
        if _is_defined(function):
            _hide(function)
    parts = [ir.Module.parse(text) for text in texts]
    defined = {_symbol(op) for part in parts for op in part.body.operations if _is_defined(op)}
    _erase_declarations(module, defined)
    there = {_symbol(op) for op in module.body.operations if "sym_name" in op.attributes}
    for op in [op for part in parts for op in part.body.operations]:
        name = _symbol(op)
        if name in there or (name in defined and not _is_defined(op)):
            continue
        there.add(name)
        op.operation.detach_from_parent()
        module.body.append(op)
        if cpu and op.operation.name == "llvm.func" and _is_defined(op):
            _made_for(op, *BASELINE)
    for op in module.body.operations:
        if op.operation.name == "llvm.func":
            _drop_names(op)
            if _symbol(op) == MAIN_PROFILED or (PRIM_FUNC not in op.attributes and _longest_block(op) > LONG):
                _leave_unoptimized(op)


def _erase_declarations(module: ir.Module, names: set[str]) -> None:
    """Erases the declarations of functions that the entry defines. LegatoError for a definition."""
    for op in list(module.body.operations):
        if "sym_name" in op.attributes and _symbol(op) in names:
            if _is_defined(op):
                raise LegatoError(f"the module has @{_symbol(op)} already: tir-emit-entry runs once")
            op.operation.erase()


def _symbol(op: ir.OpView) -> str:
    return op.attributes["sym_name"].value


def _is_defined(op: ir.OpView) -> bool:
    """Whether a function has a body, or a global a value."""
    return len(op.operation.regions[0].blocks) > 0 or "value" in op.attributes


def _hide(function: ir.OpView) -> None:
    """Makes a function internal, without inlining across kernels, which only costs compile time."""
    function.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
    given = list(function.attributes["passthrough"]) if "passthrough" in function.attributes else []
    noinline = ir.StringAttr.get("noinline")
    if noinline not in given:
        function.attributes["passthrough"] = ir.ArrayAttr.get([*given, noinline])


def _drop_names(function: ir.OpView) -> None:
    """Takes the attributes that are ours from arguments and results: the metadata has them. Translation to LLVM IR would warn of each, and
    each warning prints the whole function: 10 s for a main of 1,600 weights and calls."""
    for name in ("arg_attrs", "res_attrs"):
        if name in function.attributes:
            kept = [ir.DictAttr.get({a.name: a.attr for a in given if a.name.startswith("llvm.")}) for given in function.attributes[name]]
            function.attributes[name] = ir.ArrayAttr.get(kept)


def _longest_block(function: ir.OpView) -> int:
    return max((len(block.operations) for block in function.operation.regions[0].blocks), default=0)


def _leave_unoptimized(function: ir.OpView) -> None:
    """Keeps LLVM's optimizer and scheduler, which are quadratic in a block's calls, away from a function that does little but call."""
    given = list(function.attributes["passthrough"]) if "passthrough" in function.attributes else []
    wanted = [ir.StringAttr.get(name) for name in ("noinline", "optnone")]
    function.attributes["passthrough"] = ir.ArrayAttr.get([*given, *(name for name in wanted if name not in given)])


def _made_for(function: ir.OpView, cpu: str, features: str) -> None:
    function.attributes["target_cpu"] = ir.StringAttr.get(cpu)
    function.attributes["target_features"] = ir.Attribute.parse(f'#llvm.target_features<["{features}"]>')
