"""Names and order of a graph's nodes."""
import heapq
from collections.abc import Iterable, Iterator

import onnx

from legato.core.errors import LegatoError
from legato.frontends.onnx.problems import Malformed


def check_text(model: onnx.ModelProto, label: str) -> None:
    """LegatoError if a text of the model is not UTF-8: protobuf returns such a string as bytes."""
    for text in _texts(model):
        if isinstance(text, bytes):
            raise LegatoError(f"{label} is damaged: the text {text!r} is not UTF-8")


def _texts(message) -> Iterator[str | bytes]:
    """All strings in a protobuf message. Of tensors the names and where their data lies, because listing all fields copies the data."""
    if isinstance(message, onnx.TensorProto):
        yield message.name
        for entry in message.external_data:
            yield from (entry.key, entry.value)
        return
    for field, value in message.ListFields():
        values = value if field.is_repeated else [value]
        if field.type == field.TYPE_STRING:
            yield from values
        elif field.type == field.TYPE_MESSAGE:
            for inner in values:
                yield from _texts(inner)


def check_names(graph: onnx.GraphProto, label: str) -> None:
    """LegatoError if two inputs, two initializers or two nodes of one graph, or of a node's graph, define the same name, and for an input
    or output without one."""
    for what, values in (("input", graph.input), ("output", graph.output)):
        for number, value in enumerate(values):
            if not value.name:
                raise LegatoError(f"{label}: the {what} {number} has no name")
    given = {value.name for value in graph.input} | set(initializers(graph))
    for node in graph.node:
        for name in node.output:
            if name in given:
                raise LegatoError(f"{label}: node {node_name(node)} defines '{name}', which is already an input or an initializer")
        for attribute in node.attribute:
            if attribute.type == attribute.GRAPH:
                check_names(attribute.g, f"{label}: the graph '{attribute.name}' of node {node_name(node)}")
    _check_unique("inputs", [value.name for value in graph.input], label)
    _check_unique("initializers", initializers(graph), label)
    _check_unique("node outputs", [name for node in graph.node for name in node.output if name], label)


def live_nodes(nodes: list[onnx.NodeProto], outputs: Iterable[str], outside: Iterable[str], label: str) -> list[onnx.NodeProto]:
    """The nodes that the outputs depend on, in topological order, as close to the given order as possible.

    ``outside``: the names defined outside of the nodes. Malformed for a name that nothing defines, and for a cycle.
    """
    outside = set(outside)
    producer = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    sources: dict[int, set[int]] = {}
    pending = []
    for output in outputs:
        if output in producer:
            pending.append(producer[output])
        elif output not in outside:
            raise Malformed(f"{label}: nothing defines the output '{output}'")
    while pending:
        index = pending.pop()
        if index in sources:
            continue
        names = set(reads(nodes[index]))
        for name in names:
            if name not in producer and name not in outside:
                raise Malformed(f"{label}: node {node_name(nodes[index])} reads '{name}', which nothing defines")
        sources[index] = {producer[name] for name in names if name in producer}
        pending.extend(sources[index])
    return [nodes[index] for index in _sorted(sources, nodes, label)]


def _sorted(sources: dict[int, set[int]], nodes: list[onnx.NodeProto], label: str) -> list[int]:
    """The keys in topological order; among those that are ready the smallest comes first."""
    readers: dict[int, list[int]] = {}
    missing = {index: len(before) for index, before in sources.items()}
    for index, before in sources.items():
        for source in before:
            readers.setdefault(source, []).append(index)
    ready = [index for index, count in missing.items() if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for reader in readers.get(index, ()):
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, reader)
    if len(order) != len(sources):
        names = " <- ".join(node_name(nodes[index]) for index in _cycle(sources, set(order)))
        raise Malformed(f"{label}: the graph has a cycle: {names}")
    return order


def _cycle(sources: dict[int, set[int]], done: set[int]) -> list[int]:
    """A cycle among the nodes that are not done; its first node is repeated at the end."""
    path = [next(index for index in sources if index not in done)]
    while path.count(path[-1]) == 1:
        path.append(next(source for source in sources[path[-1]] if source not in done))
    return path[path.index(path[-1]) :]


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """The names a node reads, including those that its subgraphs capture."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        if attribute.type == attribute.GRAPH:
            yield from _captured(attribute.g)


def _captured(graph: onnx.GraphProto) -> Iterator[str]:
    """The names a subgraph reads and does not define."""
    own = {value.name for value in graph.input} | set(initializers(graph))
    own |= {name for node in graph.node for name in node.output}
    for name in [*(name for node in graph.node for name in reads(node)), *(value.name for value in graph.output)]:
        if name not in own:
            yield name


def initializers(graph: onnx.GraphProto) -> list[str]:
    """The names of a graph's initializers, sparse ones at the end."""
    return [*(tensor.name for tensor in graph.initializer), *(sparse.values.name for sparse in graph.sparse_initializer)]


def node_name(node: onnx.NodeProto) -> str:
    """The node's name; for an unnamed node that of its first output."""
    return node.name or next((name for name in node.output if name), node.op_type)


def _check_unique(what: str, names: list[str], label: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise LegatoError(f"{label}: two {what} are called '{name}'")
        seen.add(name)
