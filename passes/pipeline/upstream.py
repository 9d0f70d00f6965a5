"""Upstream's passes: their names, the ops they may run on, and explanations of MLIR's pipeline parser errors."""
from __future__ import annotations

import functools
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from legato.core.ir_helpers import lazy_context
from legato.core.mlir import passmanager
from legato.core.upstream import run_on
from legato.passes.pipeline.options import nearest
from legato.passes.pipeline.text import MODULE, PipelineError
from legato.schedule.interpret import INTERPRETER, run_interpreter

if TYPE_CHECKING:
    from legato.dialects.module import Module

FUNCTIONS = ("func.func", "llvm.func", "gpu.func")
MODULES = (MODULE, "gpu.module")
_stderr_lock = threading.Lock()


@functools.cache
def places() -> dict[str, str]:
    """Upstream's passes, and the ops each may run on: ``any``, ``function``, ``module``, or the name of one op."""
    lines = (Path(__file__).parent / "upstream_passes.txt").read_text().splitlines()
    return dict(line.split() for line in lines if not line.startswith("#"))


def is_pass(name: str) -> bool:
    """Whether MLIR has a pass of that name, in the list or only in the installed wheel."""
    return name in places() or _known_to_mlir(name)


@functools.cache
def _known_to_mlir(name: str) -> bool:
    with lazy_context():
        try:
            passmanager.PassManager.parse(f"any({name})")
        except ValueError as error:
            return "does not refer to a registered" not in str(error)
    return True


def anchored(name: str, options: str, ops: tuple[str, ...]) -> str:
    """A pass as text for MLIR, nested in the ops that the user wrote around it (``("func.func",)``).

    A pass for functions or another kind of op that the user put on the module runs on all ops of that kind. PipelineError if the pass
    cannot run there.
    """
    place = places().get(name, "any")
    if not ops and place not in ("any", "module", MODULE):
        ops = ("func.func" if place == "function" else place,)
    op = ops[-1] if ops else MODULE
    allowed = {"function": FUNCTIONS, "module": MODULES, "any": (op,)}.get(place, (place,))
    if op not in allowed:
        advice = f"write it outside of {op}(...)" if MODULE in allowed else f"write {allowed[0]}({name})"
        raise PipelineError(f'"{name}" runs on {" or ".join(allowed)}, not on {op}: {advice}')
    text = f"{name}{{{options}}}" if options else name
    for outer in reversed(ops):
        text = f"{outer}({text})"
    return text


@functools.cache
def check(text: str, name: str) -> None:
    """Lets MLIR parse a pass with the text of `anchored`. PipelineError if an option is wrong, with similar names."""
    with lazy_context(), _captured_stderr() as printed:
        try:
            passmanager.PassManager.parse(f"{MODULE}({text})")
        except ValueError as error:
            said = f"{error}\n{printed()}"
        else:
            return
    if unknown := re.search(r"no such option ([\w-]+)", said):
        options = option_names(name)
        has = f"; it has {', '.join(options)}" if options else ""
        raise PipelineError(f'"{name}" has no option "{unknown[1]}"{nearest(unknown[1], options) or has}')
    if bad := re.search(r"for the --([\w-]+) option: (.*)", said):
        raise PipelineError(f'"{name}": option "{bad[1]}": {_reason(bad[2])}')
    raise PipelineError(f'MLIR does not take "{text}": {" ".join(said.split())}')


@functools.cache
def option_names(name: str) -> tuple[str, ...]:
    """The options of a pass that have a default value (MLIR does not list others)."""
    with lazy_context():
        printed = str(passmanager.PassManager.parse(f"any({name})"))
    one_pass = re.fullmatch(rf"any\({re.escape(name)}\{{(.*)\}}\)", printed)
    return tuple(re.findall(r"(?:^|\s)([\w-]+)=", one_pass[1])) if one_pass else ()


def run_upstream(passes: str | Sequence[str], module: Module) -> None:
    """Runs upstream's passes, given as MLIR's pipeline text (``"func.func(canonicalize)"``), without verifying. Raises PassFailed."""
    text = passes if isinstance(passes, str) else ",".join(passes)
    run = run_interpreter if INTERPRETER in text else run_on
    run(module.module.operation, text)


def _reason(said: str) -> str:
    """MLIR's message about an option's value, reworded."""
    if number := re.search(r"'(.*)' value invalid for (\w+) argument", said):
        wanted = "a number" if number[2] in ("double", "float") else "a whole number"
        return f'wants {wanted}, not "{number[1]}"'
    if truth := re.search(r"'(.*)' is invalid value for boolean", said):
        return f'wants true or false, not "{truth[1]}"'
    if choice := re.search(r"Cannot find option named '(.*)'", said):
        return f'has no value "{choice[1]}"'
    return said.rstrip("!")


@contextmanager
def _captured_stderr() -> Iterator:
    """MLIR prints some errors in options to standard error instead of raising them: captures that output."""
    with _stderr_lock, tempfile.TemporaryFile() as file:
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)

        def printed() -> str:
            file.seek(0)
            return file.read().decode(errors="replace")

        try:
            yield printed
        finally:
            os.dup2(saved, 2)
            os.close(saved)
