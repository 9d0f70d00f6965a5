"""The functions of the bindings that build linalg's named ops, which are imported when one of them is called.

The bindings derive them from descriptions, all 80 whenever linalg is imported: that is a tenth of the imports of a compile, which builds
fills and copies only.
"""
from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import typing
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

FURTHER = ("List", "Optional", "Sequence", "Union")     # which the bindings import from there, too, like ir


class _NamedOps(ModuleType):
    """Stands for the module that makes them, until something of it is used."""

    def __init__(self, name: str, names: list[str]) -> None:
        super().__init__(name)
        self.__all__ = [*names, *FURTHER, "ir"]
        for one in names:
            setattr(self, one, _forwarding(self, one))
        for one in FURTHER:
            setattr(self, one, getattr(typing, one))
        self.ir = importlib.import_module(f"{name.split('.')[0]}.ir")

    def loaded(self) -> ModuleType:
        """The module itself."""
        name = self.__name__
        if sys.modules.get(name) is self:
            del sys.modules[name]
            importlib.import_module(name)
        return sys.modules[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):     # what the import system asks for
            raise AttributeError(name)
        return getattr(self.loaded(), name)


def _forwarding(module: _NamedOps, name: str) -> FunctionType:
    def call(*operands: Any, **options: Any) -> Any:
        return getattr(module.loaded(), name)(*operands, **options)

    call.__name__ = call.__qualname__ = name
    return call


def stand_in(provider: str) -> None:
    """Puts the stand-in in the place of the module of the bindings ``provider``, where that is not imported yet and its source is
    known."""
    name = f"{provider}.dialects.linalg.opdsl.ops.core_named_ops"
    spec: ModuleSpec | None = importlib.util.find_spec(provider)
    if name in sys.modules or spec is None or not spec.submodule_search_locations:
        return
    source = Path(spec.submodule_search_locations[0], "dialects", "linalg", "opdsl", "ops", "core_named_ops.py")
    if source.is_file():
        sys.modules[name] = _NamedOps(name, re.findall(r"^@linalg_structured_op.*\ndef (\w+)", source.read_text(), re.MULTILINE))
