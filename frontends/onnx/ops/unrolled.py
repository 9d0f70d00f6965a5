"""Helpers for unrolled loops and recurrent layers."""
from collections.abc import Sequence

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size
from legato.frontends.onnx.problems import Refused

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
