"""The entry's functions as machine code, which all models in a process share: compiled when the first model calls them."""
from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import Future

import tvm_ffi.libinfo

from legato.codegen.engine import Engine
from legato.codegen.entry.instance import create
from legato.codegen.entry.library import EntryUnit, unit_of
from legato.codegen.entry.pool import parallel
from legato.codegen.entry.profile import begin as begin_call
from legato.codegen.native.body import symbol_of
from legato.core import background
from legato.core.ir_helpers import present
from legato.core.mlir import ir

_lock = threading.Lock()
_begun: dict[EntryUnit, Future[CompiledUnit]] = {}


class CompiledUnit:
    """The code of a unit. ``addresses``: of its functions, by symbol; they are valid until the process ends."""

    def __init__(self, unit: EntryUnit):
        self._engine = Engine(unit.module(), [tvm_ffi.libinfo.find_libtvm_ffi()], alone=True)
        self.addresses = {symbol: self._engine.address(symbol) for symbol in unit.symbols}

    def dump(self, path: str) -> None:
        """Writes an object file."""
        self._engine.dump(path)


def begin(units: Iterable[EntryUnit]) -> None:
    """Compiles units in the background, unless they are compiled or under way."""
    for unit in units:
        with _lock:
            if unit not in _begun:
                _begun[unit] = background.begin(lambda unit=unit: CompiledUnit(unit))


def begin_usual(threads: int) -> None:
    """Begins the units that nearly all models for CPUs need, while the model is lowered. ``threads``: of its parallel loops."""
    begin(present(unit_of(symbol_of(root))) for root in (create, begin_call, *((parallel,) if threads > 1 else ())))


def compiled(unit: EntryUnit) -> CompiledUnit:
    """The code of a unit."""
    begin([unit])
    return _begun[unit].result()


def forget() -> None:
    """Forgets the code of all units: what is compiled from now on has code of its own."""
    with _lock:
        _begun.clear()


def units_of(module: ir.Module) -> list[EntryUnit]:
    """The units whose functions a module declares."""
    declared = (op.attributes["sym_name"].value for op in module.body.operations
                if op.operation.name == "llvm.func" and not len(op.operation.regions[0].blocks))
    return list(dict.fromkeys(unit for symbol in declared if (unit := unit_of(symbol)) is not None))
