"""Scan: short ones are unrolled, others become loops of main."""
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.assumed import never_equal
from legato.frontends.onnx import regions
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.node import Body
from legato.frontends.onnx.ops.unrolled import UNROLLED, check_steps, refuse_known_changes, slice_of, stack_of
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.values import ComputedValue, Value


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
    length = values[states].dims[axes[0]]
    if not isinstance(length, int) or length > UNROLLED:
        try:
            return _scan_at_run_time(node, body, values, states, axes, backwards, output_axes, output_backwards)
        except Refused:
            if not isinstance(length, int):
                raise
    carried, made = _scanned(node, body, values[:states], values[states:], axes, backwards)
    stacks = []
    for parts, axis, back, used in zip(made, output_axes, output_backwards, node.used[states:]):
        stacks.append(stack_of(node, parts[::-1] if back else parts, axis) if used else None)
    return (*carried, *stacks)


def _scan_at_run_time(node, body: Body, values: list[Value], states: int, axes: list[int], backwards: list[int], output_axes: list[int],
                      output_backwards: list[int]):
    """Scan as a loop of main; its shapes are those of a trial of one step."""
    lengths = [value.dims[axis] for value, axis in zip(values[states:], axes)]
    for length in lengths[1:]:
        if never_equal(length, lengths[0]):
            raise Malformed(f"its scanned inputs have different lengths: {lengths}")
        if length != lengths[0]:
            node.require_equal(length, lengths[0], f"{length}, the length of a scanned input, to be {lengths[0]}, that of another")
    scanned = [_axis_first(node.emit(value), axis) for value, axis in zip(values[states:], axes)]
    before = [node.emit(value) for value in values[:states]]

    def step(turn: regions.Turn, carried: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        parts = [regions.slice_at(x, turn.left if back else turn.index) for x, back in zip(scanned, backwards)]
        with node.random.step(turn.number):
            results = body([ComputedValue(x) for x in (*carried, *parts)])
        if len(results) != len(node.used):
            raise Malformed(f"its body gives {len(results)} values; {states} states and {len(output_axes)} scanned outputs are expected")
        emitted = [node.emit(result) for result in results]
        return emitted[:states], emitted[states:]

    types, slices = regions.types_of_step(before, step, node.label)
    refuse_known_changes(lengths[0], types)
    back = [bool(direction) for direction in output_backwards]
    ends, stacks = regions.loop(node.emitter, lengths[0], before, step, types, slices, back, node.label)
    return (*ends, *(_axis_last(stack, axis) for stack, axis in zip(stacks, output_axes)))


def _axis_first(x: ir.Value, axis: int) -> ir.Value:
    """The tensor with an axis in front of the others."""
    return relax.permute_dims(x, axes=[axis, *(a for a in range(x.type.rank) if a != axis)]) if axis else x


def _axis_last(x: ir.Value, axis: int) -> ir.Value:
    """The tensor with axis 0 at another place."""
    rank = x.type.rank
    axis %= rank
    others = iter(range(1, rank))
    return relax.permute_dims(x, axes=[0 if a == axis else next(others) for a in range(rank)]) if axis else x


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
        own = [slice_of(node, value, 0, number) for value in values]
        with node.random.step(number):
            carried, made = _scanned(node, body, own[:states], own[states:], [0] * (len(values) - states), backwards)
        examples.append([*carried, *(_valued(stack_of(node, parts, 0)) for parts in made)])
    return tuple(stack_of(node, list(results), 0) for results in zip(*examples))


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
            slices = (slice_of(node, value, axis, place) for value, axis, place in zip(inputs, axes, places))
            with node.random.step(step):
                results = body([*carried, *slices])
            if len(results) != len(node.used):
                raise Malformed(f"its body gives {len(results)} values; {states} states and {len(made)} scanned outputs are expected")
            carried = results[:states]
            for values, value in zip(made, results[states:]):
                values.append(value)
    return carried, made


def _valued(result: "ir.Value | Value") -> Value:
    return result if isinstance(result, Value) else ComputedValue(result)


def _listed(node, name: str, count: int) -> list[int]:
    values = node.integers(name, [0] * count)
    if len(values) != count:
        raise Malformed(f"{name} = {values}: expected {count} values")
    return values


ENTRIES = (scan,)
