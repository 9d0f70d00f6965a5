"""The entry's functions as machine code, which all models in a process share: compiled when the first model calls them."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache

import tvm_ffi.libinfo

from legato.codegen.entry.library import EntryUnit, unit_of
from legato.core.mlir import execution_engine, ir

OPTIMIZED = 2       # LLVM's level


class CompiledUnit:
    """The code of a unit. ``addresses``: of its functions, by symbol; they are valid until the process ends."""

    def __init__(self, unit: EntryUnit):
        module, libraries = unit.module(), [tvm_ffi.libinfo.find_libtvm_ffi()]
        with module.context, ir.Location.unknown():
            giver = f"{unit.symbols[0]}.addresses"
            module.body.append(_giving_addresses(giver, unit.symbols))
            self._engine = execution_engine.ExecutionEngine(
                module, opt_level=OPTIMIZED, shared_libs=libraries, enable_object_dump=True, enable_pic=True)  # pyright: ignore[reportCallIssue]
        found = (ctypes.c_void_p * len(unit.symbols))()
        self._engine.invoke(giver, ctypes.pointer(ctypes.pointer(found)))
        self.addresses = dict(zip(unit.symbols, found))

    def dump(self, path: str) -> None:
        """Writes an object file."""
        self._engine.dump_to_object_file(path)


def _giving_addresses(name: str, symbols: Sequence[str]) -> ir.OpView:
    """A function that stores the addresses of others. The engine itself knows those of its wrappers only."""
    declared = [f"llvm.func @{symbol}()" for symbol in symbols]
    stores = [f"  %p{n} = llvm.getelementptr %to[{n}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr\n"
              f"  %f{n} = llvm.mlir.addressof @{symbol} : !llvm.ptr\n"
              f"  llvm.store %f{n}, %p{n} : !llvm.ptr, !llvm.ptr" for n, symbol in enumerate(symbols)]
    made = ir.Module.parse("\n".join([*declared, f"llvm.func @_mlir_ciface_{name}(%to: !llvm.ptr) {{", *stores, "  llvm.return", "}"]))
    function = list(made.body.operations)[-1]
    function.operation.detach_from_parent()
    return function


@cache
def compiled(unit: EntryUnit) -> CompiledUnit:
    """The code of a unit."""
    return CompiledUnit(unit)


def units_of(module: ir.Module) -> list[EntryUnit]:
    """The units whose functions a module declares."""
    declared = (op.attributes["sym_name"].value for op in module.body.operations
                if op.operation.name == "llvm.func" and not len(op.operation.regions[0].blocks))
    return list(dict.fromkeys(unit for symbol in declared if (unit := unit_of(symbol)) is not None))
