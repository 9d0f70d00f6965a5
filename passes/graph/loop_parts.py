"""Splits a loop into loops over parts of its rows."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from legato.core.ir_helpers import body, defining_op, is_made_in, substitute, terminator
from legato.core.mlir import ir, scf, tensor
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.passes.graph.functions import CONSTANT, is_used
from legato.passes.graph.loop_rows import BOUNDS

EXTRACT, INSERT = "tensor.extract_slice", "tensor.insert_slice"
CAST = "builtin.unrealized_conversion_cast"
SHAPED = ("relax.reshape", "relax.broadcast_to")     # ops with their result's sizes as an attribute

Part = tuple[int, int]      # the first row, and the number of rows


def can_be_split(loop: ir.Operation, rows: Mapping[ir.Value, int]) -> bool:
    """Whether the number of rows is known; of values with other sizes that are not, the loop begins with empty ones, and casts name the
    sizes of its results."""
    if any(value.type.is_dynamic_dim(axis) for value, axis in rows.items()):
        return False
    for begin, result in zip(list(loop.operands)[BOUNDS:], loop.results):
        if result in rows and not result.type.has_static_shape:
            op = defining_op(begin)
            if op is None or op.name != "tensor.empty" or any(use.owner.name != CAST for use in result.uses):
                return False
    return True


def split_rows(loop: ir.Operation, rows: Mapping[ir.Value, int], parts: Sequence[Part], front: ir.Operation,
               behind: ir.Operation) -> list[ir.Operation]:
    """Replaces a loop by one for each part of its rows.

    ``rows``: the values that have rows, with the axis (see row_axes); ``front``, ``behind``: the ops in front of which the parts of what
    the loop reads are taken, and those of its results put together.
    """
    for op in body(loop.regions[0].blocks[0]):
        if op.name == CAST and not is_made_in(op.operands[0], loop):    # slices are taken of what stands in front
            op.move_before(front)
    with ir.InsertionPoint(front), loop.location:
        given = [parts_of(loop, rows, part) for part in parts]
    with ir.InsertionPoint(loop), loop.location:
        made = [build(loop, rows, part, values) for part, values in zip(parts, given)]
    with ir.InsertionPoint(behind), loop.location:
        for number, result in enumerate(loop.results):
            of_parts = [one.results[number] for one in made]
            if result in rows:
                put_together(result, rows[result], of_parts)
            else:
                result.replace_all_uses_with(of_parts[0])
    loop.erase()
    return made


def put_together(result: ir.Value, axis: int, parts: Sequence[ir.Value]) -> None:
    """Replaces a result by the concatenation of its parts; of sizes that are symbols, by that of what casts make of it."""
    if result.type.has_static_shape:
        if is_used(result):
            result.replace_all_uses_with(relax.concat(parts, axis))
        return
    for cast in {use.owner.operation for use in result.uses}:
        named = cast.results[0]
        of_parts = [ir.Operation.create(CAST, [with_rows(named, axis, part.type.shape[axis])], [part]).results[0] for part in parts]
        named.replace_all_uses_with(relax.concat(of_parts, axis))
        cast.erase()


def parts_of(loop: ir.Operation, rows: Mapping[ir.Value, int], part: Part) -> dict[ir.Value, ir.Value]:
    """The rows of the values in front of a loop that it reads, but for those that it reads slices of."""
    values = dict.fromkeys(list(loop.operands)[BOUNDS:])
    for op in body(loop.regions[0].blocks[0]):
        values |= dict.fromkeys(value for value in op.operands if not is_slice_in_front(op, loop) and not is_made_in(value, loop))
    return {value: part_of(value, rows[value], part) for value in values if value in rows}


def part_of(value: ir.Value, axis: int, part: Part) -> ir.Value:
    """Some rows of a tensor; of an empty one, or of equal elements, one of as many."""
    first, count = part
    op = defining_op(value)
    if op is not None and op.name == "tensor.empty":
        dynamic, type_ = iter(op.operands), with_rows(value, axis, count)
        sizes = [next(dynamic) if type_.is_dynamic_dim(number) else size for number, size in enumerate(type_.shape)]
        return tensor.EmptyOp(sizes, type_.element_type).result
    if op is not None and op.name == CONSTANT and "value" in op.attributes and ir.DenseElementsAttr(op.attributes["value"]).is_splat:
        made, type_ = op.clone(), with_rows(value, axis, count)
        made.attributes["value"] = ir.DenseElementsAttr.get_splat(type_, ir.DenseElementsAttr(op.attributes["value"]).get_splat_value())
        made.results[0].set_type(type_)
        return made.results[0]
    return relax.strided_slice(value, begin=[first], end=[first + count], axes=[axis])


def with_rows(value: ir.Value, axis: int, count: int) -> ir.RankedTensorType:
    """The type of so many rows of a tensor."""
    sizes = list(dims.dims(value.type))
    sizes[axis] = count
    return dims.tensor_type(sizes, value.type.element_type)


def build(loop: ir.Operation, rows: Mapping[ir.Value, int], part: Part, given: Mapping[ir.Value, ir.Value]) -> ir.Operation:
    """The loop over some rows. ``given``: those of the values in front of it."""
    inside = loop.regions[0].blocks[0]
    bounds, begins = list(loop.operands)[:BOUNDS], list(loop.operands)[BOUNDS:]
    made = scf.ForOp(*bounds, [given.get(value, value) for value in begins])
    mapping = dict(zip(inside.arguments, made.body.arguments, strict=True))
    with ir.InsertionPoint(made.body):
        for op in body(inside):
            new = op.clone()
            fit(new, op, rows, part)
            substitute(new, mapping if is_slice_in_front(op, loop) else {**given, **mapping})
            mapping |= dict(zip(op.results, new.results, strict=True))
        scf.YieldOp([mapping.get(value, given.get(value, value)) for value in terminator(inside).operands])
    return made.operation


def is_slice_in_front(op: ir.Operation, loop: ir.Operation) -> bool:
    """Whether an op takes a slice of a tensor in front of the loop, which the parts do not split."""
    return op.name == EXTRACT and not is_made_in(op.operands[0], loop)


def fit(new: ir.Operation, op: ir.Operation, rows: Mapping[ir.Value, int], part: Part) -> None:
    """Gives the copy of an op the sizes that it has for some rows."""
    first, count = part
    whole = {EXTRACT: 0, INSERT: 1}.get(op.name)
    if whole is not None and op.operands[whole] in rows:
        axis = rows[op.operands[whole]]
        new.attributes["static_sizes"] = replaced(op.attributes["static_sizes"], axis, count)
        if is_slice_in_front(op, op.parent.operation):
            new.attributes["static_offsets"] = replaced(op.attributes["static_offsets"], axis, first)
    for old, result in zip(op.results, new.results):
        if old in rows:
            type_ = with_rows(old, rows[old], count)
            if op.name in SHAPED:
                new.attributes["shape"] = dims.to_attribute(dims.dims(type_))
            result.set_type(type_)


def replaced(numbers: ir.Attribute, place: int, number: int) -> ir.DenseI64ArrayAttr:
    """An array attribute with another number at a place."""
    found = list(numbers)
    found[place] = number
    return ir.DenseI64ArrayAttr.get(found)
