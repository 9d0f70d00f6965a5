"""Runs upstream passes and transform scripts on one operation, and converts their errors.

These are the only places of the package that run either; `test/passes/test_inside.py` compares what registered passes run by them with
the passes' help.
"""
from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

from legato.core import search
from legato.core.diagnostics import Diagnostic, PassFailed, of_error
from legato.core.mlir import ext, interpreter, ir, passmanager

WORTH_THREADS = 2000    # ops of a module
Explain = Callable[[Sequence[Diagnostic]], tuple[Diagnostic, ...]]


def run_on(operation: ir.Operation, passes: str, explain: Explain = tuple) -> None:
    """Runs upstream passes on a ``builtin.module`` or ``func.func``, without verifying. Raises PassFailed.

    ``passes``: MLIR's pipeline text without the anchor op, e.g. ``"func.func(canonicalize)"``. ``explain`` is given the diagnostics of a
    failed run, and returns those of the error.
    """
    manager = passmanager.PassManager.parse(f"{operation.name}({passes})", context=operation.context)
    manager.enable_verifier(False)
    with threads_for(operation) if "(" in passes else nullcontext():
        try:
            manager.run(operation)
        except ir.MLIRError as error:
            raise failed_of(error, explain=explain) from error


@contextmanager
def threads_for(module: ir.Operation) -> Iterator[None]:
    """Context in which MLIR works on the functions of a module in threads, if that is worth it and possible: passes on functions, and
    the verifier."""
    wanted = _is_for_threads(module)
    if wanted:
        module.context.enable_multithreading(True)
    try:
        yield
    finally:
        if wanted:
            module.context.enable_multithreading(False)


def _is_for_threads(module: ir.Operation) -> bool:
    """Whether MLIR shall work on the functions of a module in threads: there is enough to do, and no op is defined in Python, whose lock
    the thread holds that waits for the others."""
    if len(os.sched_getaffinity(0)) == 1:
        return False
    defined = {dialect.DIALECT_NAMESPACE for dialect in ext.Dialect.__subclasses__()}
    return search.by.count(module) >= WORTH_THREADS and not any(op.name.split(".")[0] in defined for op in search.by.kinds(module))


def sequence(body: str, root: str = "%root") -> str:
    """A transform module with one named sequence; ``body`` refers to the payload as ``root``."""
    return ("module attributes {transform.with_named_sequence} {\n"
            f"transform.named_sequence @__transform_main({root}: !transform.any_op {{transform.readonly}}) {{\n"
            f"{body}\ntransform.yield\n}}\n}}")


def run_sequence(script: ir.Operation, payload: ir.Operation) -> None:
    """Runs the named sequence of a transform module. Raises what the bindings raise: MLIRError or ValueError."""
    interpreter.apply_named_sequence(payload, script.regions[0].blocks[0].operations[0], script)


def run_script(body: str, payload: ir.Operation, what: str) -> None:
    """Runs a transform script on ``payload``, to which ``body`` refers as ``%root``. Raises PassFailed with the line of the script that
    failed; ``what`` names the script in the message.
    """
    text = sequence(body)
    try:
        run_sequence(ir.Module.parse(text).operation, payload)
    except (ir.MLIRError, ValueError) as error:
        lines = text.splitlines()
        place = re.search(r'"?-"?:(\d+):\d+', str(error))
        line = f"\n  in: {lines[int(place.group(1)) - 1].strip()}" if place and int(place.group(1)) <= len(lines) else ""
        raise PassFailed(f"{what} failed: {error}{line}") from None


def failed_of(error: ir.MLIRError, what: str | None = None, explain: Explain = tuple) -> PassFailed:
    """An MLIRError as a PassFailed, with its diagnostics passed through `explain`; `what` is prepended to the message."""
    diagnostics = explain(of_error(error))
    said = diagnostics[0]
    failed = PassFailed(f"{what}: {said.message}" if what else said.message, diagnostics=diagnostics)
    failed.subject = f'"{said.name}"' if said.name else ""
    return failed
