"""An ONNX model as a candidate: its protobuf, and the data of large weights beside it, which candidates share."""
from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import external_data_helper

from legato.core.errors import LegatoError
from legato.core.notebook import bytes_text, counted

LARGE = 1 << 12           # bytes of a weight that is held beside the protobuf
FILE_LIMIT = 1 << 30      # bytes of weights that are written into the model's own file; a protobuf holds 2 GB
MARK = "legato-reduce"    # where the data of a weight lies that is held beside the protobuf


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A model. ``proto``: not to be changed; ``data``: the bytes of large weights, by their digests, which stand in the protobuf as the
    locations of external data."""

    proto: onnx.ModelProto
    data: Mapping[str, bytes]

    @staticmethod
    def read(path: Path) -> OnnxModel:
        """The model in a file, with its external data. LegatoError if it is none."""
        try:
            proto = onnx.load(str(path))
        except (DecodeError, onnx.checker.ValidationError, OSError, ValueError) as error:
            raise LegatoError(f"{path} cannot be read as an ONNX model: {error}") from error
        return OnnxModel.of(proto)

    @staticmethod
    def of(proto: onnx.ModelProto) -> OnnxModel:
        """The model of a protobuf that holds its data, which is copied."""
        copy, data = onnx.ModelProto(), {}
        copy.CopyFrom(proto)
        for tensor in tensors(copy):
            if len(tensor.raw_data) >= LARGE:
                digest = hashlib.sha256(tensor.raw_data).hexdigest()
                data[digest] = tensor.raw_data
                tensor.ClearField("raw_data")
                tensor.data_location = onnx.TensorProto.EXTERNAL
                tensor.external_data.add(key="location", value=f"{MARK}:{digest}")
        return OnnxModel(copy, data)

    @property
    def graph(self) -> onnx.GraphProto:
        """The main graph."""
        return self.proto.graph

    def copy(self) -> OnnxModel:
        """A copy whose protobuf may be changed, until it is used as a candidate."""
        proto = onnx.ModelProto()
        proto.CopyFrom(self.proto)
        return OnnxModel(proto, self.data)

    def content(self) -> bytes:
        """The serialized protobuf, in which weights stand by their digests."""
        return self.proto.SerializeToString(deterministic=True)

    def size(self) -> str:
        """The numbers of nodes and bytes."""
        return f"{counted(sum(1 for graph in graphs(self.proto) for _ in graph.node), 'node')}, {bytes_text(self.bytes)}"

    @cached_property
    def bytes(self) -> int:
        """The bytes of the protobuf and its weights."""
        return self.proto.ByteSize() + sum(len(self.data[digest]) for tensor in tensors(self.proto) if (digest := held(tensor)))

    def whole(self) -> onnx.ModelProto:
        """The protobuf with all its data."""
        copy = self.copy().proto
        for tensor in tensors(copy):
            if digest := held(tensor):
                tensor.raw_data = self.data[digest]
                external_data_helper.ExternalDataInfo(tensor)   # checks that the entry is well-formed
                del tensor.external_data[:]
                tensor.ClearField("data_location")
        return copy

    def write(self, path: Path) -> None:
        """Writes the model, with weights of more than a protobuf holds in ``NAME.data`` beside it."""
        if self.bytes < FILE_LIMIT:
            path.write_bytes(self.whole().SerializeToString())
            return
        onnx.save_model(self.whole(), str(path), save_as_external_data=True, location=f"{path.name}.data", size_threshold=1024)

    def problem(self, full: bool = True) -> str | None:
        """What onnx's checker says; None for a valid model. ``full``: with shape inference."""
        copy = self.copy().proto
        for graph in graphs(copy):
            for tensor in [t for t in graph.initializer if held(t)]:   # whose files the checker would look for
                graph.initializer.remove(tensor)
                if all(value.name != tensor.name for value in graph.input):
                    copy.graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
        try:
            onnx.checker.check_model(copy, full_check=full)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, ValueError, RuntimeError) as error:
            return str(error)
        return None


def held(tensor: onnx.TensorProto) -> str | None:
    """The digest of a tensor's data that is held beside the protobuf."""
    for entry in tensor.external_data:
        if entry.key == "location" and entry.value.startswith(f"{MARK}:"):
            return entry.value.removeprefix(f"{MARK}:")
    return None


def graphs(proto: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """The main graph and all graphs in its nodes, outer first."""
    yield from inner_graphs(proto.graph)


def inner_graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """A graph and all graphs in its nodes, outer first."""
    yield graph
    for node in graph.node:
        for inner in subgraphs(node):
            yield from inner_graphs(inner)


def subgraphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """The graphs in a node's attributes."""
    return [graph for attribute in node.attribute for graph in ([attribute.g] if attribute.HasField("g") else [*attribute.graphs])]


def tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """All initializers and tensors in attributes."""
    for graph in graphs(proto):
        yield from graph.initializer
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t


def reads(node: onnx.NodeProto) -> set[str]:
    """The names that a node reads, with those that its graphs take from outside."""
    names = {name for name in node.input if name}
    for graph in subgraphs(node):
        names |= captured(graph)
    return names


def captured(graph: onnx.GraphProto) -> set[str]:
    """The names that a graph reads and does not define."""
    own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    own |= {name for node in graph.node for name in node.output}
    used = {value.name for value in graph.output}.union(*map(reads, graph.node))
    return used - own


def cleaned(model: OnnxModel) -> OnnxModel:
    """The model, changed in place: without nodes, initializers and inputs that no output depends on, and without types of values that are
    gone."""
    _clean(model.graph)
    graph = model.graph
    needed = {value.name for value in graph.output}.union(*map(reads, graph.node))
    replace(graph.input, [value for value in graph.input if value.name in needed])
    return model


def _clean(graph: onnx.GraphProto) -> None:
    """Drops nodes that no output of the graph depends on, in graphs of its nodes, too."""
    for node in graph.node:
        for inner in subgraphs(node):
            _clean(inner)
    needed, kept = {value.name for value in graph.output}, []
    for node in reversed(graph.node):
        if needed & set(node.output):
            kept.append(node)
            needed |= reads(node)
    if len(kept) < len(graph.node):
        replace(graph.node, reversed(kept))
    replace(graph.initializer, [tensor for tensor in graph.initializer if tensor.name in needed])
    replace(graph.sparse_initializer, [tensor for tensor in graph.sparse_initializer if tensor.values.name in needed])
    names = {name for node in graph.node for name in node.output}
    replace(graph.value_info, [value for value in graph.value_info if value.name in names])


def replace(field, values: Iterable) -> None:
    """Sets a repeated field of messages."""
    copied = []
    for value in values:
        one = type(value)()
        one.CopyFrom(value)
        copied.append(one)
    del field[:]
    field.extend(copied)
