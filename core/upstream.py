"""Runs upstream passes on one operation and converts their errors."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.core.diagnostics import Diagnostic, PassFailed, of_error
from legato.core.mlir import ir, passmanager


def run_on(operation: ir.Operation, passes: str) -> None:
    """Runs upstream passes on a ``builtin.module`` or ``func.func``, without verifying. Raises PassFailed.

    ``passes``: MLIR's pipeline text without the anchor op, e.g. ``"func.func(canonicalize)"``.
    """
    manager = passmanager.PassManager.parse(f"{operation.name}({passes})", context=operation.context)
    manager.enable_verifier(False)
    try:
        manager.run(operation)
    except ir.MLIRError as error:
        raise failed_of(error) from error


def failed_of(error: ir.MLIRError, what: str | None = None,
              explain: Callable[[Sequence[Diagnostic]], tuple[Diagnostic, ...]] = tuple) -> PassFailed:
    """An MLIRError as a PassFailed, with its diagnostics passed through `explain`; `what` is prepended to the message."""
    diagnostics = explain(of_error(error))
    said = diagnostics[0]
    failed = PassFailed(f"{what}: {said.message}" if what else said.message, diagnostics=diagnostics)
    failed.subject = f'"{said.name}"' if said.name else ""
    return failed
