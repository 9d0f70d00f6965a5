"""Rows of loops: an axis of what a loop carries along which no step mixes elements, as the batch of a recurrent layer."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from legato.core.ir_helpers import body, mixed, terminator
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.dims import UNKNOWN, Size
from legato.dialects.tir.loops import constant_of
from legato.passes.graph.functions import permutation_of, sliced_axes

Axis = tuple[ir.Value, int] | None      # an axis of a tensor; None: one whose elements are mixed
Link = tuple[Axis, Axis]
BOUNDS = 3          # operands of a loop in front of what it carries
CAST, EMPTY, DIM = "builtin.unrealized_conversion_cast", "tensor.empty", "tensor.dim"
EXTRACT, INSERT, STORE = "tensor.extract_slice", "tensor.insert_slice", "bufferization.materialize_in_destination"
PLAIN = ("arith.", "index.")     # of ops on numbers, which have no axes


def row_axes(loop: ir.Operation) -> list[Mapping[ir.Value, int]]:
    """The choices of rows of an scf.for without regions in it. Each gives the values that have rows, in front of the loop, in it and its
    results, with the axis; a step computes a row of theirs from the same row of others, and from values without rows."""
    parents: dict[Axis, Axis] = {}

    def root(axis: Axis) -> Axis:
        while (parent := parents.get(axis, axis)) != axis:
            axis = parent
        return axis

    for left, right in links(loop):
        a, b = root(left), root(right)
        if a != b:
            parents.update({b: a} if a is None else {a: b})     # None stays a root
    found: dict[Axis, dict[ir.Value, list[int]]] = {}
    for axis in [one for one in parents if one is not None]:
        if (of := root(axis)) is not None:
            for value, number in {axis, of}:
                axes = found.setdefault(of, {}).setdefault(value, [])
                axes += [] if number in axes else [number]
    clear = (values for values in found.values() if all(len(numbers) == 1 for numbers in values.values()))
    return [{value: number for value, (number,) in values.items()} for values in clear]


def links(loop: ir.Operation) -> Iterator[Link]:
    """Axes with the same rows: a step's, and those that the loop carries."""
    block = loop.regions[0].blocks[0]
    for op in body(block):
        if not op.name.startswith(PLAIN):
            yield from LINKS.get(op.name, _pointwise if getattr(relax.op_class(op), "ELEMENTWISE", False) else _mixed)(op)
    for begin, state, end, result in zip(list(loop.operands)[BOUNDS:], list(block.arguments)[1:], terminator(block).operands, loop.results):
        yield from (link for other in (begin, end, result) for link in _same(state, other))


def _axes(value: ir.Value) -> list[tuple[ir.Value, int]]:
    return [(value, axis) for axis in range(value.type.rank)] if isinstance(value.type, ir.RankedTensorType) else []


def _same(a: ir.Value, b: ir.Value) -> Iterator[Link]:
    yield from zip(_axes(a), _axes(b))


def _all_same(op: ir.Operation) -> Iterator[Link]:
    for value in op.operands:
        yield from _same(op.results[0], value)


def _mixed(op: ir.Operation) -> Iterator[Link]:
    """An op of which nothing is known."""
    yield from ((None, axis) for value in (*op.operands, *op.results) for axis in _axes(value))


def _broadcast(result: list[Axis], operand: list[Axis]) -> Iterator[Link]:
    """An operand's last axes with the result's, where it is not repeated along them."""
    for a, b in zip(reversed(result), reversed(operand)):
        if size(a) == size(b) is not UNKNOWN:
            yield a, b


def size(axis: Axis) -> Size:
    """The number of elements along an axis."""
    return UNKNOWN if axis is None else sizes_of(axis[0])[axis[1]]


def sizes_of(value: ir.Value) -> Sequence[Size]:
    """The sizes of a tensor, of plain type, too, as far as what makes it says, or a cast of it."""
    known = dims.dims(value.type)
    if UNKNOWN not in known:
        return known
    if isinstance(value.owner, ir.Block):
        loop = value.owner.owner.operation
        return sizes_of(loop.operands[BOUNDS + ir.BlockArgument(value).arg_number - 1]) if loop.name == "scf.for" else known
    op = value.owner.operation
    if op.name == CAST:
        return dims.dims(op.operands[0].type)
    if op.name == EMPTY:
        dynamic = iter(op.operands)
        return [index_size(next(dynamic)) if size is UNKNOWN else size for size in known]
    if op.name == "scf.for":
        return sizes_of(op.operands[BOUNDS + ir.OpResult(value).result_number])
    if op.name in (INSERT, STORE):
        return sizes_of(op.operands[1])
    return next((dims.dims(use.owner.results[0].type) for use in value.uses if use.owner.name == CAST), known)


def index_size(value: ir.Value) -> Size:
    """The size that an index is, where it is that of a tensor."""
    if isinstance(value.owner, ir.Block) or value.owner.name != DIM:
        return UNKNOWN
    of, axis = value.owner.operands
    number = constant_of(axis)
    return UNKNOWN if number is None else sizes_of(of)[number]


def _pointwise(op: ir.Operation) -> Iterator[Link]:
    for value in op.operands:
        yield from _broadcast(_axes(op.results[0]), _axes(value))


def _product(op: ir.Operation) -> Iterator[Link]:
    left, right, result = (_axes(value) for value in (*op.operands, op.results[0]))
    if len(left) < 2 or len(right) < 2:
        yield from _mixed(op)
        return
    turned = op.name == "relax.matmul_turned"
    depth, column = right[-2:][::-1 if turned else 1]
    yield from [(None, left[-1]), (None, depth), (result[-2], left[-2]), (result[-1], column)]
    yield from (*_broadcast(result[:-2], left[:-2]), *_broadcast(result[:-2], right[:-2]))


def _sliced(op: ir.Operation) -> Iterator[Link]:
    for number, link in enumerate(_same(op.results[0], op.operands[0])):
        yield from [(None, axis) for axis in link] if number in sliced_axes(op) else [link]


def _permuted(op: ir.Operation) -> Iterator[Link]:
    source = _axes(op.operands[0])
    yield from ((axis, source[by]) for axis, by in zip(_axes(op.results[0]), permutation_of(op)))


def _reshaped(op: ir.Operation) -> Iterator[Link]:
    """The first axes that both shapes have, then the last; those between are mixed."""
    source, result = _axes(op.operands[0]), _axes(op.results[0])
    while source and result and size(source[0]) == size(result[0]) is not UNKNOWN:
        yield source.pop(0), result.pop(0)
    while source and result and size(source[-1]) == size(result[-1]) is not UNKNOWN:
        yield source.pop(), result.pop()
    yield from ((None, axis) for axis in (*source, *result))


def _repeated(op: ir.Operation) -> Iterator[Link]:
    yield from _broadcast(_axes(op.results[0]), _axes(op.operands[0]))


def _part(op: ir.Operation) -> Iterator[Link]:
    yield from _slice(op, op.operands[0], op.results[0])


def _inserted(op: ir.Operation) -> Iterator[Link]:
    value, into = op.operands[0], op.operands[1]
    yield from _slice(op, into, value)
    yield from _same(op.results[0], into)


def _slice(op: ir.Operation, whole: ir.Value, part: ir.Value) -> Iterator[Link]:
    """A slice of a tensor: axes that it takes whole are rows of both; along the others it is at one place."""
    offsets, sizes, strides = (mixed(op, name) for name in ("offsets", "sizes", "strides"))
    left = _axes(part)
    for axis, at, extent, step in zip(_axes(whole), offsets, sizes, strides):
        length = index_size(extent) if isinstance(extent, ir.Value) else extent
        is_kept = bool(left) and size(left[0]) == length is not UNKNOWN
        is_whole = (at, step) == (0, 1) and length == size(axis) and length != 1
        if is_kept and is_whole:
            yield axis, left.pop(0)
        else:
            yield None, axis
            if is_kept and length != 1:
                yield None, left.pop(0)
    yield from ((None, axis) for axis in left)


def _dim(op: ir.Operation) -> Iterator[Link]:
    """A size, which is a part's in a slice, and in nothing else."""
    if any(use.owner.name not in (EXTRACT, INSERT) for use in op.results[0].uses):
        yield from _mixed(op)


LINKS: Mapping[str, Callable[[ir.Operation], Iterator[Link]]] = {
    "relax.matmul": _product,
    "relax.matmul_turned": _product,
    "relax.strided_slice": _sliced,
    "relax.permute_dims": _permuted,
    "relax.reshape": _reshaped,
    "relax.expand_dims": _reshaped,
    "relax.squeeze": _reshaped,
    "relax.broadcast_to": _repeated,
    "tensor.cast": _all_same,
    DIM: _dim,
    EXTRACT: _part,
    INSERT: _inserted,
    STORE: _all_same,
    CAST: _all_same,
}
