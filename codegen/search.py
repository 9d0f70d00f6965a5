"""Searches through ops by machine code: MLIR's walk calls a native function for each op, and Python sees those that are wanted only."""
from __future__ import annotations

import ctypes
import importlib
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from functools import cache
from typing import TypeVar

from legato.codegen.engine import Engine
from legato.codegen.entry.library import EntryUnit
from legato.codegen.search_visits import EXTERNS, VISITS
from legato.core import background, search
from legato.core.c_interface import LIBRARY, StringRef, capsule_name, make_capsule, pointer_of, string_ref
from legato.core.errors import LegatoError
from legato.core.ir_helpers import lazy_context, present
from legato.core.mlir import ir
from legato.core.search import PythonSearch

LOGGER = logging.getLogger(__name__)
T = TypeVar("T", ir.Operation, ir.Type)
WORTH_IT = 50      # ops of a graph
ROOM = 1 << 10     # addresses that a search finds; where there are more, it is done again


class NativeSearch:
    """Searches by visits of native functions."""

    def __init__(self) -> None:
        unit = EntryUnit(VISITS)
        library = ctypes.PyDLL(str(importlib.import_module(LIBRARY).__file__))
        self._engine = Engine(unit.module(), alone=True)
        for called in EXTERNS:
            # an engine that finds them itself shows all of LLVM to libraries that have their own, such as Mesa's drivers
            self._engine.define(called.__name__, present(ctypes.cast(getattr(library, called.__name__), ctypes.c_void_p).value))
        addresses = (self._engine.address(symbol) for symbol in unit.symbols)
        self._take_named, self._take_kind, self._take_types, self._take_unused, self._take_typed, self._take_giver, self._count = addresses
        self._block_of = library.mlirOperationGetBlock
        self._block_of.argtypes, self._block_of.restype = [ctypes.c_void_p], ctypes.c_void_p
        self._walk, self._identifier = library.mlirOperationWalk, library.mlirIdentifierGet
        self._walk.argtypes, self._walk.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int], None
        self._identifier.argtypes, self._identifier.restype = [ctypes.c_void_p, StringRef], ctypes.c_void_p

    def ops(self, root: ir.Operation, names: Sequence[str], order: ir.WalkOrder) -> list[ir.Operation]:
        """The ops with one of these names."""
        context = pointer_of(root.context)
        known = [self._identifier(context, string_ref(name)) for name in names]
        return _objects(ir.Operation, capsule_name(root), self._found(root, self._take_named, known, order))

    def kinds(self, root: ir.Operation) -> list[ir.Operation]:
        """The first op of each name, in post-order."""
        return _objects(ir.Operation, capsule_name(root), self._found(root, self._take_kind))

    def count(self, root: ir.Operation) -> int:
        """The number of ops."""
        into = (ctypes.c_int64 * 5)()
        self._walk(pointer_of(root), self._count, into, ir.WalkOrder.POST_ORDER.value)
        return into[3]

    def unused(self, root: ir.Operation) -> list[ir.Operation]:
        """The ops with results that have no uses, none of them, in post-order."""
        return _objects(ir.Operation, capsule_name(root), self._found(root, self._take_unused))

    def result_types(self, root: ir.Operation) -> list[ir.Type]:
        """The types of results, each once."""
        return [type_.maybe_downcast() for type_ in _objects(ir.Type, _type_capsules(), self._found(root, self._take_types))]

    def of_types(self, root: ir.Operation, types: Sequence[ir.Type]) -> list[ir.Operation]:
        """The ops with an operand or result of one of these types, and those with regions, in post-order."""
        return _objects(ir.Operation, capsule_name(root), self._found(root, self._take_typed, [pointer_of(type_) for type_ in types]))

    def first_giving(self, block: ir.Block, types: Sequence[ir.Type]) -> ir.Operation | None:
        """The first op of a block, not of a region in it, with a result of one of these types; None if there is none."""
        first = next(iter(block.operations), None)
        if first is None:
            return None
        wanted = [self._block_of(pointer_of(first.operation)), *map(pointer_of, types)]
        found = self._found(block.owner.operation, self._take_giver, wanted, ir.WalkOrder.PRE_ORDER)
        return next(iter(_objects(ir.Operation, capsule_name(first.operation), found)), None)

    def _found(self, root: ir.Operation, visit: int, known: Sequence[int] = (), order: ir.WalkOrder = ir.WalkOrder.POST_ORDER) -> list[int]:
        room = ROOM
        while True:
            knowing, taken = (ctypes.c_void_p * max(room, len(known)))(*known), (ctypes.c_void_p * room)()
            into = (ctypes.c_int64 * 5)(ctypes.addressof(knowing), len(known), ctypes.addressof(taken), 0, room)
            self._walk(pointer_of(root), visit, into, order.value)
            if (count := into[3]) <= room:
                return taken[:count]
            room = count


def _objects(kind: type[T], name: bytes, pointers: Sequence[int]) -> list[T]:
    """Objects of the bindings for pointers. ``name``: of capsules with such pointers."""
    return [kind._CAPICreate(make_capsule(pointer, name, None)) for pointer in pointers]


@cache
def _type_capsules() -> bytes:
    with lazy_context():
        return capsule_name(ir.IndexType.get())


def begin_for(module: ir.Module) -> None:
    """Compiles the functions in the background where a module has so many ops that it pays; all searches use them from then on."""
    if isinstance(search.by, PythonSearch) and search.by.count(module.operation) >= WORTH_IT:
        begin()


@cache
def begin() -> Future[None]:
    """Compiles the functions in the background, once."""
    return background.begin(_use)


def _use() -> None:
    try:
        search.by = NativeSearch()
    except (LegatoError, AttributeError, OSError) as error:     # they find the same in Python, only later
        LOGGER.warning("searches through ops stay in Python, and compiles take longer: %s", error)
