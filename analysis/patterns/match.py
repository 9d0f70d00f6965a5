"""Matches of patterns in a graph."""
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
    """A value that a named part of a pattern has matched."""

    ref: Ref

    @property
    def op(self) -> ir.Operation | None:
        """The op that defines the value; None for an argument."""
        return self.ref.node.op if self.ref.node is not None else None

    @property
    def name(self) -> str | None:
        """The op's name (also ``relax.matmul`` for a kernel that computes the same)."""
        return self.ref.node.name if self.ref.node is not None else None

    @property
    def attrs(self) -> dict[str, Any]:
        """The op's attributes as Python values, with defaults."""
        return self.ref.node.attrs if self.ref.node is not None else {}

    @property
    def value(self) -> ir.Value:
        """The value in the IR."""
        return self.ref.value

    @property
    def type(self) -> TensorType | None:
        """Sizes (``.dims``) and element type (``.dtype``)."""
        return self.ref.type

    @property
    def operands(self) -> list[Matched]:
        """The operands of the op that defines the value."""
        return [Matched(ref) for ref in self.ref.node.operands] if self.ref.node is not None else []


class Match:
    """Ops that match a pattern together. ``nodes``: in program order; ``roots``: the values of the pattern itself; ``copied``: those of the
    ops that stay for others, too."""

    def __init__(self, name: str, nodes: Iterable[Node], roots: list[Ref], labels: dict[str, Ref], exposed: list[Ref],
                 copied: frozenset[Node] = frozenset()):
        self.name, self.copied = name, copied
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
        """The value of the whole pattern."""
        return Matched(self.roots[0])

    @property
    def ops(self) -> list[ir.Operation]:
        """The ops, in program order, without constants."""
        return [node.op for node in self.nodes]

    @property
    def own(self) -> list[Node]:
        """The nodes that belong to this match alone, in program order."""
        return [node for node in self.nodes if node not in self.copied]

    @property
    def results(self) -> list[Ref]:
        """The results of the group: its roots, and exposed values."""
        return list(dict.fromkeys([*self.roots, *self.exposed]))

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.nodes))})"
