"""Quantized models taken apart: each layer from the quantized values that onnxruntime gives it, so that steps of one change no other."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
from onnx import helper

GIVEN = "_given"


@dataclass(frozen=True)
class QuantizedLayers:
    """A model whose results are all quantized values of another one, and whose inputs are these, too, beside its own. ``inputs``: by
    name; ``expected``: the results of onnxruntime."""

    model: onnx.ModelProto
    inputs: dict[str, np.ndarray]
    expected: list[np.ndarray]


def taken_apart(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> QuantizedLayers:
    """The layers of a model with QuantizeLinear and DequantizeLinear, on what its quantized values are for some inputs."""
    constants = {one.name for one in model.graph.initializer}
    made = [node.output[0] for node in model.graph.node if node.op_type == "QuantizeLinear" and node.input[0] not in constants]
    showing = with_outputs(model, [helper.make_empty_tensor_value_info(name) for name in made])
    values = dict(zip(made, onnxruntime.InferenceSession(showing.SerializeToString()).run(made, inputs)))
    infos = {name: (helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in values.items()}
    apart = with_outputs(model, [helper.make_tensor_value_info(name, *infos[name]) for name in made])
    for node in apart.graph.node:
        node.input[:] = [name + GIVEN if name in values else name for name in node.input]
    used = {name for node in apart.graph.node for name in node.input}
    apart.graph.input.extend([helper.make_tensor_value_info(name + GIVEN, *infos[name]) for name in made])
    kept = [one for one in apart.graph.input if one.name in used]
    del apart.graph.input[:]
    apart.graph.input.extend(kept)
    every = inputs | {name + GIVEN: array for name, array in values.items()}
    return QuantizedLayers(apart, {one.name: every[one.name] for one in kept}, list(values.values()))


def with_outputs(model: onnx.ModelProto, outputs: Sequence[onnx.ValueInfoProto]) -> onnx.ModelProto:
    """A copy of a model with other results."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    copy.graph.output.extend(outputs)
    return copy


def steps_apart(found: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> tuple[float, int]:
    """The part of quantized elements that are another step than others, and the most steps between two."""
    apart = [np.abs(np.asarray(one).astype(np.int32) - other) for one, other in zip(found, others, strict=True)]
    return sum(int((one > 0).sum()) for one in apart) / sum(one.size for one in apart), max(int(one.max()) for one in apart)
