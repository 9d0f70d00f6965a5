"""Loops: short ones are unrolled, others become loops of main."""
import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.assumed import never_equal
from legato.dialects.relax.dims import UNKNOWN, Size, maximum
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx import regions, run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.node import Body
from legato.frontends.onnx.ops.unrolled import MOST_STEPS, at, check_steps, stacked
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.values import ComputedValue, ConstantValue, Value

UNROLLED = 8            # longer loops become loops of main
COUNTED = 1 << 31       # steps: exporters write more where only the condition ends a loop


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
        stacks.append(_stacked(node, parts[::-1] if back else parts, axis) if used else None)
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
        results = body([ComputedValue(x) for x in (*carried, *parts)])
        if len(results) != len(node.used):
            raise Malformed(f"its body gives {len(results)} values; {states} states and {len(output_axes)} scanned outputs are expected")
        emitted = [node.emit(result) for result in results]
        return emitted[:states], emitted[states:]

    types, slices = regions.types_of_step(before, step, node.label)
    _refuse_known_changes(lengths[0], types)
    back = [bool(direction) for direction in output_backwards]
    ends, stacks = regions.loop(node.emitter, lengths[0], before, step, types, slices, back, node.label)
    return (*ends, *(_axis_last(stack, axis) for stack, axis in zip(stacks, output_axes)))


def _refuse_known_changes(steps: Size, types: list[TensorType]) -> None:
    """Refused for states that change their sizes in a loop that can be unrolled: there each step's sizes are known."""
    if isinstance(steps, int) and steps <= MOST_STEPS and any(UNKNOWN in type_.dims for type_ in types):
        raise Refused("a state changes its sizes in known steps")


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
    scanned outputs. Where it is not known at import how often it runs, it becomes a loop of main."""
    known = [node.value(i).known() if node.given(i) else None for i in (0, 1)]
    steps = _counted_steps(node)
    if steps is not None and _is_better_as_loop(node, steps):
        try:
            return _counted_loop(node, steps)
        except Refused:
            pass    # its body ends it, or changes the shape of a state
    if all(array is not None and array.dtype != object for i, array in enumerate(known) if node.given(i)):
        try:
            return _unrolled_loop(node)
        except Refused:
            pass    # too many steps, or their number depends on data
    return _loop_at_run_time(node)


def _counted_steps(node) -> Size | None:
    """The number of steps if nothing but the body's condition ends the loop earlier; None where it is not known at import, or no limit."""
    limit, condition = (node.value(i).known() if node.given(i) else None for i in (0, 1))
    if limit is None or limit.size != 1 or (node.given(1) and (condition is None or not condition.item())):
        return None
    steps = maximum(limit.item(), 0)
    return None if isinstance(steps, int) and steps > COUNTED else steps


def _is_better_as_loop(node, steps: Size) -> bool:
    """Whether a loop has many steps. One whose states are all known at import computes sizes and the like: unrolled, they stay known."""
    states = [node.value(i).known() for i in range(2, len(node))]
    if states and all(state is not None for state in states):
        return False
    return not isinstance(steps, int) or steps > UNROLLED


def _results_of_step(node, body: Body, given: list[Value], states: int) -> tuple[Value, list[ir.Value], list[ir.Value]]:
    """The condition, new states and slices that the body gives for the number of a step, a condition and states."""
    following, *results = body(given)
    if len(results) != len(node.used):
        raise Malformed(f"its body gives {len(results) + 1} values; a condition, {states} states and {len(node.used) - states} outputs are "
                        "expected")
    emitted = [node.emit(result) for result in results]
    declared = node.graph("body").output[1 + states:]
    return following, emitted[:states], [_declared(node, *one) for one in zip(emitted[states:], declared)]


def _declared(node, value: ir.Value, output) -> ir.Value:
    """A scanned output's slice; sizes that a step computes are those that the body's graph declares, which calls check."""
    type_, shape = TensorType.of(value.type), output.type.tensor_type.shape.dim
    if len(shape) != type_.rank:
        return value
    sizes = list(type_.dims)
    for axis, (size, one) in enumerate(zip(type_.dims, shape)):
        if one.HasField("dim_value") and not regions.is_known_outside(node.emitter, size):
            node.require_equal(size, one.dim_value, f"{size}, the size at axis {axis} of what it stacks as '{output.name}', to be "
                                                    f"{one.dim_value} in each step, as its body says")
            sizes[axis] = one.dim_value
    return regions.cast(value, type_.with_dims(sizes).ir())


def _counted_loop(node, steps: Size):
    """Loop as a loop of main over a number of steps. Refused where the body computes its condition."""
    body, states = node.body(node.graph("body")), len(node) - 2
    before = [node.x(i) for i in range(2, len(node))]

    def step(turn: regions.Turn, carried: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        going = ConstantValue(node.name, np.array(True))
        following, new, slices = _results_of_step(node, body, [ComputedValue(turn.number), going, *map(ComputedValue, carried)], states)
        known = following.known()
        if known is None or known.dtype == object or not known.item():
            raise Refused("its body computes whether it goes on")
        return new, slices

    types, slices = regions.types_of_step(before, step, node.label)
    _refuse_known_changes(steps, types)
    ends, stacks = regions.loop(node.emitter, steps, before, step, types, slices, name=node.label)
    return (*ends, *stacks)


def _loop_at_run_time(node):
    body, states = node.body(node.graph("body")), len(node) - 2
    before = [node.x(i) for i in range(2, len(node))]
    limit, condition = (node.x(i) if node.given(i) else None for i in (0, 1))

    def step(number: ir.Value, carried: list[ir.Value]) -> tuple[ir.Value, list[ir.Value], list[ir.Value]]:
        going = ConstantValue(node.name, np.array(True))
        following, new, slices = _results_of_step(node, body, [ComputedValue(number), going, *map(ComputedValue, carried)], states)
        return node.emit(following), new, slices

    types, slices = regions.types_of_step(before, lambda turn, carried: step(turn.number, carried)[1:], node.label)
    room: Size = 0
    if slices:
        if limit is None:
            raise Refused("it has scanned outputs, and no number of steps that says how much room they take")
        known = node.value(0).known()
        if known is not None:
            room = known.item()
        else:
            steps = relax.maximum(run_time.integers(node, 0, "numbers of steps"), run_time.literal(0))
            (room,) = run_time.symbols(node, steps, "steps")
    count, ends, stacks = regions.while_loop(node.emitter, limit, condition, before, step, types, slices, room, node.label)
    if stacks:
        (made,) = run_time.symbols(node, count, "made")
        stacks = [relax.strided_slice(stack, begin=[0], end=[made], axes=[0]) for stack in stacks]
    return (*ends, *stacks)


def _unrolled_loop(node):
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
