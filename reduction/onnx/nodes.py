"""Drops nodes and outputs: values that dropped nodes computed become inputs of the model, or constants."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import onnx

from legato.reduction.onnx.model import OnnxModel, captured, cleaned, graphs, reads, replace
from legato.reduction.onnx.values import has_rank, small_values, types_of
from legato.reduction.search import Search

INTEGERS = (onnx.TensorProto.INT64, onnx.TensorProto.INT32, onnx.TensorProto.BOOL)
Place = tuple[int, int]   # the number of a graph, outer first, and of a node in it


def drop_outputs(search: Search[OnnxModel]) -> None:
    """Drops outputs, and the nodes that only they need."""
    base = search.best

    def build(kept: Sequence[int]) -> OnnxModel:
        model = base.copy()
        replace(model.graph.output, [base.graph.output[n] for n in kept])
        return cleaned(model)

    search.minimize(range(len(base.graph.output)), build, least=1)


def drop_nodes(search: Search[OnnxModel]) -> None:
    """Drops nodes of all graphs. Values that the others read become inputs; where integers are computed on the way (shapes, axes), small
    ones become constants, if that leads further."""
    _drop_nodes(search, {})
    types = types_of(search.best)
    computed = [types[name] for node in search.best.graph.node for name in node.output if name in types]
    if len(search.best.graph.node) > 1 and any(type_.tensor_type.elem_type in INTEGERS for type_ in computed):
        values = small_values(search.best)
        _drop_nodes(search, {name: array for name, array in values.items() if array.dtype.kind in "iub"})


def _drop_nodes(search: Search[OnnxModel], values: Mapping[str, np.ndarray]) -> None:
    base, types = search.best, types_of(search.best)
    places = [(number, n) for number, graph in enumerate(graphs(base.proto)) for n in range(len(graph.node))]
    search.minimize(places, partial(with_nodes, base, types=types, values=values))


def with_nodes(base: OnnxModel, kept: Sequence[Place], types: Mapping[str, onnx.TypeProto],
               values: Mapping[str, np.ndarray]) -> OnnxModel | None:
    """The model with these nodes alone; None if a value whose type is unknown would have to become an input."""
    model, chosen = base.copy(), set(kept)
    needed = set()
    for number, graph in reversed(list(enumerate(graphs(model.proto)))):
        nodes = [node for n, node in enumerate(graph.node) if (number, n) in chosen]
        gone = {name for n, node in enumerate(graph.node) if (number, n) not in chosen for name in node.output if name}
        if number == 0:
            _keep_outputs(graph, nodes, gone, types)
        else:   # a graph in a node returns values of its own: pass on those from outside
            for value in graph.output:
                if value.name in gone:
                    nodes.append(onnx.helper.make_node("Identity", [f"{value.name}_outside"], [value.name]))
        replace(graph.node, nodes)
        needed |= gone
    if not model.graph.output:
        return None
    given = {value.name for value in model.graph.input} | {tensor.name for tensor in model.graph.initializer}
    for name in sorted(captured(model.graph)):
        if name in given:
            continue
        inner = name.removesuffix("_outside") if name not in needed else name
        if inner in values:
            model.graph.initializer.append(onnx.numpy_helper.from_array(values[inner], name))
        elif inner in types and has_rank(types[inner]):
            model.graph.input.append(onnx.helper.make_value_info(name, types[inner]))
        else:
            return None
    return cleaned(model)


def _keep_outputs(graph: onnx.GraphProto, nodes: Sequence[onnx.NodeProto], gone: set[str],
                  types: Mapping[str, onnx.TypeProto]) -> None:
    """Sets the outputs of the main graph: those that are left, and values of its nodes that no node reads any more."""
    outputs = [value for value in graph.output if value.name not in gone]
    names = {value.name for value in outputs}
    read = set().union(*map(reads, nodes)) if nodes else set()
    before = set().union(*map(reads, graph.node)) if graph.node else set()
    for node in nodes:
        for name in node.output:
            if name and name in before and name not in read | names:
                outputs.append(onnx.helper.make_value_info(name, types[name]) if name in types else onnx.ValueInfoProto(name=name))
    replace(graph.output, outputs)


def bypass_nodes(search: Search[OnnxModel]) -> None:
    """Replaces nodes by one of their inputs, of the same type where types are known."""
    def places(model: OnnxModel) -> Iterator[Place]:
        return ((number, n) for number, graph in enumerate(graphs(model.proto)) for n in reversed(range(len(graph.node))))

    def variants(base: OnnxModel, place: Place) -> Iterator[OnnxModel | None]:
        all_graphs = list(graphs(base.proto))
        if place[0] >= len(all_graphs) or place[1] >= len(all_graphs[place[0]].node):
            return
        types, node = types_of(base), all_graphs[place[0]].node[place[1]]
        if len([name for name in node.output if name]) != 1:
            return
        for name in dict.fromkeys(name for name in node.input if name):
            if name in types and node.output[0] in types and types[name] != types[node.output[0]]:
                continue
            yield _bypassed(base, place, name)

    search.greedy(list(places(search.best)), variants)


def _bypassed(base: OnnxModel, place: Place, name: str) -> OnnxModel | None:
    model = base.copy()
    graph = list(graphs(model.proto))[place[0]]
    old = next(one for one in graph.node[place[1]].output if one)
    if old in {value.name for value in graph.output}:
        return None   # another name for an output is no smaller
    del graph.node[place[1]]
    for one in graphs(model.proto):
        for node in one.node:
            for n, read in enumerate(node.input):
                if read == old:
                    node.input[n] = name
    return cleaned(model)
