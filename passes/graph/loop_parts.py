"""Splits loops into loops over parts of their rows."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from legato.core.ir_helpers import body, defining_op, is_made_in, mixed, substitute, terminator
from legato.core.mlir import func, ir, scf, tensor
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.dims import Size
from legato.passes.graph.functions import CONSTANT, is_used
from legato.passes.graph.loop_rows import BOUNDS, CAST, DIM, EMPTY, EXTRACT, INSERT, sizes_of

BROADCAST = "relax.broadcast_to"
SHAPED = ("relax.reshape", BROADCAST)     # ops with their result's sizes as an attribute

Rows = Mapping[ir.Value, int]       # the values that have rows, with the axis: see row_axes
Index = int | ir.Value


@dataclass(frozen=True)
class RowPart:
    """Some rows: the first, and their number, as sizes and as numbers or values in the code; ``end``: the row behind the last."""

    first: Size
    end: Size
    begin: Index
    length: Index

    @classmethod
    def of(cls, first: Size, end: Size, function: func.FuncOp) -> RowPart:
        """Some rows, whose values are built at the insertion point, in a function that has the symbols."""
        begin, length = (one if isinstance(one, int) else dims.materialize(one, function) for one in (first, end - first))
        return cls(first, end, begin, length)

    @property
    def count(self) -> Size:
        """The number of rows; those of all parts add up to the number of all rows, in symbols, too."""
        return self.end - self.first


def number_of_rows(loop: ir.Operation, rows: Rows) -> Size:
    """The number of rows of a loop; UNKNOWN where a value with rows does not say it, or a loop over some of them cannot be built."""
    found = {sizes_of(value)[axis] for value, axis in rows.items()}
    for begin, result in zip(list(loop.operands)[BOUNDS:], loop.results):
        op = defining_op(begin)
        made = op is not None and op.name in (EMPTY, CAST)
        if result in rows and not result.type.has_static_shape and (not made or dims.UNKNOWN in sizes_of(result)):
            return dims.UNKNOWN
    return found.pop() if len(found) == 1 else dims.UNKNOWN


def hoist_casts(loop: ir.Operation, front: ir.Operation) -> None:
    """Moves casts of what stands in front of a loop there, before ``front``: slices are taken of their results."""
    for op in body(loop.regions[0].blocks[0]):
        if op.name == CAST and not is_made_in(op.operands[0], loop):
            op.move_before(front)


def parts_of(loop: ir.Operation, rows: Rows, part: RowPart) -> dict[ir.Value, ir.Value]:
    """The rows of the values in front of a loop that it reads, but for those that it reads slices of."""
    values = dict.fromkeys(list(loop.operands)[BOUNDS:])
    for op in body(loop.regions[0].blocks[0]):
        if op.name != DIM and not is_slice_in_front(op, loop):
            values |= dict.fromkeys(value for value in op.operands if not is_made_in(value, loop))
    return {value: part_of(value, rows[value], part) for value in values if value in rows}


def part_of(value: ir.Value, axis: int, part: RowPart) -> ir.Value:
    """Some rows of a tensor; of an empty one, or of equal elements, one of as many."""
    op, type_ = defining_op(value), with_rows(value, axis, part.count)
    if op is not None and op.name == CAST:
        return ir.Operation.create(CAST, [type_], [part_of(op.operands[0], axis, part)]).results[0]
    if op is not None and op.name == EMPTY:
        dynamic = iter(op.operands)
        sizes = [next(dynamic) if value.type.is_dynamic_dim(number) else size for number, size in enumerate(value.type.shape)]
        sizes[axis] = part.length
        return tensor.EmptyOp(sizes, type_.element_type).result
    if op is not None and op.name == BROADCAST and op.operands[0].type.rank == 0:
        return relax.broadcast_to(op.operands[0], list(dims.dims(type_)))
    if op is not None and op.name == CONSTANT and "value" in op.attributes and ir.DenseElementsAttr(op.attributes["value"]).is_splat:
        made = op.clone()
        made.attributes["value"] = ir.DenseElementsAttr.get_splat(type_, ir.DenseElementsAttr(op.attributes["value"]).get_splat_value())
        made.results[0].set_type(type_)
        return made.results[0]
    made = relax.strided_slice(value, begin=[part.first], end=[part.end], axes=[axis])
    return made if made.type == type_ else ir.Operation.create(CAST, [type_], [made]).results[0]    # its size is max(0, count)


def with_rows(value: ir.Value, axis: int, count: Size) -> ir.RankedTensorType:
    """The type of so many rows of a tensor: with names of sizes if it has them."""
    sizes = list(dims.dims(value.type))
    sizes[axis] = count
    made = dims.tensor_type(sizes, value.type.element_type)
    return made if value.type.encoding is not None else dims.strip(made)


def build(loop: ir.Operation, rows: Rows, part: RowPart, given: Mapping[ir.Value, ir.Value]) -> ir.Operation:
    """The loop over some rows. ``given``: those of the values in front of it."""
    inside = loop.regions[0].blocks[0]
    lower, upper, step, *begins = loop.operands
    made = scf.ForOp(lower, upper, step, [given.get(value, value) for value in begins])
    mapping = dict(zip(inside.arguments, made.body.arguments, strict=True))
    with ir.InsertionPoint(made.body):
        for op in body(inside):
            new = op.clone()
            substitute(new, mapping if is_slice_in_front(op, loop) else {**given, **mapping})
            new = fit(new, op, rows, part)
            mapping |= dict(zip(op.results, new.results, strict=True))
        scf.YieldOp([mapping.get(value, given.get(value, value)) for value in terminator(inside).operands])
    return made.operation


def is_slice_in_front(op: ir.Operation, loop: ir.Operation) -> bool:
    """Whether an op takes a slice of a tensor in front of the loop, which the parts do not split."""
    return op.name == EXTRACT and not is_made_in(op.operands[0], loop)


def fit(new: ir.Operation, op: ir.Operation, rows: Rows, part: RowPart) -> ir.Operation:
    """Gives the copy of an op the sizes that it has for some rows, or replaces it."""
    whole = {EXTRACT: 0, INSERT: 1}.get(op.name)
    if whole is not None and op.operands[whole] in rows:
        axis = rows[op.operands[whole]]
        offsets, sizes, strides = (mixed(new, name) for name in ("offsets", "sizes", "strides"))
        sizes[axis] = part.length
        offsets[axis] = part.begin if is_slice_in_front(op, op.parent.operation) else 0
        return sliced(new, op, rows, part, (offsets, sizes, strides))
    for old, result in zip(op.results, new.results):
        if old in rows:
            type_ = with_rows(old, rows[old], part.count)
            if op.name in SHAPED:
                new.attributes["shape"] = dims.to_attribute(dims.dims(type_))
            result.set_type(type_)
    return new


def sliced(new: ir.Operation, op: ir.Operation, rows: Rows, part: RowPart, places: Sequence[Sequence[Index]]) -> ir.Operation:
    """Replaces the copy of a slice by one of other places: offsets, sizes and strides."""
    unknown = ir.ShapedType.get_dynamic_size()
    dynamic = [[one for one in numbers if isinstance(one, ir.Value)] for numbers in places]
    static = [[unknown if isinstance(one, ir.Value) else one for one in numbers] for numbers in places]
    if op.name == EXTRACT:
        result = op.results[0]
        type_ = with_rows(result, rows[result], part.count) if result in rows else result.type
        made = tensor.ExtractSliceOp(type_, new.operands[0], *dynamic, *static)
    else:
        made = tensor.InsertSliceOp(new.operands[0], new.operands[1], *dynamic, *static)
    new.erase()
    return made.operation


def together(result: ir.Value, axis: int, parts: Sequence[ir.Value], counts: Sequence[Size]) -> ir.Value:
    """The rows of parts as one tensor of the type of ``result``, that of a loop over all rows."""
    named = dims.tensor_type(sizes_of(result), result.type.element_type)
    if named != result.type:
        sizes = [list(sizes_of(result)) for _ in parts]
        for own, count in zip(sizes, counts):
            own[axis] = count
        parts = [ir.Operation.create(CAST, [dims.tensor_type(own, named.element_type)], [part]).results[0]
                 for own, part in zip(sizes, parts)]
    whole = relax.concat(parts, axis)
    return whole if whole.type == result.type else ir.Operation.create(CAST, [result.type], [whole]).results[0]


def replace_result(result: ir.Value, value: ir.Value) -> None:
    """Replaces a result by what ``together`` made; casts that name its sizes by what has the names already."""
    op = defining_op(value)
    if op is not None and op.name == CAST:
        for cast in {use.owner.operation for use in result.uses if use.owner.name == CAST}:
            if cast.results[0].type == op.operands[0].type:
                cast.results[0].replace_all_uses_with(op.operands[0])
                cast.erase()
    result.replace_all_uses_with(value)
    if op is not None and op.name == CAST and not is_used(value):
        op.erase()
