"""Machine code of a model in this process: of its parts, which LLVM compiles side by side, and of the entry's units."""
from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from legato.codegen.engine import OPT_LEVEL, Engine
from legato.codegen.entry.library import EntryUnit
from legato.codegen.parts import PROFILED_SLOT, bytecode, divided
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

        def engine_of(part: bytes) -> Engine:
            return Engine(ir.Module.parse(part, _context_of_thread()), libraries, opt_level, alone=True)

        def elsewhere() -> dict[str, int]:
            return of_tables | {symbol: address for unit in units for symbol, address in compiled(unit).addresses.items()}

        def kernels(part: bytes, symbols: Sequence[str]) -> tuple[Engine, dict[str, int]]:
            engine = engine_of(part)
            _define(engine, elsewhere())
            return engine, {symbol: engine.address(symbol) for symbol in symbols}

        of_parts = iter(parts.kernels)
        first = next(of_parts, None)
        if first is not None:       # main is the largest part of a model of many small kernels
            text = bytecode(parts.main)
            begun_main = background.begin(lambda: engine_of(text))
            begun = [background.begin(lambda given=given: kernels(*given)) for given in (first, *of_parts)]
            self._main, made = begun_main.result(), [one.result() for one in begun]
        else:
            self._main, made = Engine(parts.main, libraries, opt_level, alone=False), []
        addresses = {symbol: address for _, found in made for symbol, address in found.items()}
        engines = [self._main, *([tables] if tables is not None else []), *(engine for engine, _ in made)]
        self.dumps: list[Callable[[str], None]] = [*(engine.dump for engine in engines), *(compiled(unit).dump for unit in units)]
        self._later: _Later | None = None
        if parts.profiled is not None:
            part, (symbol,) = parts.profiled

            def made_later() -> tuple[Engine, int]:
                engine = engine_of(part)
                _define(engine, elsewhere() | addresses)
                return engine, engine.address(symbol)

            self._later = _Later(made_later)
            self.dumps.append(self._later.dump)
            self._main.define(PROFILED_SLOT, ctypes.addressof(self._later.slot))
        _define(self._main, elsewhere() | addresses)

    def wrapper(self, symbol: str) -> int:
        """``Engine.wrapper`` of a function of the entry. LegatoError if LLVM could not compile it."""
        return self._main.wrapper(symbol)

    def begin_profiles(self) -> None:
        """Sees to it that the code can be called with memory for a profile. LegatoError if LLVM could not compile what records it."""
        if self._later is not None:
            self._later.engine()


class _Later:
    """A part that is compiled when it is needed. ``make``: compiles it, and finds the address of its function, which goes to ``slot``."""

    def __init__(self, make: Callable[[], tuple[Engine, int]]) -> None:
        self._make, self.slot = make, ctypes.c_int64(0)
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def engine(self) -> Engine:
        """The part's code; the function can be called from then on."""
        with self._lock:
            if self._engine is None:
                self._engine, self.slot.value = self._make()
            return self._engine

    def dump(self, path: str) -> None:
        """Writes an object file."""
        self.engine().dump(path)


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
