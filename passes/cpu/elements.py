"""Vectors of elements that a kernel computes by elementwise ops from its arguments."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from legato.analysis.structured.elements import BodyScalar, Index, Term, elementwise, yielded
from legato.analysis.structured.kernel import KernelOps
from legato.core.constants import filled
from legato.core.ir_helpers import defining_op, present, splat
from legato.core.mlir import arith, bufferization, ir, memref, vector
from legato.core.vector_loops import Size, Vectors, least, minus, plus, read, value_of


class Buffers:
    """The memory of tensors: arguments of a kernel, and views of them. Made at the insertion point; only ``out`` is written."""

    def __init__(self, tensors: Iterable[ir.Value], out: ir.Value):
        self._made: dict[ir.Value, ir.Value] = {}
        for tensor in dict.fromkeys([*tensors, out]):
            self.add(tensor, tensor, tensor != out)

    def add(self, tensor: ir.Value, value: ir.Value, read_only: bool = True) -> None:
        """Gives a tensor the memory of another one."""
        if isinstance(tensor.type, ir.RankedTensorType):
            type_ = ir.MemRefType.get(value.type.shape, value.type.element_type)
            self._made[tensor] = bufferization.ToBufferOp(type_, value, read_only=read_only).result

    def put(self, tensor: ir.Value, memory: ir.Value) -> None:
        """Gives a tensor memory."""
        self._made[tensor] = memory

    def of(self, tensor: ir.Value) -> ir.Value:
        """The buffer of a tensor."""
        return self._made[tensor]

    def with_rows(self, tensor: ir.Value) -> Buffers:
        """The same buffers, that of a tensor as a matrix: all dimensions but the last are its rows."""
        made = Buffers.__new__(Buffers)
        made._made = {**self._made, tensor: rows_of(self.of(tensor), self.of(tensor).type.rank - 1)}
        return made

    def element(self, tensor: ir.Value, at: Index) -> tuple[ir.Value, Index]:
        """A buffer of a tensor, and where it has an element that is at these terms of the tensor."""
        return self.of(tensor), at


class RowBuffers(Buffers):
    """Other buffers, with the first dimensions of some as one: where ``terms`` are the first of an element, the number of the row that they
    make takes their place. ``sizes``: the steps of the loops of these terms, but for the first one."""

    ROW = "row"     # the term of a row's number

    def __init__(self, buffers: Buffers, terms: Index, sizes: Sequence[int]):
        self._made, self._terms = dict(buffers._made), terms
        self._rows = {tensor: rows_of(buffer, len(terms)) for tensor, buffer in self._made.items()
                      if buffer.type.rank >= len(terms) and list(buffer.type.shape[1:len(terms)]) == list(sizes)}

    def element(self, tensor: ir.Value, at: Index) -> tuple[ir.Value, Index]:
        count = len(self._terms)
        if tensor not in self._rows or at[:count] != self._terms:
            return super().element(tensor, at)
        return self._rows[tensor], (self.ROW, *at[count:])


def rows_of(buffer: ir.Value, dims: int) -> ir.Value:
    """A view of a buffer with so many of its first dimensions as one."""
    shape, unknown = list(buffer.type.shape), ir.ShapedType.get_dynamic_size()
    first = prod(shape[:dims]) if unknown not in shape[:dims] else unknown
    type_ = ir.MemRefType.get([first, *shape[dims:]], buffer.type.element_type)
    return memref.CollapseShapeOp(type_, buffer, [[*range(dims)], *([dim] for dim in range(dims, len(shape)))]).result


class Elements:
    """Vectors of elements along one loop.

    ``places``: the position in each loop, for ``lane`` that of the first lane; ``count``: the number of lanes that lie inside, where not
    all do; ``known``: vectors of tensors that are given.
    """

    def __init__(self, kernel: KernelOps, buffers: Buffers, vectors: Vectors, places: Mapping[Term, Size], lane: Term,
                 count: Size | None = None, known: Mapping[ir.Value, ir.Value] | None = None):
        self.kernel, self.buffers, self.vectors = kernel, buffers, vectors
        self.places, self.lane, self.count, self.known = places, lane, count, known or {}
        self._made: dict[tuple, ir.Value] = {}

    def tensor(self, tensor: ir.Value, at: Index) -> ir.Value:
        """The elements of a tensor."""
        if tensor in self.known:
            return self.known[tensor]
        op = elementwise(self.kernel, tensor)
        return self._load(tensor, at) if op is None else self.scalar(yielded(op, at))

    def scalar(self, scalar: BodyScalar) -> ir.Value:
        """The values of a scalar of a body."""
        key = scalar.value, tuple(scalar.loops.items())
        if key not in self._made:
            self._made[key] = self._scalar(scalar)
        return self._made[key]

    def _scalar(self, scalar: BodyScalar) -> ir.Value:
        found = scalar.operand
        if found is not None:
            value, at = found
            if not isinstance(value.type, ir.RankedTensorType):
                return self.vectors.spread(value)
            stored, type_ = self.tensor(value, at), self.vectors.of(scalar.value.type)
            return stored if stored.type == type_ else arith.extf(type_, stored)     # stored narrower than the op was made for
        op = scalar.inner
        if op is None:
            outside = present(defining_op(scalar.value))
            return self._constant(outside) if outside.name == "arith.constant" else self.vectors.spread(scalar.value)
        if op.name == "arith.constant":
            return self._constant(op)
        if op.name == "linalg.index":
            return self._positions(scalar.loops[op.attributes["dim"].value])
        operands = [self.scalar(scalar.other(operand)) for operand in op.operands]
        attributes = {name: op.attributes[name] for name in op.attributes}
        types = [self.vectors.of(result.type) for result in op.results]
        return ir.Operation.create(op.name, types, operands, attributes).results[0]

    def _constant(self, op: ir.Operation) -> ir.Value:
        type_ = self.vectors.of(op.results[0].type)
        return filled(type_, op.attributes["value"])

    def _positions(self, term: Term) -> ir.Value:
        first = self.vectors.spread(self._at(term))
        return arith.addi(first, vector.StepOp(first.type).result) if term == self.lane else first

    def _at(self, term: Term) -> ir.Value:
        return value_of(term if isinstance(term, int) else self.places[term])

    def _load(self, tensor: ir.Value, at: Index) -> ir.Value:
        dense = splat(tensor, "arith.constant")
        if dense is not None:
            type_ = self.vectors.of(tensor.type.element_type)
            return filled(type_, dense.get_splat_value())
        buffer, at = self.buffers.element(tensor, at)
        places = [self._at(term) for term in at]
        if self.lane not in at:
            return self.vectors.spread(read(buffer, *places))
        if at[-1] != self.lane or at.count(self.lane) > 1:
            return self._gathered(buffer, places, [d for d, term in enumerate(at) if term == self.lane])
        return self.vectors.load(buffer, *places) if self.count is None else self.vectors.load_some(self.count, buffer, *places)

    def _gathered(self, buffer: ir.Value, places: list[ir.Value], dims: list[int]) -> ir.Value:
        """Elements that are not neighbours, one by one; lanes outside repeat the last one inside."""
        elements = []
        for lane in range(self.vectors.lanes):
            step = lane if self.count is None else least(lane, minus(self.count, 1))
            at = [plus(place, step) if d in dims else place for d, place in enumerate(places)]
            elements.append(memref.LoadOp(buffer, [*map(value_of, at)]).result)
        return vector.FromElementsOp(self.vectors.of(buffer.type.element_type), elements).result
