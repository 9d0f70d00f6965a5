"""Patterns for a backend that supports all ops of ONNX: one for each op."""
from __future__ import annotations

from collections.abc import Callable, Iterable

from legato.analysis.patterns import Composite, Match, composite, is_op
from legato.targets.backends.onnx.exporter import exportable
from legato.targets.backends.onnx.ops import TABLE


def op_patterns(also: Callable[[Match], bool | str] | None = None, without: Iterable[str] = ()) -> list[Composite]:
    """A composite for each op that can be exported, by its name. ``also``: a further check; ``without``: ops to leave out."""
    def check(match: Match) -> bool | str:
        node = match.nodes[0]
        if node.kernel is not None:
            return "it is a kernel already"
        if any(0 in ref.type.dims for ref in (*node.operands, *node.results) if ref.type is not None):
            return "it has a tensor without elements, which engines treat in ways of their own"
        answer = exportable(node.op)
        return answer if answer is not True or also is None else also(match)

    left_out = set(without)
    return [composite(name.split(".")[1], is_op(name), check) for name in TABLE if name not in left_out]
