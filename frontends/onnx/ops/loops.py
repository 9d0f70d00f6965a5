"""Loops: short ones are unrolled, others become loops of main."""
import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import UNKNOWN, Size, maximum
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx import regions, run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.loop_states import LoopStates
from legato.frontends.onnx.node import Body
from legato.frontends.onnx.ops.unrolled import MOST_STEPS, UNROLLED, check_steps, refuse_known_changes, stack_of
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.sequences import EmptyOptional, SequenceValue
from legato.frontends.onnx.values import ComputedValue, ConstantValue, Value
from legato.frontends.onnx.while_bounds import most_steps

COUNTED = 1 << 31   # steps: exporters write more where only the condition ends a loop


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
    values = [node.value(i) for i in range(2, len(node))]
    if values and all(value.known() is not None for value in values):
        return False
    if any(isinstance(value, (SequenceValue, EmptyOptional)) for value in values) and isinstance(steps, int) and steps <= MOST_STEPS:
        return False    # unrolled, lengths of sequences stay known
    return not isinstance(steps, int) or steps > UNROLLED


def _states(node, stacks: bool) -> LoopStates:
    """What the loop carries. ``stacks``: whether it is known how many steps there are at most."""
    values = [node.value(i) for i in range(2, len(node))]
    declared = [value.type for value in node.graph("body").input[2:]]
    if len(declared) != len(values):
        raise Malformed(f"its body takes {len(declared)} states, and is given {len(values)}")
    return LoopStates(node, values, declared, stacks)


def _results_of_step(node, body: Body, number: ir.Value, states: LoopStates, tensors: list[ir.Value],
                     ) -> tuple[Value, list[ir.Value], list[ir.Value]]:
    """The condition, the tensors of the new states and the slices that the body gives for the number of a step and the tensors of the
    states."""
    going, count = ConstantValue(node.name, np.array(True)), states.count
    with node.random.step(number):
        following, *results = body([ComputedValue(number), going, *states.given(tensors)])
    if len(results) != len(node.used):
        raise Malformed(f"its body gives {len(results) + 1} values; a condition, {count} states and {len(node.used) - count} outputs are "
                        "expected")
    slices = [node.emit(result) for result in results[count:]]
    declared = node.graph("body").output[1 + count:]
    carried, appended = states.after(results[:count])
    return following, carried, [*(_declared(node, *one) for one in zip(slices, declared)), *appended]


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
    body, states = node.body(node.graph("body")), _states(node, stacks=True)

    def step(turn: regions.Turn, given: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        following, new, slices = _results_of_step(node, body, turn.number, states, given)
        known = following.known()
        if known is None or known.dtype == object or not known.item():
            raise Refused("its body computes whether it goes on")
        return new, slices

    def whole(before: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        types, slices = regions.types_of_step(before, step, node.label, states.types(before))
        refuse_known_changes(steps, types)
        if any(UNKNOWN in type_.dims for type_ in types):
            raise Refused("a state changes its sizes")  # the size of an scf.for's result is folded to that of its initial value
        return regions.loop(node.emitter, steps, before, step, types, slices, name=node.label)

    ends, stacks = states.results(*states.settled(whole))
    return (*ends, *stacks)


def _loop_at_run_time(node):
    if not node.given(0) and len(node.used) > len(node) - 2 and (most := most_steps(node)) is not None:
        node = node.with_inputs(most, *(node.value(index) if node.given(index) else None for index in range(1, len(node))))
    known = node.value(0).known() if node.given(0) else None
    is_bounded = node.given(0) and (known is None or known.dtype == object or known.item() <= COUNTED)
    body, states = node.body(node.graph("body")), _states(node, stacks=is_bounded)
    limit, condition = (node.x(i) if node.given(i) else None for i in (0, 1))

    def step(number: ir.Value, given: list[ir.Value]) -> tuple[ir.Value, list[ir.Value], list[ir.Value]]:
        following, new, slices = _results_of_step(node, body, number, states, given)
        return node.emit(following), new, slices

    def whole(before: list[ir.Value]) -> tuple[ir.Value, list[ir.Value], list[ir.Value]]:
        types, slices = regions.types_of_step(before, lambda turn, given: step(turn.number, given)[1:], node.label,
                                              states.types(before))
        room = _room(node) if slices else 0
        return regions.while_loop(node.emitter, limit, condition, before, step, types, slices, room, node.label)

    made, ends, stacks = states.settled(whole)
    if stacks:
        (length,) = run_time.symbols(node, made, "made")
        stacks = [relax.strided_slice(stack, begin=[0], end=[length], axes=[0]) for stack in stacks]
    results, stacks = states.results(ends, stacks)
    return (*results, *stacks)


def _room(node) -> Size:
    """The most steps that a loop makes, whose scanned outputs take so much room."""
    if not node.given(0):
        raise Refused("it has scanned outputs, and no number of steps that says how much room they take")
    known = node.value(0).known()
    if known is not None:
        return known.item()
    steps = relax.maximum(run_time.integers(node, 0, "numbers of steps"), run_time.literal(0))
    return run_time.symbols(node, steps, "steps")[0]


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
            with node.random.step(step):
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
    return (*carried, *(stack_of(node, values, 0) if used else None for values, used in zip(made, node.used[states:])))


ENTRIES = (loop,)
