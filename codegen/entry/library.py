"""The entry's functions, which are the same for all models, in the LLVM dialect: units, each of which is compiled once in a process."""
from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from legato.codegen.entry import describe, faults, instance, messages
from legato.codegen.entry.cuda import device, driver, profile, refusals
from legato.codegen.entry.cuda import instance as cuda_instance
from legato.codegen.entry.cuda.frame import cuda_frame_arena, cuda_frame_result, cuda_frame_turn, cuda_open_frame
from legato.codegen.entry.cuda.instance import create_on_device
from legato.codegen.entry.cuda.launch import cuda_copy, cuda_launch, cuda_multiprocessors, cuda_read, cuda_write
from legato.codegen.entry.cuda.profile import cuda_begin, cuda_record
from legato.codegen.entry.cuda.tensor_maps import cuda_tensor_map, cuda_window_map
from legato.codegen.entry.frame import close_frame, frame_arena, frame_check, frame_result, frame_turn, memory_at, open_frame, set_size
from legato.codegen.entry.instance import create
from legato.codegen.entry.packed import call_packed, call_value
from legato.codegen.entry.pool import parallel, release_pool, retain_pool
from legato.codegen.entry.profile import begin, record
from legato.codegen.entry.returned import call_returning
from legato.codegen.native.body import has_symbol, symbol_of
from legato.codegen.native.compiler import compile_functions
from legato.core.ir_helpers import lazy_context
from legato.core.mlir import ir
from legato.core.upstream import run_on

BASELINE = ("x86-64", "+sse2")   # the entry itself runs on any CPU, to report that the kernels do not
RARE = (describe, faults, instance, messages, device, driver, profile, refusals, cuda_instance)     # creating an instance, and messages
HIDDEN = 1      # of llvm.func's visibilities
TO_LLVM = "func.func(arith-expand,canonicalize,cse),convert-to-llvm,reconcile-unrealized-casts"
NativeFunction = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class EntryUnit:
    """Functions that are compiled together. ``roots``: those that a model's code calls; it comes with what they call."""

    roots: tuple[NativeFunction, ...]

    def module(self) -> ir.Module:
        """The functions in the LLVM dialect, in a context of their own. Linked models do not show them, nor take those of others."""
        context = lazy_context()
        context.enable_multithreading(False)
        with context, ir.Location.unknown():
            module = ir.Module.parse(compile_functions(self.roots, RARE))
            run_on(module.operation, TO_LLVM)
            for op in module.body.operations:
                if op.operation.name == "llvm.func" and len(op.operation.regions[0].blocks):
                    if op.attributes["sym_name"].value in self.symbols:
                        op.attributes["visibility_"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), HIDDEN)
                    if platform.machine() in ("x86_64", "AMD64"):
                        made_for(op, *BASELINE)
        return module

    @property
    def symbols(self) -> list[str]:
        """The symbols that other modules call, in the order of the roots."""
        return [symbol_of(root) for root in self.roots]


POOL = EntryUnit((parallel, retain_pool, release_pool))          # for parallel loops
UNITS = (
    EntryUnit((create,)),
    EntryUnit((call_packed, call_value)),                        # passes/calls/packed_stubs.py
    EntryUnit((call_returning, memory_at, set_size, frame_check, frame_arena, frame_turn, frame_result, open_frame, close_frame)),
    EntryUnit((begin, record)),                                  # passes/calls/profile_main.py
    EntryUnit((faults.out_of_bounds, faults.faults)),            # passes/cpu/check_bounds.py
    POOL,                                                   # passes/cpu/outline_parallel.py
    EntryUnit((create_on_device, cuda_launch, cuda_tensor_map, cuda_window_map, cuda_copy, cuda_read,  # passes/gpu/call_driver.py
               cuda_write, cuda_multiprocessors, cuda_open_frame, cuda_frame_arena, cuda_frame_turn, cuda_frame_result, cuda_begin,
               cuda_record)),
)


def made_for(function: ir.OpView, cpu: str, features: str) -> None:
    """Makes LLVM generate a function for a CPU."""
    function.attributes["target_cpu"] = ir.StringAttr.get(cpu)
    function.attributes["target_features"] = ir.Attribute.parse(f'#llvm.target_features<["{features}"]>')


@cache
def unit_of(symbol: str) -> EntryUnit | None:
    """The unit that defines a symbol which is declared in a model's module; None for one of C."""
    return next((unit for unit in UNITS if any(has_symbol(root, symbol) for root in unit.roots)), None)
