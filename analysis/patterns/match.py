"""What a pattern found."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from legato.analysis.patterns.graph import Node, Ref
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects.relax.types import TensorType


@dataclass(frozen=True)
class Matched:
    """What a named part of a pattern stands for."""

    ref: Ref

    @property
    def op(self) -> ir.Operation | None:
        """The op that makes the value; None for an argument."""
        return self.ref.node.op if self.ref.node is not None else None

    @property
    def name(self) -> str | None:
        """The op's name (``relax.matmul`` also for a kernel that does what it does)."""
        return self.ref.node.name if self.ref.node is not None else None

    @property
    def attrs(self) -> dict[str, Any]:
        """The op's attributes as Python values, defaults filled in."""
        return self.ref.node.attrs if self.ref.node is not None else {}

    @property
    def value(self) -> ir.Value:
        return self.ref.value

    @property
    def type(self) -> TensorType | None:
        """Sizes (``.dims``) and element type (``.dtype``)."""
        return self.ref.type

    @property
    def operands(self) -> list[Matched]:
        return [Matched(ref) for ref in self.ref.node.operands] if self.ref.node is not None else []


class Match:
    """Ops that a pattern takes together. ``nodes``: in program order; ``roots``: the values that the pattern stands for."""

    def __init__(self, name: str, nodes: Iterable[Node], roots: list[Ref], labels: dict[str, Ref], exposed: list[Ref]):
        self.name = name
        self.nodes = sorted(nodes, key=lambda n: n.position)
        self.roots, self.labels, self.exposed = roots, labels, exposed

    def __getitem__(self, label: str) -> Matched:
        if label not in self.labels:
            has = ", ".join(self.labels) or "none"
            raise LegatoError(f"this match of the pattern '{self.name}' has no part named '{label}'; it has: {has}")
        return Matched(self.labels[label])

    def __contains__(self, label: str) -> bool:
        return label in self.labels

    @property
    def root(self) -> Matched:
        """The value that the pattern as a whole stands for."""
        return Matched(self.roots[0])

    @property
    def ops(self) -> list[ir.Operation]:
        """The ops, in program order, without constants."""
        return [node.op for node in self.nodes]

    @property
    def results(self) -> list[Ref]:
        """The values that the group gives: its roots, and what was exposed."""
        return list(dict.fromkeys([*self.roots, *self.exposed]))

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.nodes))})"
