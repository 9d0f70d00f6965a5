"""Ties: a result of a prim_func is tied to its output if it is computed in the place of the ``tir.out`` argument that belongs to it.

Upstream's fusion cuts ties: it replaces an unread ``outs(%out)`` by a ``tensor.empty``. The kernel would then allocate, and copy at
its end. ``tie_outputs``, called after each such rewrite, makes them again.
"""
from collections.abc import Iterator
from math import prod

from legato.core.ir_helpers import index, terminator
from legato.core.mlir import arith, func, ir, tensor
from legato.core.slices import dim

RESHAPES = ("tensor.cast", "tensor.expand_shape", "tensor.collapse_shape", "memref.cast", "memref.expand_shape", "memref.collapse_shape")
INVERSE = ("tensor.expand_shape", "tensor.collapse_shape")     # of each other
# which operand the result is written into
INTO = {"tensor.insert": 1, "tensor.insert_slice": 1, "vector.transfer_write": 1, "bufferization.materialize_in_destination": 1}


def place_of(value: ir.Value) -> int | None:
    """The number of the operand in whose place an op computes ``value``, all of it; None where there is none, or for an argument."""
    op = value.owner
    if isinstance(op, ir.Block):
        return None
    if op.name in RESHAPES:
        return 0
    if op.name in INTO:
        return INTO[op.name]
    if op.name == "scf.for":
        return 3 + ir.OpResult(value).result_number if _stays(*carried(value)) else None
    if op.name == "scf.forall" or op.name.startswith("linalg."):
        return len(op.operands) - len(op.results) + ir.OpResult(value).result_number
    return None


def carried(value: ir.Value) -> tuple[ir.Value, ir.Value]:
    """What a step of a loop gives for one of its results, and the loop's own tensor for it at the step's begin."""
    number, step = ir.OpResult(value).result_number, value.owner.operation.regions[0].blocks[0]
    return terminator(step).operands[number], step.arguments[1 + number]


def _stays(value: ir.Value, start: ir.Value) -> bool:
    """Whether a value is computed in the place of ``start``, in each branch."""
    while (place := place_of(value)) is not None:
        value = value.owner.operands[place]
    if isinstance(value.owner, ir.Block) or value.owner.name not in ("scf.if", "vector.mask"):
        return value == start
    number = ir.OpResult(value).result_number
    return all(_stays(terminator(region.blocks[0]).operands[number], start) for region in value.owner.operation.regions)


def is_tied(value: ir.Value, out: ir.Value) -> bool:
    """Whether ``value`` is computed, all of it, in the place of the argument ``out``, through loops, structured ops and reshapes."""
    while (place := place_of(value)) is not None:
        value = value.owner.operands[place]
    return value == out


def tie_outputs(kernel: func.FuncOp) -> None:
    """Ties those results of a prim_func that start from a ``tensor.empty``: they start from their outputs instead."""
    for value, out in results_with_outputs(kernel):
        _tie(value, out)


def results_with_outputs(kernel: func.FuncOp) -> Iterator[tuple[ir.Value, ir.Value]]:
    """Each value that a prim_func returns, with its output argument."""
    block = kernel.body.blocks[0]
    results, arguments = list(terminator(block).operands), list(block.arguments)
    return zip(results, arguments[len(arguments) - len(results):], strict=True)


def _tie(value: ir.Value, out: ir.Value) -> None:
    reshapes: list[ir.Operation] = []
    overwritten = False
    while (place := place_of(value)) is not None:
        op, start = value.owner.operation, value.owner.operands[place]
        if op.name in RESHAPES:
            reshapes.append(op)
        if _is_empty(start):
            if start.type == out.type:
                op.operands[place] = out
            elif reshapes and all(map(_goes_back, reshapes[:-1])) and reshapes[-1].name in INVERSE:
                op.operands[place] = _reshaped_back(out, reshapes, start, op)
            return
        overwritten = overwritten or op.name not in RESHAPES
        if overwritten and any(use.owner.operation != op and use.owner.name != "tensor.extract_slice" for use in start.uses):
            return  # another reader needs the value that the op overwrites; a slice is taken to be computed and inserted again
        value = start


def _is_empty(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.name == "tensor.empty"


def _goes_back(op: ir.Operation) -> bool:
    """Whether a reshape has an inverse whose sizes follow: it joins one unknown size at most with known ones, none of which is 0."""
    if op.name != "tensor.collapse_shape":
        return op.name in INVERSE
    type_ = op.operands[0].type
    return 0 not in type_.shape and all(sum(map(type_.is_dynamic_dim, group)) <= 1 for group in _groups(op))


def _groups(op: ir.Operation) -> list[list[int]]:
    return [[dim.value for dim in group] for group in op.attributes["reassociation"]]


def _reshaped_back(out: ir.Value, reshapes: list[ir.Operation], empty: ir.Value, before: ir.Operation) -> ir.Value:
    """``out`` in the shape that these reshapes, the last one first, make the shape of ``out`` of. ``empty``: what the last one begins
    with."""
    with ir.InsertionPoint(before), before.location:
        for op in reshapes:
            groups, type_ = _groups(op), op.operands[0].type
            if op.name != "tensor.collapse_shape":
                out = tensor.CollapseShapeOp(type_, out, groups).result
                continue
            sizes = list(empty.owner.operands) if op == reshapes[-1] else _split_sizes(out, groups, type_)
            out = tensor.ExpandShapeOp(type_, out, groups, sizes, list(type_.shape)).result
    return out


def _split_sizes(out: ir.Value, groups: list[list[int]], type_: ir.RankedTensorType) -> list[ir.Value]:
    """The unknown sizes of a shape of which each of these groups has one at most, from those of ``out``, which are their products."""
    found = []
    for number, group in enumerate(groups):
        if any(map(type_.is_dynamic_dim, group)):
            known = prod(type_.shape[axis] for axis in group if not type_.is_dynamic_dim(axis))
            size = dim(out, number)
            found.append(size if known == 1 else arith.divui(size, index(known)))
    return found
