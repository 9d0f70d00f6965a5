"""Elements of buffers in a kernel: indices, slices, loads and stores."""

import ast
from typing import Any

from legato.analysis.indices.forms import linear
from legato.frontends.script.kernel.arithmetic import binary
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.lanes import LaneValues, lanes_of, lifted
from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.kernel.values import Scalar, as_index, describe
from legato.frontends.script.language.source import Misuse


def load(buffer: Buffer, indices: list[Any]) -> Any:
    """An element, or as many as there are lanes in an index."""
    return lifted(lambda *places: buffer.load(list(places)), *indices)


def store_at(buffer: Buffer, indices: list[Any], x: Any) -> None:
    """Stores a value in an element, or one lane in each of several. Misuse where the lanes do not fit."""
    if isinstance(x, Buffer):
        raise Misuse(f"'{x.name}' is a buffer: give an element of it")
    if isinstance(x, LaneValues) and not any(isinstance(i, LaneValues) for i in indices):
        raise Misuse(f"{len(x)} values for one element: say which, {buffer.name}[i:i + {len(x)}], or T.Ramp(i, 1, {len(x)})")
    lifted(lambda value, *places: buffer.store(value, list(places)), x, *indices)


def subscripts(node: ast.expr) -> list[ast.expr]:
    """The indices and slices of a subscript, one for each dimension."""
    return node.elts if isinstance(node, ast.Tuple) else [node]


def indices(parser: KernelParser, node: ast.expr, buffer: Buffer) -> list[Any]:
    """The indices of a subscript: values, and LaneValues for a slice."""
    found: list[Any] = []
    for element in subscripts(node):
        if isinstance(element, ast.Slice):
            found.append(slice_lanes(parser, element, buffer, len(found)))
            continue
        value = parser.expression(element.value if isinstance(element, ast.Starred) else element)
        found += value if isinstance(value, tuple) else [value]
    return found


def slice_lanes(parser: KernelParser, node: ast.Slice, buffer: Buffer, axis: int) -> Any:
    """The indices of a slice as LaneValues; as one value where it has one element."""
    begin, extent = slice_bounds(parser, node, buffer, axis)
    step = 1 if node.step is None else parser.expression(node.step)
    if not isinstance(extent, int) or not isinstance(step, int) or step < 1:
        raise parser.error("how many elements a part of a buffer has must be known when the kernel is parsed: A[i:i + 4]", node)
    if extent == 1:
        return begin
    return lanes_of(-(-extent // step), lambda lane: binary("+", begin, lane * step))


def slice_bounds(parser: KernelParser, node: ast.expr, buffer: Buffer, axis: int) -> tuple[Any, Any]:
    """Begin and extent of an index (extent 1) or a slice. The extent is an int where the two bounds differ by a constant."""
    if not isinstance(node, ast.Slice):
        return parser.expression(node), 1
    if axis >= buffer.rank:
        raise Misuse(f"'{buffer.name}' has {buffer.rank} dimensions, and more indices are given")
    begin = 0 if node.lower is None else parser.expression(node.lower)
    end = buffer.size(axis) if node.upper is None else parser.expression(node.upper)
    for bound in (begin, end):
        if isinstance(bound, float) or (not isinstance(bound, int) and not (isinstance(bound, Scalar) and not bound.is_float)):
            raise Misuse(f"a part of a buffer runs from an index to an index, not {describe_value(bound)}")
    extent = binary("-", end, begin)
    if isinstance(extent, Scalar):
        form = linear(as_index(end)) - linear(as_index(begin))
        extent = form.constant if form.is_constant else extent
    if isinstance(extent, int) and extent < 1:
        raise Misuse(f"a part of {extent} elements")
    return begin, extent


def bounds_of_part(parser: KernelParser, node: ast.expr | None, buffer: Buffer) -> list[tuple[ast.expr, Any, Any]]:
    """Subscript, begin and extent in each dimension of ``A[i, 0:4]``; dimensions that are not subscripted are whole.

    Misuse where there are more subscripts than dimensions.
    """
    elements = [] if node is None else subscripts(node)
    if len(elements) > buffer.rank:
        raise Misuse(f"'{buffer.name}' has {buffer.rank} dimensions, and {len(elements)} indices are given")
    elements = [*elements, *[ast.Slice()] * (buffer.rank - len(elements))]
    return [(e, *slice_bounds(parser, e, buffer, axis)) for axis, e in enumerate(elements)]


def describe_value(x: Any) -> str:
    """A value in the words of an error."""
    return f"{len(x)} values" if isinstance(x, LaneValues) else f"the buffer '{x.name}'" if isinstance(x, Buffer) else describe(x)
