"""How often a Loop without a number of steps runs at most: exporters write ``while i < n`` as a condition that the body computes."""
from collections.abc import Iterator

import numpy as np
import onnx
from onnx import TensorProto

from legato.core.dtypes import kind
from legato.dialects import relax
from legato.dialects.relax.dims import maximum
from legato.frontends.onnx import run_time
from legato.frontends.onnx.node import OnnxNode
from legato.frontends.onnx.values import ComputedValue, ConstantValue, Value

_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)
_COPIES = ("Identity", "Reshape", "Squeeze", "Unsqueeze")   # of one element
_COMPARED = {"Less": (0, 1, 0), "LessOrEqual": (0, 1, 1), "Greater": (1, 0, 0), "GreaterOrEqual": (1, 0, 1)}
"""Which operands are smaller and greater, and how much more the smaller may be."""


def most_steps(node: OnnxNode) -> Value | None:
    """A number, int64, of steps that the Loop never exceeds, found where each step adds to an integer state and the condition compares
    that with an integer that no step changes; None where the body has no such condition."""
    body = _Body(node.graph("body"), len(node))
    for counter, stop, more in body.limits():
        drawn = node.random.made
        stop, step = _evaluated(node, [stop, body.steps[counter]])
        if node.random.made != drawn:   # random numbers, which are others in each step
            continue
        start, added = node.value(2 + counter), step.known()
        integers = all(kind(value.dtype) in ("int", "uint") and _is_one(value) for value in (start, stop, step))
        if integers and added is not None and added.dtype != object and added.item() > 0:
            return _difference(node, stop, start, more)
    return None


class _Body:
    """What a loop's body says of its states and condition, by names."""

    def __init__(self, graph: onnx.GraphProto, inputs: int) -> None:
        self._nodes = {name: node for node in graph.node for name in node.output}
        self.graph, self._states = graph, [value.name for value in graph.input[2:inputs]]
        self._next = [self._source(value.name) for value in graph.output[1:1 + len(self._states)]]
        self.steps = dict(filter(None, (self._counted(number) for number in range(min(len(self._states), len(self._next))))))
        """Of the states to which each step adds what no step changes, the names of what it adds."""

    def limits(self) -> Iterator[tuple[int, str, int]]:
        """The numbers of states and the names of the values that these must be less than, of which each ends the loop; and how many
        steps more it makes."""
        for node in self._conditions(self.graph.output[0].name):
            small, great, more = _COMPARED[node.op_type]
            counter, stop = self._source(node.input[small], (*_FLOATS, TensorProto.INT64)), self._source(node.input[great], _FLOATS)
            for number in self.steps:
                if counter in (self._states[number], self._next[number]) and self._is_fixed(stop):
                    yield number, stop, more + (counter == self._states[number])

    def _conditions(self, name: str) -> Iterator[onnx.NodeProto]:
        node = self._nodes.get(self._source(name))
        if node is not None and node.op_type == "And":
            for operand in node.input:
                yield from self._conditions(operand)
        elif node is not None and node.op_type in _COMPARED:
            yield node

    def _source(self, name: str, types: tuple[int, ...] = ()) -> str:
        """What a name has its value from, behind copies and conversions to these types, which keep the order of integers."""
        node = self._nodes.get(name)
        while node is not None and (node.op_type in _COPIES or (node.op_type == "Cast" and node.attribute[0].i in types)):
            name = node.input[0]
            node = self._nodes.get(name)
        return name

    def _counted(self, number: int) -> tuple[int, str] | None:
        """The number of a state to which each step adds, and the name of what it adds; None for another."""
        node = self._nodes.get(self._next[number])
        if node is None or node.op_type != "Add":
            return None
        for state, other in (tuple(node.input), tuple(node.input)[::-1]):
            if self._source(state) == self._states[number] and self._is_fixed(other):
                return number, other
        return None

    def _is_fixed(self, name: str) -> bool:
        """Whether no step changes a value: all that it is computed from is from outside, or a state that steps keep."""
        pending, seen = [name], set()
        while pending:
            name = self._source(pending.pop())
            if name in seen:
                continue
            seen.add(name)
            if name in (value.name for value in self.graph.input[:2]):
                return False
            if name in self._states and self._next[self._states.index(name)] != name:
                return False
            node = self._nodes.get(name)
            if node is not None:
                if any(attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for attribute in node.attribute):
                    return False
                pending += filter(None, node.input)
        return True


def _evaluated(node: OnnxNode, names: list[str]) -> list[Value]:
    """Values of the body in the first step, built in front of the loop."""
    graph = onnx.GraphProto()
    graph.CopyFrom(node.graph("body"))
    del graph.output[:]
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    states = [node.value(index) for index in range(2, len(node))]
    return node.body(graph)([ConstantValue(node.name, np.array(0)), ConstantValue(node.name, np.array(True)), *states])


def _is_one(value: Value) -> bool:
    """Whether a tensor has one element."""
    return all(size == 1 for size in value.dims)


def _difference(node: OnnxNode, stop: Value, start: Value, more: int) -> Value:
    """``stop - start + more``, at least 1: a loop that starts makes the first step whatever it compares later."""
    known = [value.known() for value in (stop, start)]
    if all(array is not None for array in known):
        a, b = (array.item() for array in known if array is not None)
        return node.elements(np.array(maximum(a - b + more, 1)), np.int64)
    values = node.with_inputs(stop, start)
    a, b = (run_time.integers(values, index, "numbers of steps") for index in (0, 1))
    steps = relax.maximum(relax.add(relax.subtract(a, b), run_time.literal(more)), run_time.literal(1))
    return ComputedValue(relax.reshape(steps, shape=[]))
