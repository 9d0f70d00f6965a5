"""Loops with a number of iterations known at import, unrolled."""
import numpy as np

from legato.core.mlir import ir
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.node import Body
from legato.frontends.onnx.ops.unrolled import at, check_steps, stacked
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.values import ComputedValue, ConstantValue, Value


@op("Scan", 8, 9, 11, 16, 19, 21, 23, 24, 25)
def scan(node):
    """Scan. The body takes the states and one slice of each scanned input; it returns new states and one slice of each scanned output."""
    body, scanned = node.body(node.graph("body")), node.integer("num_scan_inputs")
    values = [node.value(i) for i in range(0 if node.version >= 9 else 1, len(node))]
    states, outputs = len(values) - scanned, len(node.used) - len(values) + scanned
    if scanned < 1 or states < 0 or outputs < 0:
        raise Malformed(f"num_scan_inputs = {scanned}, but it has {len(node)} inputs and {len(node.used)} outputs")
    if node.version < 9:
        return _batches(node, body, values, states)
    axes = [node.axis(axis, len(value.dims)) for axis, value in zip(_listed(node, "scan_input_axes", scanned), values[states:])]
    backwards = _listed(node, "scan_input_directions", scanned)
    output_axes, output_backwards = _listed(node, "scan_output_axes", outputs), _listed(node, "scan_output_directions", outputs)
    carried, made = _scanned(node, body, values[:states], values[states:], axes, backwards)
    stacks = []
    for parts, axis, back, used in zip(made, output_axes, output_backwards, node.used[states:]):
        stacks.append(_stacked(node, parts[::-1] if back else parts, axis) if used else None)
    return (*carried, *stacks)


def _batches(node, body: Body, values: list[Value], states: int):
    """Scan before opset 9: axis 0 of everything is a batch; each example is scanned along its axis 1."""
    size = check_steps(values[0].dims[0])
    if node.given(0):
        lengths = node.known(0, "the lengths of its sequences")
        if any(length != values[-1].dims[1] for length in lengths.ravel().tolist()):
            raise Refused("sequences shorter than the others are not supported")
    node.ignore_input(0)
    backwards = _listed(node, "directions", len(values) - states)
    examples = []
    for number in range(size):
        own = [_at(node, value, 0, number) for value in values]
        carried, made = _scanned(node, body, own[:states], own[states:], [0] * (len(values) - states), backwards)
        examples.append([*carried, *(_valued(_stacked(node, parts, 0)) for parts in made)])
    return tuple(_stacked(node, list(results), 0) for results in zip(*examples))


def _scanned(node, body: Body, carried: list[Value], inputs: list[Value], axes: list[int], backwards: list[int]):
    """The states after the last iteration, and the slices of each scanned output."""
    lengths = [value.dims[axis] for value, axis in zip(inputs, axes)]
    count, states = check_steps(lengths[0]), len(carried)
    if any(length != count for length in lengths):
        raise Malformed(f"its scanned inputs have different lengths: {lengths}")
    made: list[list[Value]] = [[] for _ in range(len(node.used) - states)]
    with node.expansion.loop(count, len(node.graph("body").node)):
        for step in range(count):
            places = [count - 1 - step if back else step for back in backwards]
            results = body([*carried, *(_at(node, value, axis, place) for value, axis, place in zip(inputs, axes, places))])
            if len(results) != len(node.used):
                raise Malformed(f"its body gives {len(results)} values; {states} states and {len(made)} scanned outputs are expected")
            carried = results[:states]
            for values, value in zip(made, results[states:]):
                values.append(value)
    return carried, made


def _valued(result: "ir.Value | Value") -> Value:
    return result if isinstance(result, Value) else ComputedValue(result)


@op("Loop", 1, 11, 13, 16, 19, 21, 23, 24, 25)
def loop(node):
    """Loop. The body takes the iteration's number, the condition and the states; it returns the next condition, new states and
    scanned outputs."""
    body, states = node.body(node.graph("body")), len(node) - 2
    limit = node.known(0, "the number of its steps").item() if node.given(0) else None
    condition = node.known(1, "its condition").item() if node.given(1) else True
    carried = [node.value(i) for i in range(2, len(node))]
    outputs = len(node.used) - states
    made: list[list[Value]] = [[] for _ in range(outputs)]
    step, most = 0, check_steps(limit) if condition and limit is not None else None
    with node.expansion.loop(1 if most is None else most, len(node.graph("body").node)):
        while condition and (most is None or step < most):
            check_steps(step + 1)
            number = ConstantValue(node.name, np.array(step, np.int64))
            following, *results = body([number, ConstantValue(node.name, np.array(True)), *carried])
            if len(results) != len(made) + states:
                raise Malformed(f"its body gives {len(results) + 1} values; a condition, {states} states and {outputs} outputs are "
                                "expected")
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


def _at(node, value: Value, axis: int, place: int) -> Value:
    """The slice at one index of an axis, without the axis; a constant stays a constant."""
    known = value.known()
    if known is not None:
        return node.elements(known.take(place, axis), value.dtype)
    return ComputedValue(at(node.emit(value), axis, place))


def _stacked(node, values: list[Value], axis: int) -> "ir.Value | Value":
    if not values:
        raise Refused("it has no steps, and the shape of its scanned output is not known without one")
    axis = node.axis(axis, len(values[0].dims) + 1)
    known = [value.known() for value in values]
    if not any(array is None for array in known):
        return node.elements(np.stack([array for array in known if array is not None], axis), values[0].dtype)
    return stacked([node.emit(value) for value in values], axis)


ENTRIES = (scan, loop)
