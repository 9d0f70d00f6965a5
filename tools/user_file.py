"""``--load FILE.py|MODULE``: the dialects, passes, targets and backends that a user's file, or installed module, defines or imports."""
from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from legato.core.errors import LegatoError
from legato.core.mlir import ext
from legato.passes.pipeline.base import ModulePass
from legato.passes.pipeline.registry import register_pass

if TYPE_CHECKING:
    from legato.targets.backend import Backend
    from legato.targets.target import Target

PACKAGE = __name__.split(".")[0]
MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class UserCode:
    """Definitions of a file: dialects to load into contexts, passes for pipelines, targets and backends for options."""

    dialects: tuple[type[ext.Dialect], ...] = ()
    passes: tuple[type[ModulePass], ...] = ()
    targets: tuple[Target, ...] = ()
    backends: tuple[Backend | type[Backend], ...] = ()

    def __add__(self, other: UserCode) -> UserCode:
        return UserCode(
            tuple(dict.fromkeys(self.dialects + other.dialects)), tuple(dict.fromkeys(self.passes + other.passes)),
            tuple(_named([*self.targets, *other.targets], "--load")), tuple(dict.fromkeys(self.backends + other.backends)))

    def chosen(self, names: list[str]) -> list[Backend | type[Backend] | str]:
        """The backends of these names; a name stays as it is if no file defines it. LegatoError, listing those of the files, too, for an
        unknown one, and for two files that define one of the same name."""
        if not names:
            return []
        from legato.targets.backend_catalog import BackendCatalog

        catalog, found = BackendCatalog(self.backends), {one.name: one for one in self.backends}
        for name in names:
            catalog.resolve(name)
        return [found.get(name, name) for name in names]


def load_user_file(path: str) -> UserCode:
    """Executes a Python file, which may import the modules beside it, or imports the module of that name. LegatoError, with the line, if it
    is missing or fails."""
    values = list(vars(_execute(Path(path).resolve()) if Path(path).is_file() else _import(path)).values())
    classes = [value for value in values if isinstance(value, type) and not _ours(value)]
    dialects = [one for one in classes if issubclass(one, ext.Dialect) and one is not ext.Dialect]
    passes = [one for one in classes if issubclass(one, ModulePass) and "name" in vars(one)]
    for one in classes:
        if issubclass(one, ModulePass) and "run" in vars(one) and not hasattr(one, "name") and not one.__subclasses__():
            raise LegatoError(f"--load {path}: the pass {one.__name__} has no name: a pass has a class attribute name = \"my-pass\"")
    return UserCode(tuple(dialects), tuple(passes), tuple(_named(_targets(values), f"--load {path}")),
                    tuple(_backends(values)))


def _backends(values: list[object]) -> list[Backend | type[Backend]]:
    """The backends among the values: instances, and classes without an instance. There are none unless the file imported Backend."""
    if f"{PACKAGE}.targets.backend" not in sys.modules:
        return []
    from legato.targets.backend import Backend

    found = [value for value in values if isinstance(value, Backend)]
    classes = [value for value in values if isinstance(value, type) and issubclass(value, Backend) and value is not Backend and value.name]
    return [*found, *(one for one in classes if not _ours(one) and not any(isinstance(value, one) for value in found))]


def register_user_files(paths: list[str]) -> UserCode:
    """Executes Python files for a tool that compiles, and registers those of their passes and targets that they have not registered."""
    user = sum(map(load_user_file, paths), UserCode())
    for one in user.passes:
        register_pass(one)
    if user.targets:
        from legato.targets.registry import register_target, snapshot

        for target in user.targets:
            if target.name not in snapshot().owners:
                register_target(target)
    return user


def _targets(values: list[object]) -> list[Target]:
    """The targets among the values, without Legato's own. There are none unless the file imported Target."""
    if f"{PACKAGE}.targets.target" not in sys.modules:
        return []
    from legato.targets.builtin import TARGETS
    from legato.targets.target import Target

    return [value for value in values if isinstance(value, Target) and not any(value is ours for ours in TARGETS)]


def _named(targets: list[Target], where: str) -> list[Target]:
    """Targets, each once. LegatoError for different ones of the same name."""
    found: dict[str, Target] = {}
    for one in targets:
        if found.setdefault(one.name, one) is not one:
            raise LegatoError(f"{where}: two targets are named '{one.name}': by that name only one of them could be had")
    return list(found.values())


def _import(name: str) -> ModuleType:
    if not MODULE.fullmatch(name) or name.endswith(".py"):
        raise LegatoError(f"--load {name}: there is no such file")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise LegatoError(f"--load {name}: {type(error).__name__}: {error}") from error
        raise LegatoError(f"--load {name}: there is no such file, and no module of that name is installed") from error
    except (LegatoError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise LegatoError(f"--load {name}: {type(error).__name__}: {error}") from error


def _execute(file: Path) -> ModuleType:
    name = f"legato_loaded_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise LegatoError(f"--load {file}: this is not a Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # needed by dataclasses
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))  # as Python does for a script; for good, since rules may import when they run
    try:
        spec.loader.exec_module(module)
    except LegatoError:
        raise
    except SystemExit as end:
        raise LegatoError(f"--load {file}{_line_of(end, file)}: it ends the process, by sys.exit({end.code}): a loaded file defines "
                          "things, and what only a program does belongs under if __name__ == \"__main__\"") from end
    except Exception as error:
        raise LegatoError(f"--load {file}{_line_of(error, file)}: {type(error).__name__}: {error}") from error
    return module


def _line_of(error: BaseException, file: Path) -> str:
    if isinstance(error, SyntaxError):
        return f":{error.lineno}"
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f":{line}" if line is not None else ""


def _ours(one: type) -> bool:
    return one.__module__.split(".")[0] == PACKAGE
