"""Kernels that a trial has taken through later passes: these take the trial's result where the kernel is still the one that was tried."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from legato.core.mlir import func, ir

Key = tuple[str, ...]


@dataclass(frozen=True)
class TriedKernel:
    """What a pass makes of a kernel: a module that holds the kernel alone, and what the pass reports and warns of."""

    alone: ir.Module
    report: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, kernel: func.FuncOp, report: Mapping[str, int] | None = None, warnings: Sequence[str] = ()) -> "TriedKernel":
        """A copy of a kernel as the pass leaves it."""
        alone = ir.Module.create(kernel.location)
        kernel.operation.clone(ir.InsertionPoint(alone.body))
        return cls(alone, report or {}, tuple(warnings))


class TrialResults:
    """Results of passes on single kernels, by what the pass reads: the kernel, the sequences of its schedule, and the pass's options.

    Operations are compared as text, with locations, and each result is taken once. A kernel that anything has changed since the trial has
    another text: the pass does its work.
    """

    def __init__(self) -> None:
        self._kept: dict[Key, TriedKernel] = {}

    def keep(self, key: Key, result: TriedKernel) -> None:
        """Keeps a result, under the key that the pass will find."""
        self._kept[key] = result

    def take(self, kernel: func.FuncOp, pass_name: str, options: str = "", sequences: Sequence[ir.Operation] = ()) -> TriedKernel | None:
        """Puts what is kept for a kernel in its place; ``kernel`` is erased. None, with nothing done, where nothing is kept."""
        if not self._kept or (kept := self._kept.pop(key_of(kernel, pass_name, options, sequences), None)) is None:
            return None
        if kept.alone.context is not kernel.context:
            return None
        kept.alone.body.operations[0].operation.clone(ir.InsertionPoint(kernel))
        kernel.operation.erase()
        return kept


def key_of(kernel: func.FuncOp, pass_name: str, options: str = "", sequences: Sequence[ir.Operation] = ()) -> Key:
    """The key of what a pass with these options makes of a kernel."""
    operations = (kernel.operation, *sequences)
    return pass_name, options, *(op.get_asm(enable_debug_info=True, use_local_scope=True, assume_verified=True) for op in operations)
