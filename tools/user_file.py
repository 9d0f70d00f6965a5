"""``--load FILE.py``: the dialects and passes that a user's file defines or imports. Nothing is registered: they come back as values."""
from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from ..dialects.errors import LegatoError
from ..mlir import ext
from ..passes.base import ModulePass


@dataclass(frozen=True)
class UserCode:
    """What a file gave: dialects to load into each context, passes to name in pipelines."""

    dialects: tuple[type[ext.Dialect], ...] = ()
    passes: tuple[type[ModulePass], ...] = ()

    def __add__(self, other: UserCode) -> UserCode:
        return UserCode(tuple(dict.fromkeys(self.dialects + other.dialects)), tuple(dict.fromkeys(self.passes + other.passes)))


def load_user_file(path: str) -> UserCode:
    """Execute a Python file. Raises LegatoError when it is not there or fails, with the line."""
    file = Path(path)
    if not file.is_file():
        raise LegatoError(f"--load {path}: there is no such file")
    module = _execute(file.resolve())
    values = [value for value in vars(module).values() if isinstance(value, type)]
    dialects = [one for one in values if issubclass(one, ext.Dialect) and one is not ext.Dialect and not _ours(one)]
    passes = [one for one in values if issubclass(one, ModulePass) and one is not ModulePass and "name" in vars(one) and not _ours(one)]
    return UserCode(tuple(dialects), tuple(passes))


def _execute(file: Path) -> ModuleType:
    name = f"legato_loaded_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise LegatoError(f"--load {file}: this is not a Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except LegatoError:
        raise
    except Exception as error:
        raise LegatoError(f"--load {file}{_line_of(error, file)}: {type(error).__name__}: {error}") from error
    return module


def _line_of(error: Exception, file: Path) -> str:
    if isinstance(error, SyntaxError):
        return f":{error.lineno}"
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f":{line}" if line is not None else ""


def _ours(one: type) -> bool:
    return one.__module__.split(".")[0] == __name__.split(".")[0]
