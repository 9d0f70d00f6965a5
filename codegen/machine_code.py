"""Machine code of a model in this process: of its parts, which LLVM compiles side by side, and of the entry's units."""
from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from legato.codegen.engine import OPT_LEVEL, Engine
from legato.codegen.entry.library import EntryUnit
from legato.codegen.parts import divided
from legato.codegen.units import begin, compiled
from legato.core import background
from legato.core.ir_helpers import lazy_context
from legato.core.mlir import ir


class MachineCode:
    """The code of a module in the LLVM dialect, for as long as the object lives. ``units``: whose functions the module declares;
    ``libraries``: paths of shared libraries with others that it does. ``dumps``: functions that each write an object file to a path; the
    files together are the model."""

    def __init__(self, module: ir.Module, units: Sequence[EntryUnit], libraries: Sequence[str | Path] = (), opt_level: int = OPT_LEVEL):
        """LegatoError if LLVM does not take the module."""
        begin(units)
        parts = divided(module)
        tables = Engine(parts.tables, libraries, opt_level, alone=False) if parts.tables is not None else None
        of_tables = {symbol: tables.address(symbol) for symbol in parts.table_symbols} if tables is not None else {}

        def of_units() -> dict[str, int]:
            return {symbol: address for unit in units for symbol, address in compiled(unit).addresses.items()}

        def kernels(bytecode: bytes, symbols: Sequence[str]) -> tuple[Engine, dict[str, int]]:
            engine = Engine(ir.Module.parse(bytecode, _context_of_thread()), libraries, opt_level, alone=True)
            _define(engine, of_tables | of_units())
            return engine, {symbol: engine.address(symbol) for symbol in symbols}

        begun = [background.begin(lambda given=given: kernels(*given)) for given in parts.kernels]
        self._main = Engine(parts.main, libraries, opt_level, alone=False)
        made = [one.result() for one in begun]
        _define(self._main, of_tables | of_units())
        for _, addresses in made:
            _define(self._main, addresses)
        engines = [self._main, *([tables] if tables is not None else []), *(engine for engine, _ in made)]
        self.dumps: list[Callable[[str], None]] = [*(engine.dump for engine in engines), *(compiled(unit).dump for unit in units)]

    def wrapper(self, symbol: str) -> int:
        """``Engine.wrapper`` of a function of the entry. LegatoError if LLVM could not compile it."""
        return self._main.wrapper(symbol)


_of_thread = threading.local()


def _context_of_thread() -> ir.Context:
    """The thread's own context: no two threads may use one at once."""
    if not hasattr(_of_thread, "context"):
        _of_thread.context = lazy_context()
        _of_thread.context.allow_unregistered_dialects = True      # our attributes are nothing to LLVM
    return _of_thread.context


def _define(engine: Engine, addresses: Mapping[str, int]) -> None:
    for symbol, address in addresses.items():
        engine.define(symbol, address)
