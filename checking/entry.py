"""Runs a module whose main is the LLVM dialect's: through the entry that callers use, in a child process."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from legato.checking.child import ChildDied, ForkedChild
from legato.checking.errors import Misbehaved, NotEvaluated
from legato.codegen.emit_entry import EmitEntry
from legato.codegen.jit import jit
from legato.core.errors import LegatoError
from legato.core.ir_helpers import everything
from legato.core.mlir import ir
from legato.core.upstream import run_on
from legato.dialects.module import Module
from legato.passes.memory.signature import packed_functions
from legato.passes.partition.artifacts import listed, strip_external
from legato.passes.pipeline.base import PassContext
from legato.passes.pipeline.scope import symbol
from legato.runtime.executable import Executable

ENTRY = "__tvm_ffi_create"


class EntryRunner:
    """Compiles a module when it is first called. It does so in a child process, unless it calls packed functions: these may rely on threads
    and devices of this one, and their side effects belong to it."""

    def __init__(self, module: Module, context: PassContext):
        self.module, self.context = module, context
        self._executable: Executable | None = None
        main = next((op for op in module.body.operations if symbol(op.operation) == "main"), None)
        calls_out = bool(listed(module)) or (main is not None and bool(packed_functions(main)))
        self._answer = self._called if calls_out else ForkedChild(self._called)

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results of a call. NotEvaluated if the module cannot be compiled, or its entry refuses the call; Misbehaved if it crashes."""
        try:
            return self._answer(arrays)
        except ChildDied as problem:
            raise Misbehaved(f"the compiled module does not end as it should: {problem}") from None

    def _called(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        if self._executable is None:
            self._executable = entry_of(self.module, self.context)
        return call_entry(self._executable, arrays)


def entry_of(module: Module, context: PassContext) -> Executable:
    """A model that is LLVM's dialect as a whole, with or without its entry, as an executable. NotEvaluated if it is neither."""
    module = module.clone()
    if not any(symbol(op.operation) == "main" for op in module.body.operations):
        raise NotEvaluated("the module has no function @main")
    artifacts = listed(module)
    strip_external(module)
    try:
        if not any(symbol(op.operation) == ENTRY for op in module.body.operations):
            run_on(module.operation, "reconcile-unrealized-casts")
            refuse_others(module)
            EmitEntry().run(module, PassContext(context.resolve_target))
        refuse_others(module)
        return jit(module.module, module.weights, opt_level=1, artifacts=artifacts)
    except NotEvaluated:
        raise
    except (LegatoError, ir.MLIRError, RuntimeError) as error:
        raise NotEvaluated(f"it cannot be compiled: {str(error).splitlines()[0]}") from error


def call_entry(executable: Executable, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of a call. NotEvaluated if the entry refuses it."""
    try:
        donated = set(executable.signature.donors)   # the call writes to these
        results = executable(*(array.copy() if number in donated else array for number, array in enumerate(arrays)))
    except (LegatoError, RuntimeError, TypeError, ValueError) as error:
        raise NotEvaluated(f"a call of its compiled code is refused: {str(error).splitlines()[0]}") from error
    return [np.array(one) for one in (results if isinstance(results, tuple) else (results,))]


def refuse_others(module: Module) -> None:
    """NotEvaluated for ops of which LLVM's translation would crash."""
    for op in everything(module.operation):
        if op.name.split(".")[0] not in ("llvm", "builtin") or op.name == "builtin.unrealized_conversion_cast":
            raise NotEvaluated(f"{op.name} is not lowered to LLVM yet")
