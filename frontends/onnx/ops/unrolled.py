"""Helpers for unrolled loops and recurrent layers."""
from collections.abc import Sequence

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import UNKNOWN, Size
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx.problems import Refused
from legato.frontends.onnx.values import ComputedValue, Value

UNROLLED = 8       # longer loops become loops of main
MOST_STEPS = 1024  # a larger unrolled graph takes too long to compile


def check_steps(count: Size) -> int:
    """The number of iterations. Refused if it is not known at import or exceeds MOST_STEPS."""
    if not isinstance(count, int):
        raise Refused(f"the number of its steps, {count}, is known only at run time; a loop becomes one copy of its body a step")
    if count > MOST_STEPS:
        raise Refused(f"it has {count} steps; a loop becomes one copy of its body a step, and {MOST_STEPS} of them are the most")
    return count


def at(x: ir.Value, axis: int, index: int) -> ir.Value:
    """The slice at one index of an axis, without the axis."""
    return relax.squeeze(relax.strided_slice(x, begin=[index], end=[index + 1], axes=[axis]), axis=[axis])


def stacked(xs: Sequence[ir.Value], axis: int) -> ir.Value:
    """Tensors of one shape along a new axis."""
    return relax.concat([relax.expand_dims(x, axis=[axis]) for x in xs], axis=axis)


def refuse_known_changes(steps: Size, types: list[TensorType]) -> None:
    """Refused for states that change their sizes in a loop that can be unrolled: there each step's sizes are known."""
    if isinstance(steps, int) and steps <= MOST_STEPS and any(UNKNOWN in type_.dims for type_ in types):
        raise Refused("a state changes its sizes in known steps")


def slice_of(node, value: Value, axis: int, place: int) -> Value:
    """The slice at one index of an axis, without the axis; a constant stays a constant."""
    known = value.known()
    if known is not None:
        return node.elements(known.take(place, axis), value.dtype)
    return ComputedValue(at(node.emit(value), axis, place))


def stack_of(node, values: list[Value], axis: int) -> "ir.Value | Value":
    """Values of one shape along a new axis; constants stay a constant."""
    if not values:
        raise Refused("it has no steps, and the shape of its scanned output is not known without one")
    axis = node.axis(axis, len(values[0].dims) + 1)
    known = [value.known() for value in values]
    if not any(array is None for array in known):
        return node.elements(np.stack([array for array in known if array is not None], axis), values[0].dtype)
    return stacked([node.emit(value) for value in values], axis)
