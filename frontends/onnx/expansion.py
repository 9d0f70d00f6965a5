"""Bounds the nodes that a model's loops and functions become: each step of a loop, and each call of a function, is a copy of its nodes."""
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod

import onnx

from legato.core.errors import UnsupportedError
from legato.frontends.onnx.problems import Refused
from legato.frontends.onnx.reader import canonical_domain

MOST_NODES = 100_000
MOST_NESTED = 64    # functions and bodies inside each other; each takes several of Python's 1,000 frames
MOST_COUNTED = 256  # functions inside each other whose nodes are counted, which takes fewer frames: a count is the better message
FunctionId = tuple[str, str, str]  # domain, name, overload


class TooManyNodesError(UnsupportedError):
    """The import ends, because the graph would become too large to compile."""


class Expansion:
    """The copies that an import has made so far."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.nodes = 0
        self._loops: list[int] = []
        self._depth = 0

    @contextmanager
    def loop(self, steps: int, nodes: int) -> Iterator[None]:
        """The context in which a loop's steps are imported, of so many nodes each. Refused if that is too much for the loops around it."""
        total = prod(self._loops) * steps * nodes
        if self._loops and total > MOST_NODES:
            around = " x ".join(f"{count:,}" for count in self._loops)
            raise Refused(f"its {steps:,} steps of {nodes:,} nodes run in {around} steps of the loops around it: {total:,} nodes, as each "
                          f"step is a copy; {MOST_NODES:,} are the most")
        self._loops.append(steps)
        try:
            yield
        finally:
            self._loops.pop()

    @contextmanager
    def copy(self) -> Iterator[None]:
        """The context in which the nodes of a function or of a loop's body are imported. TooManyNodesError where too many are nested."""
        self._check_depth(self._depth + 1)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def count(self, where: str) -> None:
        """Counts a node. TooManyNodesError, naming it, for one too many."""
        self.nodes += self._depth > 0
        if self.nodes > MOST_NODES:
            raise TooManyNodesError(f"{self.label}: its loops and functions have become {self.nodes:,} nodes at {where}, as each step and "
                                    f"each call is a copy; {MOST_NODES:,} are the most")

    def _check_depth(self, depth: int) -> None:
        if depth > MOST_NESTED:
            raise TooManyNodesError(f"{self.label}: its functions and loops call each other more than {MOST_NESTED} deep; inline some of "
                                    "them before (onnx.inliner.inline_local_functions)")

    def check_functions(self, graph: onnx.GraphProto, functions: Mapping[FunctionId, onnx.FunctionProto]) -> None:
        """TooManyNodesError if the graph's calls of the model's own functions become too many nodes."""
        sizes = _Sizes(functions, self._check_depth)
        total = sizes.of(graph.node) - len(graph.node)
        if total > MOST_NODES:
            raise TooManyNodesError(f"{self.label}: its functions become {total:,} nodes, as each call is a copy; {MOST_NODES:,} are the "
                                    "most")


class _Sizes:
    """The numbers of nodes that functions become; a function that calls itself counts as one node there."""

    def __init__(self, functions: Mapping[FunctionId, onnx.FunctionProto], check_depth: Callable[[int], None]) -> None:
        self._functions, self._check_depth, self._depth = functions, check_depth, 0
        self._known: dict[FunctionId, int] = {}

    def of(self, nodes: Sequence[onnx.NodeProto]) -> int:
        total = 0
        for node in nodes:
            key = (canonical_domain(node.domain), node.op_type, node.overload)
            total += self._of_function(key) if key in self._functions else 1
            for attribute in node.attribute:
                total += self.of(attribute.g.node) if attribute.HasField("g") else 0
        return total

    def _of_function(self, key: FunctionId) -> int:
        if key not in self._known:
            self._known[key] = 1
            self._depth += 1
            if self._depth > MOST_COUNTED:
                self._check_depth(self._depth)
            self._known[key] = self.of(self._functions[key].node)
            self._depth -= 1
        return self._known[key]
