"""Loops whose number of steps is known at import: one copy of the body a step."""
import numpy as np

from ....mlir import ir
from ..entry import op
from ..problems import Malformed, Refused
from ..values import Computed, Constant, Value
from .unrolled import at, check_steps, stacked


@op("Scan", 9, 11, 16, 19, 21, 23, 24, 25)
def scan(node):
    """The body reads its states, and one place of each scanned input; it gives new states, and one place of each scanned output."""
    body, scanned = node.body(node.graph("body")), node.integer("num_scan_inputs")
    states = len(node) - scanned
    if scanned < 1 or states < 0:
        raise Malformed(f"num_scan_inputs = {scanned}, but it has {len(node)} inputs")
    outputs = len(node.used) - states
    axes = _listed(node, "scan_input_axes", scanned)
    axes = [node.axis(axis, node.rank(states + i)) for i, axis in enumerate(axes)]
    backwards = _listed(node, "scan_input_directions", scanned)
    output_axes, output_backwards = _listed(node, "scan_output_axes", outputs), _listed(node, "scan_output_directions", outputs)
    lengths = [node.dims(states + i)[axis] for i, axis in enumerate(axes)]
    count = check_steps(lengths[0])
    if any(length != count for length in lengths):
        raise Malformed(f"its scanned inputs have different lengths: {lengths}")
    carried = [node.value(i) for i in range(states)]
    made: list[list[Value]] = [[] for _ in range(outputs)]
    for step in range(count):
        places = [count - 1 - step if back else step for back in backwards]
        parts = [_at(node, states + i, axis, place) for i, (axis, place) in enumerate(zip(axes, places))]
        results = body([*carried, *parts])
        if len(results) != states + outputs:
            raise Malformed(f"its body gives {len(results)} values; {states} states and {outputs} scanned outputs are expected")
        carried = results[:states]
        for values, value in zip(made, results[states:]):
            values.append(value)
    stacks = []
    for values, axis, back, used in zip(made, output_axes, output_backwards, node.used[states:]):
        stacks.append(_stacked(node, values[::-1] if back else values, axis) if used else None)
    return (*carried, *stacks)


@op("Loop", 1, 11, 13, 16, 19, 21, 23, 24, 25)
def loop(node):
    """The body reads the number of the step, the condition and its states; it gives the next condition, new states and scanned outputs."""
    body, states = node.body(node.graph("body")), len(node) - 2
    limit = node.known(0, "the number of its steps").item() if node.given(0) else None
    condition = node.known(1, "its condition").item() if node.given(1) else True
    carried = [node.value(i) for i in range(2, len(node))]
    outputs = len(node.used) - states
    made: list[list[Value]] = [[] for _ in range(outputs)]
    step = 0
    while condition and (limit is None or step < check_steps(limit)):
        check_steps(step + 1)
        number = Constant(node.name, np.array(step, np.int64))
        following, *results = body([number, Constant(node.name, np.array(True)), *carried])
        if len(results) != len(made) + states:
            raise Malformed(f"its body gives {len(results) + 1} values; a condition, {states} states and {outputs} outputs are expected")
        known = following.known()
        if known is None or known.dtype == object:
            raise Refused("how often it runs depends on the data at run time")
        condition, carried, step = bool(known.item()), results[:states], step + 1
        for values, value in zip(made, results[states:]):
            values.append(value)
    return (*carried, *(_stacked(node, values, 0) if used else None for values, used in zip(made, node.used[states:])))


def _listed(node, name: str, count: int) -> list[int]:
    values = node.integers(name, [0] * count)
    if len(values) != count:
        raise Malformed(f"{name} = {values}: expected {count} values")
    return values


def _at(node, index: int, axis: int, place: int) -> Value:
    """One place of an axis of an input; of a constant, a constant."""
    known = node.value(index).known()
    if known is not None:
        return node.elements(known.take(place, axis), node.dtype(index))
    return Computed(at(node.x(index), axis, place))


def _stacked(node, values: list[Value], axis: int) -> "ir.Value | Value":
    if not values:
        raise Refused("it has no steps, and the shape of its scanned output is not known without one")
    axis = node.axis(axis, len(values[0].dims) + 1)
    known = [value.known() for value in values]
    if not any(array is None for array in known):
        return node.elements(np.stack([array for array in known if array is not None], axis), values[0].dtype)
    return stacked([node.emit(value) for value in values], axis)


ENTRIES = (scan, loop)
