"""The buffers that the tensors of a kernel become, and the sizes of tensors."""
from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from legato.core.ir_helpers import index
from legato.core.mlir import arith, bufferization, func, ir, memref
from legato.dialects.tir.loops import make_buffer
from legato.schedule.buffer_primitives import expression
from legato.schedule.reshapes import Index, groups_of, place, source
from legato.schedule.state import ScheduleError
from legato.schedule.structured import memref_type


class TensorBuffers:
    """``buffers``: of each tensor that is no view and not computed in another's place. ``overwritten``: by the result, the tensor that an
    op computes it in."""

    def __init__(self, kernel: func.FuncOp) -> None:
        self.kernel = kernel
        self.buffers: dict[ir.Value, ir.Value] = {}
        self.overwritten: dict[ir.Value, ir.Value] = {}

    def root(self, value: ir.Value) -> ir.Value:
        """The tensor that a value is a view of, or is computed in."""
        while (nearer := source(value, self.overwritten.get)) is not None:
            value = nearer[0]
        return value

    def element(self, value: ir.Value, indices: Sequence[Index], axes: Sequence[ir.Value]) -> tuple[ir.Value, list[ir.Value]]:
        """The buffer of a tensor, and the indices there of an element at ``indices``, expressions of ``axes``. ScheduleError for a tensor
        without one: the result of an op that is kept."""
        try:
            found, places = place(value, indices, self.overwritten.get)
        except ScheduleError as error:
            raise ScheduleError(f"@{self.kernel.name.value} cannot be put into loops: {error}") from None
        if found not in self.buffers and not isinstance(found.owner, ir.Block) and found.owner.name == "arith.constant":
            operations = [op.operation for op in self.kernel.body.blocks[0].operations]
            with ir.InsertionPoint(operations[operations.index(found.owner.operation) + 1]):
                self.buffers[found] = bufferization.ToBufferOp(memref_type(found.type), found, read_only=True).result
        if found not in self.buffers:
            made = "an argument" if isinstance(found.owner, ir.Block) else found.owner.name
            raise ScheduleError(f"@{self.kernel.name.value} cannot be put into loops: a tensor is made by {made}")
        return self.buffers[found], [expression(one, list(axes)) for one in places]

    def load(self, value: ir.Value, indices: Sequence[Index], axes: Sequence[ir.Value]) -> ir.Value:
        """The element of a tensor."""
        return memref.LoadOp(*self.element(value, indices, axes)).result

    def store(self, element: ir.Value, value: ir.Value, indices: Sequence[Index], axes: Sequence[ir.Value]) -> None:
        """Writes the element of a tensor."""
        memref.StoreOp(element, *self.element(value, indices, axes))

    def size(self, value: ir.Value, axis: int, made: bool = True) -> int | ir.Value:
        """The size of an axis, at the insertion point. Not ``made``: without the buffers that the kernel makes, which are behind its
        scalars."""
        if not value.type.is_dynamic_dim(axis):
            return value.type.shape[axis]
        if value in self.buffers and (made or isinstance(value.owner, ir.Block)):
            return memref.DimOp(self.buffers[value], index(axis)).result
        start = self.overwritten.get(value)
        if start is not None:
            return self.size(start, axis, made)
        op = value.owner.operation
        dynamic = [a for a in range(value.type.rank) if value.type.is_dynamic_dim(a)].index(axis)
        if op.name in ("tensor.expand_shape", "tensor.extract_slice"):   # a slice's offsets are known
            return op.operands[1 + dynamic]
        if op.name == "tensor.empty":
            return op.operands[dynamic]
        if op.name == "tensor.cast":
            return self.size(op.operands[0], axis, made)
        if op.name == "tensor.collapse_shape":
            sizes = [self.size(op.operands[0], a, made) for a in groups_of(op)[axis]]
            return reduce(lambda a, b: arith.muli(a, b), [index(one) if isinstance(one, int) else one for one in sizes])
        raise ScheduleError(f"@{self.kernel.name.value} cannot be put into loops: a size of {op.name} is not known")

    def make(self, value: ir.Value, sizes: Sequence[ir.Value]) -> None:
        """A buffer of the kernel's own for a tensor."""
        self.buffers[value] = make_buffer(memref_type(value.type), f"buffer_{len(self.buffers)}", "global", sizes)
