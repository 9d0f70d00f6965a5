"""Drops what nodes and models have besides nodes: attributes, optional inputs, types of values, names of the producer, functions."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import numpy_helper

from legato.reduction.onnx.model import OnnxModel, cleaned, graphs, held, replace
from legato.reduction.search import Search


def drop_metadata(search: Search[OnnxModel]) -> None:
    """Drops descriptions, properties and the declared types of values."""
    model = search.best.copy()
    for message in (model.proto, *graphs(model.proto), *(node for graph in graphs(model.proto) for node in graph.node)):
        message.ClearField("doc_string")
        message.ClearField("metadata_props")
    for field in ("producer_name", "producer_version", "domain", "model_version"):
        model.proto.ClearField(field)
    search.accepts(model)
    model = search.best.copy()
    for graph in graphs(model.proto):
        graph.ClearField("value_info")
        graph.ClearField("quantization_annotation")
    search.accepts(model)


def drop_opsets(search: Search[OnnxModel]) -> None:
    """Drops operator sets and functions that nothing uses."""
    for field in ("functions", "opset_import"):
        base = search.best

        def build(kept: list[int], base: OnnxModel = base, field: str = field) -> OnnxModel:
            model = base.copy()
            replace(getattr(model.proto, field), [getattr(base.proto, field)[n] for n in kept])
            return model

        search.minimize(range(len(getattr(base.proto, field))), build)


def drop_attributes(search: Search[OnnxModel]) -> None:
    """Drops attributes of nodes."""
    base = search.best
    places = [(number, n, attribute.name) for number, graph in enumerate(graphs(base.proto)) for n, node in enumerate(graph.node)
              for attribute in node.attribute if not attribute.HasField("g")]

    def build(kept: list[tuple[int, int, str]]) -> OnnxModel:
        model, chosen = base.copy(), set(kept)
        for number, graph in enumerate(graphs(model.proto)):
            for n, node in enumerate(graph.node):
                replace(node.attribute, [a for a in node.attribute if a.HasField("g") or (number, n, a.name) in chosen])
        return model

    search.minimize(places, build)


def drop_inputs(search: Search[OnnxModel]) -> None:
    """Drops the optional inputs and outputs of nodes: the last ones, or any by an empty name."""
    places = [(number, n) for number, graph in enumerate(graphs(search.best.proto)) for n in range(len(graph.node))]

    def variants(base: OnnxModel, place: tuple[int, int]) -> Iterator[OnnxModel]:
        node = _node(base, place)
        for field in ("input", "output"):
            names = list(getattr(node, field))
            for number in reversed(range(len(names))):
                if not names[number] and number + 1 < len(names):
                    continue
                model = base.copy()
                left = [*names[:number], "", *names[number + 1:]]
                while left and not left[-1]:
                    left.pop()
                changed = getattr(_node(model, place), field)
                del changed[:]
                changed.extend(left)
                yield cleaned(model)

    for _ in range(8):   # of one node
        if not search.greedy(places, lambda base, place: variants(base, place) if _has(base, place) else ()):
            break


def _has(model: OnnxModel, place: tuple[int, int]) -> bool:
    found = list(graphs(model.proto))
    return place[0] < len(found) and place[1] < len(found[place[0]].node)


def _node(model: OnnxModel, place: tuple[int, int]) -> onnx.NodeProto:
    return list(graphs(model.proto))[place[0]].node[place[1]]


def lift_large_weights(search: Search[OnnxModel]) -> None:
    """Makes inputs of all large weights at once, which makes each further candidate quick."""
    model = search.best.copy()
    large = [tensor for tensor in model.graph.initializer if held(tensor)]
    for tensor in large:
        _lift(model, tensor)
    if large:
        search.accepts(model)


def _lift(model: OnnxModel, tensor: onnx.TensorProto) -> None:
    if all(value.name != tensor.name for value in model.graph.input):
        model.graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    model.graph.initializer.remove(tensor)


def simplify_weights(search: Search[OnnxModel]) -> None:
    """Makes inputs of weights, or else sets their elements to 0 or 1."""
    def variants(base: OnnxModel, name: str) -> Iterator[OnnxModel]:
        found = [tensor for tensor in base.graph.initializer if tensor.name == name]
        if not found:
            return
        count = np.prod(found[0].dims, dtype=np.int64)
        if count > 8:   # smaller ones are shapes and scalars, whose values are the model
            model = base.copy()
            _lift(model, next(t for t in model.graph.initializer if t.name == name))
            yield model
        array = _array(base, found[0])
        if array is None or array.dtype.kind not in "biuf":
            return
        for value in (0, 1):
            if not np.all(array == value) and not (value and np.all(array == 0)):
                yield _with_array(base, name, np.full_like(array, value))

    search.greedy([tensor.name for tensor in search.best.graph.initializer], variants)


def _array(model: OnnxModel, tensor: onnx.TensorProto) -> np.ndarray | None:
    copy = onnx.TensorProto()
    copy.CopyFrom(tensor)
    if digest := held(tensor):
        copy.raw_data = model.data[digest]
        del copy.external_data[:]
        copy.ClearField("data_location")
    try:
        return numpy_helper.to_array(copy)
    except (ValueError, TypeError):
        return None   # an invalid tensor


def _with_array(base: OnnxModel, name: str, array: np.ndarray) -> OnnxModel:
    model = base.copy()
    for tensor in model.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(array, name))
    return OnnxModel(OnnxModel.of(model.proto).proto, {**model.data, **OnnxModel.of(model.proto).data})


def shrink_integers(search: Search[OnnxModel]) -> None:
    """Sets integers in attributes to 0, 1, or half of what they are."""
    places = [(number, n, a.name, i) for number, graph in enumerate(graphs(search.best.proto)) for n, node in enumerate(graph.node)
              for a in node.attribute for i in range(len(a.ints) or 1) if a.type in (onnx.AttributeProto.INT, onnx.AttributeProto.INTS)]

    def variants(base: OnnxModel, place: tuple[int, int, str, int]) -> Iterator[OnnxModel]:
        number, n, name, i = place
        if not _has(base, (number, n)):
            return
        found = [a for a in _node(base, (number, n)).attribute if a.name == name]
        if not found or (found[0].ints and i >= len(found[0].ints)):
            return
        old = found[0].ints[i] if found[0].ints else found[0].i
        for value in dict.fromkeys((0, 1, old // 2)):
            if abs(value) < abs(old):
                model = base.copy()
                attribute = next(a for a in _node(model, (number, n)).attribute if a.name == name)
                if attribute.ints:
                    attribute.ints[i] = value
                else:
                    attribute.i = value
                yield model

    search.greedy(places, variants)
