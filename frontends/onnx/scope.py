"""What the nodes of a graph or function see."""
from collections.abc import Mapping
from dataclasses import dataclass, field

import onnx

from legato.frontends.onnx.expansion import FunctionId
from legato.frontends.onnx.problems import Problem
from legato.frontends.onnx.values import Value


@dataclass
class Scope:
    """What is visible to the nodes of one graph or function: values by name, operator sets, attributes of the function."""

    opsets: Mapping[str, int]
    values: dict[str, Value] = field(default_factory=dict)
    attributes: Mapping[str, onnx.AttributeProto] = field(default_factory=dict)  # those of the function being expanded
    prefix: str = ""  # prepended to the nodes' names
    stands_for: Problem | None = None  # the node that is being expanded by its schema; problems inside are reported as its own
    active: tuple[FunctionId, ...] = ()  # the model's functions being expanded, to detect recursion
    refused: dict[str, Problem] = field(default_factory=dict)  # of initializers that nothing may read
