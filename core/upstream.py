"""Running passes of upstream's on one operation, with its errors as ours."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.core.diagnostics import Diagnostic, PassFailed, of_error
from legato.core.mlir import ir, passmanager


def run_on(operation: ir.Operation, passes: str) -> None:
    """Runs upstream's passes on one operation, a ``builtin.module`` or a ``func.func``, without verifying. Raises PassFailed.

    ``passes``: MLIR's own text (``"func.func(canonicalize)"``), without an anchor of its own.
    """
    manager = passmanager.PassManager.parse(f"{operation.name}({passes})", context=operation.context)
    manager.enable_verifier(False)
    try:
        manager.run(operation)
    except ir.MLIRError as error:
        raise failed_of(error) from error


def failed_of(error: ir.MLIRError, what: str | None = None,
              explain: Callable[[Sequence[Diagnostic]], tuple[Diagnostic, ...]] = tuple) -> PassFailed:
    """MLIR's error as one of ours, with its diagnostics (as `explain` puts them); `what` stands in front of its message."""
    diagnostics = explain(of_error(error))
    said = diagnostics[0]
    failed = PassFailed(f"{what}: {said.message}" if what else said.message, diagnostics=diagnostics)
    failed.subject = f'"{said.name}"' if said.name else ""
    return failed
