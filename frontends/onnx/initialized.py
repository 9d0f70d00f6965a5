"""Inputs of a model that have initializers: constants, or inputs with a default.

Before version 4 of the format all initializers are listed among the inputs, too; since then only those that a call may override. Constants
make faster code, so only those that the user names stay inputs.
"""
from collections.abc import Mapping, Sequence

import onnx

from legato.core.dtypes import spelling
from legato.core.errors import LegatoError
from legato.core.weights import WeightStore
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx.problems import Problem, Problems
from legato.frontends.onnx.values import ConstantValue, Value

Overridable = Sequence[str] | bool


class Initialized:
    """A model's inputs by how they get their values: ``required``, those that calls must give; ``overridable``, those with a default;
    ``constants``, the names of those that calls cannot give."""

    def __init__(self, graph: onnx.GraphProto, overridable: Overridable) -> None:
        """LegatoError for a name in ``overridable`` that is no initializer."""
        tensors = {tensor.name: tensor for tensor in graph.initializer}
        listed = {value.name: value for value in graph.input if value.name in tensors}
        self.required = [value for value in graph.input if value.name not in tensors]
        chosen = _chosen(overridable, tensors, listed)
        self.overridable = [listed[name] if name in listed else _declared(tensors[name]) for name in chosen]
        for value in self.overridable:
            if not value.type.tensor_type.HasField("shape"):
                value.CopyFrom(_declared(tensors[value.name]))
        self.constants = [name for name in listed if name not in chosen]

    def defaults(self, values: Mapping[str, Value], types: Mapping[str, TensorType | None], problems: Problems,
                 weights: WeightStore) -> dict[str, str]:
        """The weight of each overridable input, by name. ``values``: of the initializers. An initializer that does not have the declared
        type of its input is added to the problems."""
        found = {}
        for one in self.overridable:
            type_, value = types[one.name], values[one.name]
            if type_ is None or not isinstance(value, ConstantValue):     # a problem already
                continue
            fits = value.dtype == type_.dtype and len(value.dims) == len(type_.dims) and all(
                not isinstance(size, int) or size == own for size, own in zip(type_.dims, value.dims))
            if fits:
                found[one.name] = value.store(weights)
                continue
            reason = (f"it is the default of the input of that name, which is {spelling(type_.dtype)}[{', '.join(map(str, type_.dims))}], "
                      f"and has {spelling(value.dtype)}[{', '.join(map(str, value.dims))}]")
            problems.append(Problem(one.name, "initializer", "", None, reason, malformed=True))
        return found


def _chosen(overridable: Overridable, tensors: Mapping[str, onnx.TensorProto], listed: Mapping[str, onnx.ValueInfoProto]) -> list[str]:
    """The names, in the order of the model's inputs, those that are not among these behind."""
    if isinstance(overridable, bool):
        return list(listed) if overridable else []
    if isinstance(overridable, str):
        raise LegatoError(f"overridable= is a list of names of initializers, or True: write [{overridable!r}]")
    unknown = [name for name in overridable if name not in tensors]
    if unknown:
        there = ", ".join(listed or tensors) or "none"
        raise LegatoError(f"overridable: there is no initializer '{unknown[0]}'; {'among the inputs ' if listed else ''}the model has: "
                          f"{there}")
    names = dict.fromkeys(overridable)
    return [*(name for name in listed if name in names), *(name for name in names if name not in listed)]


def _declared(tensor: onnx.TensorProto) -> onnx.ValueInfoProto:
    """An initializer as an input of its own type."""
    return onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
