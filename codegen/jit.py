"""JIT compilation: from a module in the LLVM dialect to an executable in this process."""
import ctypes
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import tvm_ffi
import tvm_ffi.libinfo

from legato.codegen.device_code import embed_kernels
from legato.codegen.machine_code import MachineCode
from legato.codegen.units import units_of
from legato.core import cpu
from legato.core.errors import LegatoError
from legato.core.ir_helpers import walk
from legato.core.mlir import ir
from legato.runtime import cached_model, package, packed, threads
from legato.runtime.executable import Executable
from legato.runtime.first_instance import first_instance_here_or_elsewhere
from legato.runtime.library import HOW_TO_PROVIDE
from legato.runtime.packed import Artifacts
from legato.runtime.recorder import Recorder
from legato.runtime.signature import Parameter, Signature

CREATE = "__tvm_ffi_create"


def jit(module: ir.Module, weights: Mapping[str, np.ndarray], opt_level: int = 2, artifacts: Artifacts = (),
        made: cached_model.CachedModel | None = None) -> Executable:
    """Compiles the output of ``tir-emit-entry`` for the CPU that its functions name.

    weights: key to array, for each weight of the metadata; they are not copied (unless not contiguous), and live as long as the
    executable. opt_level: LLVM's, 0 to 3. artifacts: of backends, for parts of the model. made: machine code that was made of this module
    before. LegatoError for a module without an entry, an
    unknown CPU, a missing weight, a call of a function that no library has, a missing packed function, or a missing OpenMP runtime. Code
    for a CPU or a device that this machine lacks can be saved, but calls of it raise an error. Kernels for a GPU become PTX: see
    ``ptx.ptx``.
    """
    signature = Signature.parse(_metadata(module))
    if signature.cpu:
        cpu.features_of(signature.cpu)   # LLVM would end the process for an unknown name
    lacking = cpu.missing_features(signature.cpu, signature.features)
    arrays = [_array(weights, weight) for weight in signature.weights]
    functions = packed.resolve(signature.packed, artifacts, "the model", signature.callers)
    libraries = [tvm_ffi.libinfo.find_libtvm_ffi()]
    if signature.openmp:
        libraries.append(threads.load_openmp("the compiled model"))
    called = units_of(module)
    _check_calls(module, libraries, {symbol for unit in called for symbol in unit.symbols})
    if made is not None:
        return cached_model.executable(made, {weight.name: array for weight, array in zip(signature.weights, arrays)}, artifacts)
    embed_kernels(module)
    code = MachineCode(module, called, libraries, opt_level)
    address = code.wrapper(CREATE)
    create = tvm_ffi.Function.__from_mlir_packed_safe_call__(address, keep_alive_object=code)

    def instance(*events: ctypes.c_void_p) -> Callable[..., Any]:
        if events:
            code.begin_profiles()
        return create(package.Owner(code, arrays), *(array.ctypes.data for array in arrays), *functions, *events)

    calls = _text(module, "legato_calls")
    function = _refusal(signature.cpu, lacking) if lacking else first_instance_here_or_elsewhere(signature, instance)
    recorder = None if lacking else Recorder(lambda: calls, instance)

    def save(path: Path, linker: str | None) -> Path:
        return package.save(path, signature, arrays, package.linked(code.dumps, linker), artifacts)

    def write_entry(folder: Path, about: Mapping[str, Any] | None) -> None:
        cached_model.write(folder, package.linked(code.dumps, None), about, signature.weights, arrays)

    return Executable(signature, function, save, recorder, None if lacking else write_entry, signature.default_arrays(arrays))


def _refusal(name: str, lacking: list[str]) -> Callable[..., Any]:
    """A function that raises an error, instead of code that would end the process with an illegal instruction."""
    def refuse(*_: Any) -> None:
        raise LegatoError(f"the model was compiled for the CPU {name}; this one ({cpu.host_name()}) does not have {', '.join(lacking)}. "
                          "Save it and run it there, or compile it for this machine")

    return refuse


def _metadata(module: ir.Module) -> str:
    text = _text(module, "legato_metadata")
    if text is None:
        raise LegatoError("the module has no entry: run tir-emit-entry before it is compiled")
    return text


def _text(module: ir.Module, name: str) -> str | None:
    """The text in a global of the module; None if there is no such global."""
    for op in module.body.operations:
        if op.operation.name == "llvm.mlir.global" and op.attributes["sym_name"].value == name:
            return op.attributes["value"].value.rstrip("\0")
    return None


def _array(weights: Mapping[str, np.ndarray], weight: Parameter) -> np.ndarray:
    if weight.name not in weights:
        raise LegatoError(f"there is no weight '{weight.name}', which the compiled code reads")
    array = weights[weight.name]
    if array.dtype != weight.dtype or array.shape != weight.shape:
        raise LegatoError(f"the weight '{weight.name}' is {array.dtype}{list(array.shape)}, and the compiled code reads {weight}")
    return array if array.flags.c_contiguous and array.flags.aligned else np.require(array, requirements=["C", "A"])


def _check_calls(module: ir.Module, libraries: list[str], entry: Collection[str]) -> None:
    """LegatoError for calls of functions that neither a library nor the entry has, which would end the process at run time."""
    known: list[Any] = [ctypes.CDLL(None), *map(ctypes.CDLL, libraries)]
    for name in ("libm.so.6", "libc.so.6"):
        with suppress(OSError):   # a system that names them otherwise
            known.append(ctypes.CDLL(name))
    for op in module.body.operations:
        if op.operation.name == "llvm.func" and not len(op.operation.regions[0].blocks):
            name = op.attributes["sym_name"].value
            if not name.startswith("llvm.") and name not in entry and not any(hasattr(library, name) for library in known):
                raise LegatoError(f"the compiled code calls '{name}', which no library has, in {', '.join(_callers(module, name))}: "
                                  f"{HOW_TO_PROVIDE}")


def _callers(module: ir.Module, name: str) -> list[str]:
    found = []
    for function in module.body.operations:
        if function.operation.name == "llvm.func":
            def visit(op: ir.Operation, caller: str = function.attributes["sym_name"].value) -> ir.WalkResult:
                if op.name == "llvm.call" and "callee" in op.attributes and op.attributes["callee"].value == name and caller not in found:
                    found.append(caller)
                return ir.WalkResult.ADVANCE

            walk(function, visit)
    return found
