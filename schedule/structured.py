"""What lowering to loops reads from structured ops: how their loops run, what they fill and pad."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod

from legato.analysis.structured import CONTRACTION, ELEMENTWISE, REDUCTION, WINDOW, StructuredOp
from legato.analysis.structured.maps import dims_in
from legato.core.mlir import ir
from legato.dialects.tir.loops import DYNAMIC, REDUCE, SPATIAL
from legato.schedule.reshapes import Index, Joined, Starts, groups_of, single, source, undone

NAMES = {CONTRACTION: "contract", WINDOW: "window", REDUCTION: "reduce", ELEMENTWISE: "map"}


def edges(op: ir.Operation) -> list[int | ir.Value]:
    """The paddings of a ``tensor.pad``: those in front of each axis, then those behind."""
    given = iter(list(op.operands)[1:])
    return [next(given) if one == DYNAMIC else one for name in ("low", "high") for one in list(op.attributes[f"static_{name}"])]


def identity(rank: int) -> list[Index]:
    """The indices of each element at its own place."""
    return [ir.AffineExpr.get_dim(n) for n in range(rank)]


def element_count(value: ir.Value) -> int | None:
    """The number of elements of a tensor; None where it is not known."""
    return prod(value.type.shape) if value.type.has_static_shape else None


def memref_type(type_: ir.RankedTensorType) -> ir.MemRefType:
    """The memref type of a tensor."""
    return ir.MemRefType.get(type_.shape, type_.element_type)


def block_name(op: StructuredOp) -> str:
    """The name of an op's block, by its kind."""
    return "window" if op.kind == CONTRACTION and op.convolution is not None else NAMES.get(op.kind, "block")


def applied(m: ir.AffineMap, places: Sequence[Index]) -> list[Index]:
    """The results of a map of loops, where each loop is an index."""
    count = sum(len(one.parts) if isinstance(one, Joined) else 1 for one in places)
    whole = ir.AffineMap.get(count, 0, [single(one) for one in places])
    return [places[e.position] if isinstance(e, ir.AffineDimExpr) else e.compose(whole) for e in m.results]


def split_loops(op: StructuredOp, started: Starts) -> dict[int, tuple[int, ...]]:
    """The loops over an axis that reshapes join from several, with the sizes of these: loops over each read and write without divisions."""
    found: dict[int, set[tuple[int, ...]]] = {}
    mixed = {loop for m in op.maps for e in m.results if not isinstance(e, ir.AffineDimExpr) for loop in dims_in(e)}
    for number, value in enumerate(op.op.operands):
        if not isinstance(value.type, ir.RankedTensorType):
            continue
        while (nearer := undone(value, started) or source(value, started)) is not None and not nearer[1]:
            value = nearer[0]
        if nearer is None or value.owner.name != "tensor.collapse_shape":
            continue
        shape = value.owner.operands[0].type.shape
        for loop, group in zip(op.loops_of(number), groups_of(value.owner.operation)):
            sizes = tuple(shape[axis] for axis in group if shape[axis] != 1)
            if loop is not None and loop not in mixed and len(sizes) > 1:
                found.setdefault(loop, set()).add(sizes)
    return {loop: next(iter(sizes)) for loop, sizes in found.items() if len(sizes) == 1 and DYNAMIC not in next(iter(sizes))}


def kinds_of(op: StructuredOp) -> list[str]:
    """The axis kinds of an op's loops."""
    return [REDUCE if kind == REDUCTION else SPATIAL for kind in op.iterator_types]


def is_init(op: ir.Operation, value: ir.Value) -> bool:
    """Whether a value is a destination operand of an op."""
    return value in list(op.operands)[len(op.operands) - len(op.results):]


def is_fill(op: ir.Operation) -> bool:
    """Whether an op is a generic that only writes a scalar."""
    return op.name == "linalg.generic" and StructuredOp(op).body_names == ["linalg.yield"] and filled_value(op) is not None


def filled_value(op: ir.Operation) -> ir.Value | None:
    """The scalar that a generic writes; None where it is an element of a tensor."""
    inner = op.regions[0].blocks[0]
    value = inner.operations[0].operation.operands[0]
    if value in list(inner.arguments):
        operand = op.operands[list(inner.arguments).index(value)]
        return None if isinstance(operand.type, ir.RankedTensorType) else operand
    return value


def contract(op: ir.Operation) -> None:
    """Allows a product and a sum to be fused, as in kernels written by hand."""
    if op.name in ("arith.mulf", "arith.addf"):
        op.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<contract>")
