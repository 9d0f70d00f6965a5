"""Puts the contents of branches, loops and functions in their places."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import onnx.inliner
from onnx import numpy_helper

from legato.reduction.onnx.model import OnnxModel, cleaned, graphs, subgraphs
from legato.reduction.search import Search


def inline_functions(search: Search[OnnxModel]) -> None:
    """Inlines all functions of the model."""
    if not search.best.proto.functions:
        return
    try:
        proto = onnx.inliner.inline_local_functions(search.best.copy().proto)
    except (RuntimeError, ValueError):
        return   # the model is invalid
    search.accepts(OnnxModel(proto, search.best.data))


def inline_regions(search: Search[OnnxModel]) -> None:
    """Replaces an If by one of its branches, and a Loop by one iteration, where nothing reads what it collects."""
    while True:
        places = [(number, n) for number, graph in enumerate(graphs(search.best.proto)) for n, node in enumerate(graph.node)
                  if subgraphs(node)]
        if search.first((True, one) for place in places for one in _variants(search.best, place)) is None:
            return


def _variants(base: OnnxModel, place: tuple[int, int]) -> Iterator[OnnxModel | None]:
    for number in range(len(subgraphs(list(graphs(base.proto))[place[0]].node[place[1]]))):
        yield _inlined(base, place, number)


def _inlined(base: OnnxModel, place: tuple[int, int], number: int) -> OnnxModel | None:
    model = base.copy()
    outer = list(graphs(model.proto))[place[0]]
    node = onnx.NodeProto()
    node.CopyFrom(outer.node[place[1]])
    inner = subgraphs(node)[number]
    given = _arguments(node, inner, outer)
    if given is None:
        return None
    skip = 1 if node.op_type == "Loop" else 0   # the condition, which a body returns first
    results = [value.name for value in inner.output][skip:]
    if len(results) < len([name for name in node.output if name]):
        return None
    outer.initializer.extend(inner.initializer)
    new = [onnx.helper.make_node("Identity", [source], [to]) for to, source in given.items()]
    new += [*inner.node, *(onnx.helper.make_node("Identity", [source], [to]) for source, to in zip(results, node.output) if to)]
    before, after = [*outer.node[:place[1]]], [*outer.node[place[1] + 1:]]
    copied = []
    for one in (*before, *new, *after):
        copy = onnx.NodeProto()
        copy.CopyFrom(one)
        copied.append(copy)
    del outer.node[:]
    outer.node.extend(copied)
    return cleaned(model)


def _arguments(node: onnx.NodeProto, inner: onnx.GraphProto, outer: onnx.GraphProto) -> dict[str, str] | None:
    """What the inputs of a body are in its first iteration, by name; None if that is unknown."""
    if node.op_type == "If":
        return {}
    if node.op_type != "Loop" or any(node.output[len(node.input) - 2:]):
        return None
    names = [value.name for value in inner.input]
    if len(names) != len(node.input) or not names:
        return None
    for name, array in ((f"{names[0]}_first", np.array(0, np.int64)), (f"{names[1]}_first", np.array(True))):
        outer.initializer.append(numpy_helper.from_array(array, name))
    return {names[0]: f"{names[0]}_first", names[1]: f"{names[1]}_first", **dict(zip(names[2:], node.input[2:]))}
