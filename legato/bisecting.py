"""``legato.bisect``: the first layer of an ONNX model whose value differs from onnxruntime's."""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from legato import driver
from legato.comparison import Peer, random_inputs, relative_error
from legato.core.errors import LegatoError
from legato.frontends.onnx import from_onnx
from legato.frontends.onnx.reader import read_model

Arrays = dict[str, np.ndarray]
TOGETHER = 1 << 30      # bytes of values that become outputs at once
PROTOBUF = 2 << 30
DEFAULT_SIZE = 8        # of a dimension that inference does not know


@dataclass(frozen=True)
class LayerError:
    """``layer``: the name of a node, ``op``: its type, ``value``: its output; ``error``: max|a-b| / max|b| against onnxruntime, infinite
    for another shape or element type; ``largest``: max|b|, NaN for values that are no numbers."""

    layer: str
    op: str
    value: str
    error: float
    largest: float


@dataclass(frozen=True)
class Bisection:
    """What ``legato.bisect`` found. ``str()`` is the table, and what it says.

    ``layers``: errors in the order of the graph, as far as it was looked at; ``first``: the first above the ``tolerance``, or None;
    ``alone``: the error of that layer on onnxruntime's values, None if it cannot stand alone; ``outputs``: the greatest error of the
    model's outputs as it is; ``hidden``: if the outputs differ and no value does once it is an output: the layer whose value has to stay
    inside a kernel for them to differ.
    """

    layers: Sequence[LayerError]
    tolerance: float
    outputs: float
    first: LayerError | None
    alone: float | None
    hidden: LayerError | None

    def __str__(self) -> str:
        rows = [("layer", "op", "value", "error", "max|value|"),
                *((one.layer, one.op, one.value, f"{one.error:.1e}{' *' if one.error > self.tolerance else ''}", f"{one.largest:.3g}")
                  for one in self.layers)]
        widths = [max(len(row[n]) for row in rows) for n in range(5)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, self.verdict()])

    def verdict(self) -> str:
        """What was found, in a line or two."""
        if self.first is not None:
            of = f"layer '{self.first.layer}' ({self.first.op})"
            alone = "" if self.alone is None else (
                f"; alone, on onnxruntime's values, its error is {self.alone:.1e}"
                + ("" if self.alone > self.tolerance else ": it amplifies small differences of the layers before it"))
            gone = "" if self.outputs > self.tolerance else (
                "\nthe model's own outputs agree: the value differs only when it is an output, which keeps it out of fused kernels")
            return f"bisect: the first difference is in {of}, error {self.first.error:.1e}{alone}{gone}"
        if self.hidden is not None:
            return (f"bisect: the outputs differ (error {self.outputs:.1e}), and agree once all values are outputs too, which fusion "
                    f"cannot take inside kernels: they differ while the value of layer '{self.hidden.layer}' ({self.hidden.op}) stays "
                    "inside one. "
                    "legato-compile --explain shows its kernel")
        return f"bisect: no layer differs by more than {self.tolerance:g}"


def bisect(model: str | os.PathLike | bytes | onnx.ModelProto, inputs: Mapping[str, np.ndarray] | None = None, *, tolerance: float = 1e-4,
           shapes: Mapping[str, Sequence[int | str]] | None = None, sizes: Mapping[str, int] | None = None, seed: int = 0,
           **settings: Any) -> Bisection:
    """Compares the values of all layers of an ONNX model with onnxruntime's, in the order of the graph.

    ``inputs``: arrays by name; others are random (``seed``; ``sizes``: of symbols, 8 by default). ``tolerance``: the largest relative
    error that counts as equal. ``shapes``: as in ``from_onnx``. ``settings``: as in ``legato.compile``.

    The values of the graph's nodes are made outputs, all at once or, where they take more than a gigabyte, in groups up to the first that
    has a difference; what is inside of branches, loops and functions is not looked at. As an output a value cannot be fused away:
    ``Bisection.hidden`` says where that makes a difference vanish.

    LegatoError if Legato or onnxruntime refuse the model.
    """
    return _Bisector(_in_memory(model), dict(inputs or {}), tolerance, shapes, dict(sizes or {}), seed, settings).run()


def _in_memory(model: str | os.PathLike | bytes | onnx.ModelProto) -> onnx.ModelProto:
    source = read_model(model)
    proto = source.proto
    if source.file is not None:
        onnx.load_external_data_for_model(proto, str(source.file.parent))
    if sum(len(tensor.raw_data) for tensor in proto.graph.initializer) >= PROTOBUF:
        raise LegatoError("a bisection hands the model to onnxruntime as one protobuf, which holds less than 2 GB: make it smaller first "
                          "(legato-reduce)")
    return proto


@dataclass
class _Bisector:
    proto: onnx.ModelProto
    inputs: Arrays
    tolerance: float
    shapes: Mapping[str, Sequence[int | str]] | None
    sizes: dict[str, int]
    seed: int
    settings: dict[str, Any]

    def run(self) -> Bisection:
        declared = [value.name for value in self.proto.graph.output]
        outputs = max((error for error, _ in self.errors([], declared)), default=0.0)
        values = [(node, name) for node, name in self.values() if name not in declared]
        layers: list[LayerError] = []
        for group in self.groups([*values, *((node, name) for node, name in self.values() if name in declared)]):
            names = [name for _, name in group]
            found = [LayerError(node.name or node.output[0], node.op_type, name, error, largest)
                     for (node, name), (error, largest) in zip(group, self.errors(names, names))]
            layers += found
            if any(one.error > self.tolerance for one in found):
                break
        order = {name: n for n, (_, name) in enumerate(self.values())}
        layers.sort(key=lambda one: order[one.value])
        first = next((one for one in layers if one.error > self.tolerance), None)
        hidden = self.hidden([name for _, name in values], declared) if first is None and outputs > self.tolerance else None
        return Bisection(layers, self.tolerance, outputs, first, self.alone(first) if first else None, hidden)

    def values(self) -> list[tuple[onnx.NodeProto, str]]:
        """The outputs of nodes that are tensors and that something reads."""
        used = {name for node in self.proto.graph.node for name in (*node.input, *(n for a in node.attribute for n in _inner_reads(a.g)))}
        used |= {value.name for value in self.proto.graph.output}
        types = self.types()
        return [(node, name) for node in self.proto.graph.node for name in node.output
                if name in used and (name not in types or types[name].WhichOneof("value") == "tensor_type")]

    def types(self) -> dict[str, onnx.TypeProto]:
        try:
            graph = onnx.shape_inference.infer_shapes(self.proto, data_prop=True).graph
        except (onnx.shape_inference.InferenceError, ValueError, RuntimeError):
            graph = self.proto.graph
        return {value.name: value.type for value in (*graph.value_info, *graph.output) if value.type.WhichOneof("value")}

    def groups(self, values: list[tuple[onnx.NodeProto, str]]) -> Iterator[list[tuple[onnx.NodeProto, str]]]:
        """The values in groups that become outputs together."""
        types, group, held = self.types(), [], 0.0
        for one in values:
            dims = types[one[1]].tensor_type.shape.dim if one[1] in types else ()
            count = float(np.prod([d.dim_value or self.sizes.get(d.dim_param, DEFAULT_SIZE) for d in dims], dtype=np.float64)) * 4
            if group and held + count > TOGETHER:
                yield group
                group, held = [], 0.0
            group.append(one)
            held += count
        if group:
            yield group

    def with_outputs(self, names: Sequence[str], declared: bool = True) -> onnx.ModelProto:
        """The model with more outputs; without its own unless ``declared``."""
        model = onnx.ModelProto()
        model.CopyFrom(self.proto)
        types = self.types()
        if not declared:
            del model.graph.output[:]
        there = {value.name for value in model.graph.output}
        for name in names:
            if name not in there:
                model.graph.output.append(onnx.ValueInfoProto(name=name, type=types.get(name)))
        return model

    def errors(self, more: Sequence[str], wanted: Sequence[str]) -> list[tuple[float, float]]:
        """The errors of some values, and their largest elements, of the model with ``more`` outputs."""
        model = self.with_outputs(more)
        names = [value.name for value in model.graph.output]
        ours, theirs = self.both(model)
        found = []
        for name in wanted:
            a, b = ours[names.index(name)], theirs[names.index(name)]
            numbers = b.dtype.kind in "biuf" and b.size
            found.append((relative_error(a, b), float(np.max(np.abs(b.astype(np.float64)))) if numbers else float("nan")))
        return found

    def both(self, model: onnx.ModelProto) -> tuple[Sequence[np.ndarray], Sequence[np.ndarray]]:
        """The outputs of Legato and of onnxruntime, for the same inputs."""
        exe = driver.compile(from_onnx(model, shapes=self.shapes), **{"cache": False, **self.settings})
        for name, value in random_inputs(exe.inputs, self.sizes, self.seed).items():
            self.inputs.setdefault(name, value)
        given = {spec.name: self.inputs[spec.name] for spec in exe.inputs}
        try:
            outputs = exe(**given)
        except (TypeError, ValueError, MemoryError) as error:
            raise LegatoError(str(error)) from error
        return outputs if isinstance(outputs, tuple) else (outputs,), self.peer(model, given)

    def peer(self, model: onnx.ModelProto, given: Arrays) -> Sequence[np.ndarray]:
        """onnxruntime's outputs. LegatoError if it cannot run the model."""
        try:
            return Peer(model.SerializeToString())(given)
        except Exception as error:   # its own classes, which have no common base
            raise LegatoError(f"onnxruntime cannot run the model: {error}") from error

    def alone(self, layer: LayerError) -> float | None:
        """The error of a layer as a model of its own, on onnxruntime's values; None if it cannot be one."""
        node = next(node for node in self.proto.graph.node if layer.value in node.output)
        if any(a.HasField("g") or a.graphs for a in node.attribute):
            return None
        stored = {tensor.name: tensor for tensor in self.proto.graph.initializer}
        names = [name for name in dict.fromkeys(node.input) if name and name not in stored]
        computed = [name for name in names if name not in self.inputs]
        values = dict(zip(computed, self.peer(self.with_outputs(computed, declared=False), self.inputs))) if computed else {}
        arrays = {name: values.get(name, self.inputs.get(name)) for name in names}
        if any(not isinstance(array, np.ndarray) for array in arrays.values()):
            return None
        given = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                 for name, array in arrays.items() if array is not None]
        types = self.types()
        output = onnx.ValueInfoProto(name=layer.value, type=types.get(layer.value))
        graph = onnx.helper.make_graph([node], "layer", given, [output], [stored[n] for n in dict.fromkeys(node.input) if n in stored])
        model = onnx.helper.make_model(graph, opset_imports=self.proto.opset_import, functions=self.proto.functions,
                                       ir_version=self.proto.ir_version)
        one = _Bisector(model, {name: array for name, array in arrays.items() if array is not None}, self.tolerance, None, {}, 0,
                        self.settings)
        try:
            ours, theirs = one.both(model)
        except LegatoError:
            return None
        return max(map(relative_error, ours, theirs))

    def hidden(self, values: Sequence[str], declared: Sequence[str]) -> LayerError | None:
        """The layer whose value, once it is an output as those before it are, makes the difference of the outputs vanish."""
        def differ(count: int) -> bool:
            return max(error for error, _ in self.errors(values[:count], declared)) > self.tolerance

        low, high = 0, len(values)   # they differ with the first ``low`` values as outputs, and agree with the first ``high``
        if differ(high):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if differ(middle) else (low, middle)
        node = next(node for node in self.proto.graph.node if values[high - 1] in node.output)
        return LayerError(node.name or node.output[0], node.op_type, values[high - 1], 0.0, float("nan"))


def _inner_reads(graph: onnx.GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            yield from _inner_reads(attribute.g)
    yield from (value.name for value in graph.output)
