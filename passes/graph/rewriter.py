"""Rewrite patterns on graph ops, and the loop that applies them.

Upstream's greedy driver (rewrite.apply_patterns_and_fold_greedily) with the same patterns makes the same graphs of ResNet-50, MiniLM,
ShuffleNet and densenet121 in the same time (69 and 70 ms, 24 and 24 ms, 60 and 60 ms, 195 and 203 ms). It would replace ``sweep``, but
erases constants by itself, so that their weights could be dropped only at the end (``Constants.erase``).
"""
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.core.ir_helpers import defining_op
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.relax.dims import compatible, dims
from legato.passes.graph.functions import Constants, graph_ops, has_one_use, is_constant, is_dead, replace_uses

Pattern = Callable[["GraphRewriter", ir.Operation], "ir.Value | None"]


def table(families: Iterable[Sequence[tuple[str, Pattern]]]) -> dict[str, list[Pattern]]:
    """Op name to the patterns for it, in the order in which they are tried; from pairs of op names (``"add multiply"``) and a pattern."""
    patterns: dict[str, list[Pattern]] = {}
    for family in families:
        for names, pattern in family:
            for name in names.split():
                patterns.setdefault(name if "." in name else f"relax.{name}", []).append(pattern)
    return patterns


class GraphRewriter:
    """What patterns get: access to values, and the creation of constants.

    A pattern takes the rewriter and an op, and returns a value that can replace the op's first result, or None. It uses the relax
    builders; the insertion point and location are the op's. A value whose shape differs from the result's is not used: a pattern for x +
    0 need not check whether the 0 broadcasts x.
    """

    def __init__(self, constants: Constants):
        self._constants = constants

    def sweep(self, function: func.FuncOp, patterns: Mapping[str, Sequence[Pattern]]) -> bool:
        """Tries the patterns once on every op that has uses, in order. Returns whether one applied."""
        changed = False
        for op in graph_ops(function):
            candidates = patterns.get(op.name)
            if candidates is None or is_dead(op):
                continue
            with ir.InsertionPoint(op), op.location:
                changed |= any(self._apply(pattern, op) for pattern in candidates)
        return changed

    def _apply(self, pattern: Pattern, op: ir.Operation) -> bool:
        result = op.results[0]
        new = pattern(self, op)
        if new is None or new == result or not _same(new.type, result.type):
            return False
        replace_uses(result, new)
        return True

    def find(self, value: ir.Value, *names: str, once: bool = False) -> ir.Operation | None:
        """The op that defines the value, if it has one of these names (without ``relax.``); with `once`, only if it has no other use. None
        for an op in a block around that of the op which the pattern is tried on: what is computed once in front of a loop stays there."""
        op = defining_op(value)
        if op is None or op.name.removeprefix("relax.") not in names or (once and not has_one_use(value)):
            return None
        return op if op.block == ir.InsertionPoint.current.block else None

    def arrays(self, values: Iterable[ir.Value]) -> list[np.ndarray] | None:
        """The elements of constants; None where a value is none."""
        found = [array for value in values if (array := self.array(value)) is not None]
        return found if len(found) == len(list(values)) else None

    def array(self, value: ir.Value) -> np.ndarray | None:
        """The elements of a constant; None for other values."""
        return self._constants.array(value)

    def scalar(self, value: ir.Value) -> int | float | bool | None:
        """The number that all elements of a constant are equal to; None for other values."""
        return self._constants.scalar(value)

    def is_constant(self, value: ir.Value) -> bool:
        """Whether a relax.constant defines the value."""
        return is_constant(value)

    def split(self, op: ir.Operation) -> tuple[ir.Value, ir.Value] | None:
        """The operands of a commutative op as (variable, constant); None unless exactly one is a constant."""
        a, b = op.operands
        if self.is_constant(a) == self.is_constant(b):
            return None
        return (b, a) if self.is_constant(a) else (a, b)

    def constant(self, array: np.ndarray, *sources: ir.Value) -> ir.Value:
        """A new constant, named after its sources."""
        return self._constants.build(array, self._constants.name_of(*sources))


def attributes(op: ir.Operation) -> dict[str, Any]:
    """The op's attributes as Python values, with defaults."""
    return relax.attributes_of(op)


def is_float(value: ir.Value) -> bool:
    """Whether the value has float elements."""
    return isinstance(value.type.element_type, ir.FloatType)


def dtype_of(value: ir.Value) -> np.dtype:
    """The value's element type."""
    return numpy_dtype(value.type.element_type)


def _same(a: ir.Type, b: ir.Type) -> bool:
    if a == b:
        return True
    if a.element_type != b.element_type or a.rank != b.rank:
        return False
    return all(map(compatible, dims(a), dims(b)))
