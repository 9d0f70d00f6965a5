"""Joins groups of ops if that creates no cycle between groups."""
from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

N = TypeVar("N", bound=Hashable)


class Groups(Generic[N]):
    """An acyclic graph whose nodes are joined into groups. Sets of groups are bit sets in integers."""

    def __init__(self, producers: Mapping[N, Iterable[N]]):
        """``producers``: for each node, in topological order, the nodes that it reads from."""
        self._number = {node: i for i, node in enumerate(producers)}
        self._group = list(range(len(self._number)))  # for each node the number of its group, which is that of the first node
        self._members: dict[int, list[int]] = {i: [i] for i in self._group}
        self._above = [0] * len(self._group)  # for each group the groups that it depends on
        for node, read in producers.items():
            i = self._number[node]
            for one in read:
                j = self._number[one]
                self._above[i] |= self._above[j] | 1 << j

    def group(self, node: N) -> int:
        """The group of a node; equal for nodes that were joined."""
        return self._group[self._number[node]]

    def may_join(self, nodes: Iterable[N]) -> bool:
        """Whether the groups of these nodes can be joined: no path between them leads through another group."""
        groups = {self.group(n) for n in nodes}
        mine = sum(1 << g for g in groups)
        between = 0
        for g in groups:
            between |= self._above[g]
        between &= ~mine
        while between:
            low = between & -between
            if self._above[low.bit_length() - 1] & mine:
                return False
            between ^= low
        return True

    def join(self, nodes: Iterable[N]) -> None:
        """Joins the groups of these nodes."""
        groups = sorted({self.group(n) for n in nodes})
        first, others = groups[0], groups[1:]
        mine = sum(1 << g for g in groups)
        above = 0
        for g in groups:
            above |= self._above[g]
        above &= ~mine
        for g in others:
            for member in self._members[g]:
                self._group[member] = first
            self._members[first] += self._members.pop(g)
        self._above[first] = above
        for g in self._members:
            if self._above[g] & mine:
                self._above[g] = self._above[g] & ~mine | above | 1 << first
