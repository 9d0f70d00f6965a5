"""The entry's functions that all models share, in the LLVM dialect."""
import io
from functools import cache

from legato.codegen.entry import describe, faults, instance, messages
from legato.codegen.entry.cuda import device, driver, refusals
from legato.codegen.entry.cuda import instance as cuda_instance
from legato.codegen.entry.cuda.instance import create_on_device
from legato.codegen.entry.cuda.launch import cuda_copy, cuda_launch, cuda_read, cuda_write
from legato.codegen.entry.frame import close_frame, frame_arena, frame_check, frame_result, memory_at, open_frame, set_size
from legato.codegen.entry.instance import create
from legato.codegen.entry.packed import call_packed, call_value
from legato.codegen.entry.pool import parallel, release_pool, retain_pool
from legato.codegen.entry.profile import clock, record
from legato.codegen.entry.returned import call_returning
from legato.codegen.native.compiler import compile_functions
from legato.core.mlir import ir
from legato.core.upstream import run_on

RARE = (describe, faults, instance, messages, device, driver, refusals, cuda_instance)     # creating an instance, and messages
CALLED_BY_MAIN = (call_packed, call_value)      # if it calls packed functions: passes/calls/packed_stubs.py
CALLED_WITH_FRAME = (call_returning, memory_at, set_size, frame_check, frame_arena, frame_result, memory_at, open_frame, close_frame)
CALLED_ON_DEVICE = (cuda_launch, cuda_copy, cuda_read, cuda_write)      # passes/gpu/call_driver.py
CALLED_WHEN_PROFILED = (clock, record)
CALLED_WHEN_CHECKED = (faults.out_of_bounds, faults.faults)      # passes/cpu/check_bounds.py
TO_LLVM = "func.func(arith-expand,canonicalize,cse),convert-to-llvm,reconcile-unrealized-casts"


@cache
def pool_library() -> bytes:
    """The functions of the pool of threads, likewise, for a model with parallel loops."""
    return _lowered(compile_functions([parallel, retain_pool, release_pool]))


@cache
def library(calls_packed: bool, has_frame: bool, is_profiled: bool, is_checked: bool = False) -> bytes:
    """The module as bytecode, compiled and lowered once per process. The tables of the model, @legato.main and @main_sizes are only
    declared."""
    roots = [create, *(CALLED_BY_MAIN if calls_packed or has_frame else ()), *(CALLED_WITH_FRAME if has_frame else ()),
             *(CALLED_WHEN_PROFILED if is_profiled else ()), *(CALLED_WHEN_CHECKED if is_checked else ())]
    return _lowered(compile_functions(roots, RARE))


@cache
def cuda_library() -> bytes:
    """The functions of models for NVIDIA's GPUs, likewise."""
    return _lowered(compile_functions([create_on_device, *CALLED_ON_DEVICE], RARE))


def _lowered(text: str) -> bytes:
    module = ir.Module.parse(text)
    run_on(module.operation, TO_LLVM)
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    return written.getvalue()
