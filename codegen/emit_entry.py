"""tir-emit-entry: adds the entry for callers, in tvm-ffi's calling convention.

The module is in the LLVM dialect already. Two things are added and exported: ``__tvm_ffi_create``, a function
``create(owner, weight addresses...)`` that creates an instance of the model, which is a function of the inputs; and ``legato_metadata``, a
text that describes the model. Everything else becomes internal. What the entry does is the same for all models, and stays outside
(entry/library.py): the module declares those functions, and passes them ``@legato.model``, the list of its own tables and functions.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from legato.codegen.device_code import BINARY, PTX
from legato.codegen.entry.library import BASELINE, create, create_on_device, made_for
from legato.codegen.entry.links import MODEL, is_defined, list_text, needs_wrapper, wrapper_text
from legato.codegen.entry.metadata import described_calls, metadata, pool_threads, target_of
from legato.codegen.entry.model import is_for_cuda, model_text
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects.tir.markers import CUBIN, MAIN_PROFILED, OUT_OF_BOUNDS, PRIM_FUNC, PROFILED
from legato.passes.memory.signature import Boundary
from legato.passes.pipeline.base import ModulePass, PassContext, option

if TYPE_CHECKING:
    from legato.dialects.module import Module

POOL_SYMBOLS = ("legato.retain_pool", "legato.release_pool")    # which create and the end of an instance call, if there is a pool
LONG = 512   # ops in a block; of ResNet-50's main 130
LARGE = 2048  # ops in all blocks; of the main of a Llama with a cache in each of 32 layers, which are checked one by one, 4236

@dataclass(frozen=True)
class EmitEntry(ModulePass):
    """Adds the interface for callers: the tvm-ffi function __tvm_ffi_create and the model's metadata; kernels become internal."""

    name: ClassVar[str] = "tir-emit-entry"
    flush_denormals: bool = option(False, "a call takes denormal numbers for zeros, in operands and results")

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            emit_entry(module.module, self.flush_denormals)


def emit_entry(module: ir.Module, flushes: bool = False) -> None:
    """Works on one module. ``flushes``: whether calls take denormal numbers for zeros. LegatoError unless it has been through
    ``tir-plan-memory`` and the lowering to the LLVM dialect, and if it has an entry already."""
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
    own = ir.Module.parse(model_text(main, boundary, metadata(module, main, boundary), calls, threads, is_checked, flushes))
    called = [root for name in [*_symbols(module), *_symbols(own), *(POOL_SYMBOLS if threads > 1 else ())]
              if name not in functions or not is_defined(functions[name]) if (root := needs_wrapper(name)) is not None]
    wrappers = [wrapper_text(create_on_device if is_for_cuda(main) else create, linkage=""), *map(wrapper_text, dict.fromkeys(called))]
    calling = ir.Module.parse("\n".join([f"llvm.mlir.global external constant @{MODEL}() : i64", *wrappers]))
    there = {*_symbols(module), *_symbols(own), *_symbols(calling), *([PTX] if is_for_cuda(main) else []),
             *([BINARY] if CUBIN in main.attributes else [])}
    cpu = target_of(main)["cpu"]
    for function in functions.values():
        if is_defined(function):
            _hide(function)
    parts = [own, calling, ir.Module.parse(list_text(there))]
    defined = {_symbol(op) for part in parts for op in part.body.operations if is_defined(op)}
    _erase_declarations(module, defined)
    there = set(_symbols(module))
    for op in [op for part in parts for op in part.body.operations]:
        name = _symbol(op)
        if name in there or (name in defined and not is_defined(op)):
            continue
        there.add(name)
        op.operation.detach_from_parent()
        module.body.append(op)
        if cpu and op.operation.name == "llvm.func" and is_defined(op):
            made_for(op, *BASELINE)
    for op in module.body.operations:
        if op.operation.name == "llvm.func":
            _drop_names(op)
            if _symbol(op) == MAIN_PROFILED or (PRIM_FUNC not in op.attributes and _is_long(op)):
                _leave_unoptimized(op)


def _erase_declarations(module: ir.Module, names: set[str]) -> None:
    """Erases the declarations of functions that the entry defines. LegatoError for a definition."""
    for op in list(module.body.operations):
        if "sym_name" in op.attributes and _symbol(op) in names:
            if is_defined(op):
                raise LegatoError(f"the module has @{_symbol(op)} already: tir-emit-entry runs once")
            op.operation.erase()


def _symbols(module: ir.Module) -> list[str]:
    return [_symbol(op) for op in module.body.operations if "sym_name" in op.attributes]


def _symbol(op: ir.OpView) -> str:
    return op.attributes["sym_name"].value


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


def _is_long(function: ir.OpView) -> bool:
    sizes = [len(block.operations) for block in function.operation.regions[0].blocks]
    return max(sizes, default=0) > LONG or sum(sizes) > LARGE


def _leave_unoptimized(function: ir.OpView) -> None:
    """Keeps LLVM's optimizer and scheduler, which are quadratic in a block's calls, away from a function that does little but call."""
    given = list(function.attributes["passthrough"]) if "passthrough" in function.attributes else []
    wanted = [ir.StringAttr.get(name) for name in ("noinline", "optnone")]
    function.attributes["passthrough"] = ir.ArrayAttr.get([*given, *(name for name in wanted if name not in given)])
