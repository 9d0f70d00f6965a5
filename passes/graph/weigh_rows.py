"""relax-weigh-rows: sums of rows that constant indices take, weighted by constants, become one gather_weighted.

What a linear or cubic Resize is along one axis: each take is a copy of the image, and their products and sum are another kernel. One kernel
reads the rows and adds them in registers. Behind relax-convert-layout, which knows the axes of takes.
"""
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.dialects.relax.taps import read_taps
from legato.passes.graph.fold_constants import fold_made
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, has_one_use, is_used, relax_functions, replace_uses
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import REORDERED, Rounding

FLOATS = (ir.F16Type, ir.BF16Type, ir.F32Type, ir.F64Type)


@dataclass(frozen=True)
class WeighRows(ModulePass):
    """Adds rows that are taken along an axis other than the last, and weighted, by gather_weighted."""

    name: ClassVar[str] = "relax-weigh-rows"
    rounding: ClassVar[Rounding] = REORDERED
    target: TargetText = option("llvm", "the target whose vectors and masks rows are compared with")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        with module.context, ir.Location.unknown():
            constants = Constants(module)
            for function in relax_functions(module):
                for op in reversed(graph_ops(function)):
                    if op.name == "relax.add" and is_used(op.results[0]) and (rows := WeightedRows.of(op, constants)) is not None:
                        bits = rows.x.type.element_type.width
                        if machine.masks(bits) or rows.width % machine.lanes(max(bits, 32)) == 0:
                            rows.replace(op, constants)
                erase_dead(function, constants)


@dataclass(frozen=True)
class WeightedRows:
    """Sums of rows of ``x`` along ``axis``: [taps, count] indices and weights, and which rows, of weight 0, are not read."""

    x: ir.Value
    axis: int
    indices: np.ndarray
    weights: np.ndarray
    is_unread: np.ndarray

    @classmethod
    def of(cls, op: ir.Operation, constants: Constants) -> "WeightedRows | None":
        """What an addition adds; None if that is anything but rows of one tensor."""
        taken: dict[ir.Value, _Taken] = {}
        for term in _nearest_terms(op):
            found = _taken(term, constants)
            first = next(iter(taken.values()), found)
            if found is None or first is None or found.rows != first.rows or dims.UNKNOWN in dims.dims(found.x.type):
                return None
            taken[term] = found
        terms = [taken[term] for term in _terms(op)]
        first = terms[0]
        wide = np.float64 if first.weights.dtype == np.float64 else np.float32
        indices, weights = np.stack([one.indices for one in terms]), np.stack([one.weights for one in terms]).astype(wide)
        is_unread = (weights == 0) & np.array([[one.left_out] for one in terms])
        found = cls(first.x, first.axis, indices, weights, is_unread)
        return found if isinstance(found.width, int) else None

    @property
    def width(self) -> dims.Size:
        """The elements of a row."""
        return dims.product(dims.dims(self.x.type)[self.axis + 1:])

    def replace(self, op: ir.Operation, constants: Constants) -> None:
        """Replaces the sum."""
        sizes = list(dims.dims(self.x.type))
        with ir.InsertionPoint(op), op.location:
            rows = relax.reshape(self.x, [dims.product(sizes[:self.axis]), sizes[self.axis], self.width])
            indices, weights = constants.build(self.indices[None], "rows"), constants.build(self.weights[None], "weights")
            if self.is_unread.any():
                indices, weights = read_taps(indices, weights, relax.constant(self.is_unread[None]))
            sums = relax.gather_weighted(rows, indices, weights)
            sizes[self.axis] = self.indices.shape[1]
            replace_uses(op.results[0], relax.reshape(sums, sizes))
        for number in (1, 2):
            fold_made(sums.owner.operands[number], constants)


@dataclass(frozen=True)
class _Taken:
    """A term: rows of ``x`` along ``axis``, times their weights; ``left_out``: whether those of weight 0 are not read."""

    x: ir.Value
    axis: int
    indices: np.ndarray
    weights: np.ndarray
    left_out: bool

    @property
    def rows(self) -> tuple[ir.Value, int, int]:
        """What all terms of a sum have in common: the tensor, the axis, and the number of rows."""
        return self.x, self.axis, self.indices.size


def _terms(op: ir.Operation) -> list[ir.Value]:
    """What a tree of additions adds, whose inner results are used once, in their order."""
    found = []
    for value in op.operands:
        inner = _inner(value, op)
        found += [value] if inner is None else _terms(inner)
    return found


def _nearest_terms(op: ir.Operation) -> Iterator[ir.Value]:
    """The same, those behind the fewest additions first: whoever looks at all sums of a long chain, and stops at the first term that is
    none of its own, sees few terms of each."""
    sums = [op]
    for one in sums:
        for value in one.operands:
            inner = _inner(value, op)
            if inner is None:
                yield value
            else:
                sums.append(inner)


def _inner(value: ir.Value, op: ir.Operation) -> ir.Operation | None:
    """The addition that a term of ``op`` is the result of, if nothing else uses it."""
    inner = defining_op(value)
    return inner if inner is not None and inner.name == op.name and has_one_use(value) else None


def _taken(term: ir.Value, constants: Constants) -> _Taken | None:
    """A term of a sum; None for another value than weighted rows of floats."""
    op, mask = defining_op(term), None
    if op is not None and op.name == "relax.where" and constants.scalar(op.operands[1]) == 0:
        mask, op = constants.array(op.operands[0]), defining_op(op.operands[2])
        if mask is None:
            return None
    if op is None or op.name != "relax.multiply":
        return None
    for value, factor in (op.operands, reversed(op.operands)):
        take, weights = defining_op(value), constants.array(factor)
        if take is None or take.name != "relax.take" or weights is None or not isinstance(take.operands[0].type.element_type, FLOATS):
            continue
        x, indices = take.operands[0], constants.array(take.operands[1])
        axis = relax.attributes_of(take)["axis"] % x.type.rank
        if indices is None or indices.ndim != 1 or axis == x.type.rank - 1:
            continue
        along = [_along(array, x.type.rank, axis, indices.size) for array in (weights, mask) if array is not None]
        if any(array is None for array in along) or (mask is not None and not np.array_equal(along[1], along[0] == 0)):
            continue
        return _Taken(x, axis, indices, along[0], mask is not None)
    return None


def _along(array: np.ndarray, rank: int, axis: int, count: int) -> np.ndarray | None:
    """The elements of an array that is broadcast against a tensor and varies along one axis of it; None for another one."""
    if array.ndim > rank:
        return None
    sizes = [1] * (rank - array.ndim) + list(array.shape)
    if any(size != 1 for i, size in enumerate(sizes) if i != axis):
        return None
    return np.broadcast_to(array.reshape(-1), count)
