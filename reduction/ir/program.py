"""IR as a candidate: its text and its weights."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.core.notebook import bytes_text, counted
from legato.core.weights import WeightStore
from legato.core.weights_beside import write_ir
from legato.dialects.loading import make_context
from legato.dialects.module import Module, walk

T = TypeVar("T")


@dataclass(frozen=True)
class IrProgram:
    """A module as text, generic or not, with its weights. ``dialects``: those it needs besides Legato's."""

    text: str
    weights: WeightStore = field(default_factory=WeightStore)
    dialects: Sequence[type] = ()

    @staticmethod
    def of(module: Module, dialects: Sequence[type] = (), debug: bool = True) -> IrProgram:
        """The program that a module is; ``debug``: with locations. Weights that it does not use are left out."""
        weights = module.weights.copy()
        used = module.used_weights()
        for key in [key for key in weights if key not in used]:
            weights.drop(key)
        return IrProgram(module.operation.get_asm(enable_debug_info=debug) + "\n", weights, dialects)

    def content(self) -> bytes:
        """The text. Weights stand in it by their keys."""
        return self.text.encode()

    def size(self) -> str:
        """The numbers of lines and bytes."""
        return f"{counted(self.text.count(chr(10)), 'line')}, {bytes_text(len(self.text) + self.weights.nbytes)}"

    def write(self, path: Path) -> None:
        """Writes the text, and the weights beside it."""
        write_ir(path, self.text, self.weights)

    def module(self) -> Module:
        """The module, parsed anew in a context of its own. LegatoError if it is invalid."""
        context = make_context(self.dialects)
        context.attach_diagnostic_handler(lambda diagnostic: True)
        return Module.parse(self.text, self.weights.copy(), context)

    def problem(self) -> str | None:
        """What the verifiers say; None for valid IR."""
        try:
            self.module().check_weights()
        except (LegatoError, ir.MLIRError) as error:
            return str(error)
        return None


def ops_of(module: Module) -> list[ir.Operation]:
    """The ops inside a module, in the order of its text: what numbers of ops mean in the steps."""
    return [op.operation for op in walk(module.operation)][1:]


def numbers_of(base: IrProgram, chosen: Callable[[ir.Operation], Iterable[T]]) -> list[tuple[int, T]]:
    """What ``chosen`` says of each op, with the op's number. The module, which ops need, is alive meanwhile."""
    module = base.module()
    return [(n, found) for n, op in enumerate(ops_of(module)) for found in chosen(op)]


def functions_of(base: IrProgram) -> list[tuple[str, int, int]]:
    """The functions with a body: name, number of arguments, number of results."""
    module = base.module()
    return [(f.name.value, len(f.type.inputs), len(f.type.results)) for f in module.functions() if f.body.blocks]


def printed(base: IrProgram, module: Module) -> IrProgram | None:
    """The program of a changed module; None if that is invalid."""
    try:
        if not module.operation.verify():
            return None
    except ir.MLIRError:
        return None
    return IrProgram.of(module, base.dialects, debug="loc(" in base.text)
