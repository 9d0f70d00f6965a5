"""Searches through the ops of a tree: by their names, for the names there are, and for the types of results.

Each is a walk with a visit in Python for every op, until ``by`` is another (codegen/search.py): in a compile,
these walks take a sixth of the time.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from legato.core.mlir import ir


def walk(root: ir.Operation | ir.OpView | ir.Module, visit: Callable[[ir.Operation], ir.WalkResult],
         order: ir.WalkOrder = ir.WalkOrder.POST_ORDER) -> None:
    """Upstream's walk of an op and all ops nested in it. An interrupt (Ctrl-C) during ``visit`` stays a KeyboardInterrupt: the bindings
    turn whatever a callback raises into a RuntimeError, which a caller's ``except Exception`` would take for a failed compile."""
    try:
        root.operation.walk(visit, order)
    except RuntimeError as error:
        if re.search(r"^KeyboardInterrupt\b", str(error), re.MULTILINE):
            raise KeyboardInterrupt from None
        raise


class OpSearch(Protocol):
    """What finds ops and types in the tree of ``root``, itself included."""

    def ops(self, root: ir.Operation, names: Sequence[str], order: ir.WalkOrder) -> list[ir.Operation]:
        """The ops with one of these names."""
        ...

    def kinds(self, root: ir.Operation) -> list[ir.Operation]:
        """The first op of each name, in post-order."""
        ...

    def count(self, root: ir.Operation) -> int:
        """The number of ops."""
        ...

    def unused(self, root: ir.Operation) -> list[ir.Operation]:
        """The ops with results that have no uses, none of them, in post-order."""
        ...

    def result_types(self, root: ir.Operation) -> list[ir.Type]:
        """The types of results, each once."""
        ...

    def of_types(self, root: ir.Operation, types: Sequence[ir.Type]) -> list[ir.Operation]:
        """The ops with an operand or result of one of these types, and those with regions, in post-order."""
        ...

    def first_giving(self, block: ir.Block, types: Sequence[ir.Type]) -> ir.Operation | None:
        """The first op of a block, not of a region in it, with a result of one of these types; None if there is none."""
        ...


class PythonSearch:
    """Searches by visits in Python."""

    def ops(self, root: ir.Operation, names: Sequence[str], order: ir.WalkOrder) -> list[ir.Operation]:
        """The ops with one of these names."""
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name in names:
                found.append(op.operation)
            return ir.WalkResult.ADVANCE

        walk(root, visit, order)
        return found

    def kinds(self, root: ir.Operation) -> list[ir.Operation]:
        """The first op of each name, in post-order."""
        found: dict[str, ir.Operation] = {}

        def visit(op: ir.Operation) -> ir.WalkResult:
            found.setdefault(op.name, op.operation)
            return ir.WalkResult.ADVANCE

        walk(root, visit)
        return list(found.values())

    def count(self, root: ir.Operation) -> int:
        """The number of ops."""
        count = 0

        def visit(op: ir.Operation) -> ir.WalkResult:
            nonlocal count
            count += 1
            return ir.WalkResult.ADVANCE

        walk(root, visit)
        return count

    def unused(self, root: ir.Operation) -> list[ir.Operation]:
        """The ops with results that have no uses, none of them, in post-order."""
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if len(op.results) and all(next(iter(result.uses), None) is None for result in op.results):
                found.append(op.operation)
            return ir.WalkResult.ADVANCE

        walk(root, visit)
        return found

    def result_types(self, root: ir.Operation) -> list[ir.Type]:
        """The types of results, each once."""
        found: dict[ir.Type, None] = {}

        def visit(op: ir.Operation) -> ir.WalkResult:
            found.update(dict.fromkeys(result.type for result in op.results))
            return ir.WalkResult.ADVANCE

        walk(root, visit)
        return list(found)

    def of_types(self, root: ir.Operation, types: Sequence[ir.Type]) -> list[ir.Operation]:
        """The ops with an operand or result of one of these types, and those with regions, in post-order."""
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if len(op.regions) or any(value.type in types for value in (*op.operands, *op.results)):
                found.append(op.operation)
            return ir.WalkResult.ADVANCE

        walk(root, visit)
        return found

    def first_giving(self, block: ir.Block, types: Sequence[ir.Type]) -> ir.Operation | None:
        """The first op of a block, not of a region in it, with a result of one of these types; None if there is none."""
        wanted = set(types)
        return next((op.operation for op in block.operations if any(result.type in wanted for result in op.operation.results)), None)


by: OpSearch = PythonSearch()     # what all searches of the process use


def no_other() -> None:
    """There is no other search."""


begin_other: Callable[[], object] = no_other      # begins to make a faster search in the background, which then becomes ``by``
