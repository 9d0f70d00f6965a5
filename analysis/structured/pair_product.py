"""The form of a kernel with one product of two factors: of bf16, whose pairs along the reduction one instruction multiplies and adds, or of
another type."""
from __future__ import annotations

from dataclasses import dataclass

from legato.analysis.structured.contraction import ContractionForm
from legato.analysis.structured.convolution import starts_at_zero
from legato.analysis.structured.elements import Index, place
from legato.analysis.structured.epilogue import Epilogue
from legato.analysis.structured.kernel_ops import KernelOps
from legato.analysis.structured.ops import StructuredOp
from legato.core.ir_helpers import defining_op, present
from legato.core.mlir import ir


@dataclass(frozen=True)
class PairProductForm(Epilogue):
    """A product that sums ``left[..., row, depth] * right[..., depth, column]`` in f32 along one reduction, and elementwise ops on its
    result. The terms of indices are the product's loops, as ``term`` names them. ``in_views``: whether the kernel's result is a view of
    what the last op makes, whose rows have several dimensions there."""

    kernel: KernelOps
    contraction: ContractionForm
    in_views: bool = False

    @classmethod
    def of(cls, kernel: KernelOps, contraction: ContractionForm | None, kind: type[ir.Type] = ir.BF16Type,
           packed: bool = False, single: bool = False, views: bool = False) -> PairProductForm | None:
        """The form of a kernel with this contraction, of factors of a kind; None for another kernel. ``packed``: whether the factor with
        the columns will be, so that its elements may lie in any order. ``single``: of one row, with a loop or without. ``views``: whether
        it may be ``in_views``."""
        if contraction is None or not in_order(contraction.heart, contraction, kind, packed):
            return None
        if contraction.row is None if not single else contraction.row is not None and contraction.extents[contraction.row] != 1:
            return None
        returned = kernel.ops[-1].operands[0]
        in_views = views and _of_rows(returned) != returned
        out = _out(contraction, _of_rows(returned) if in_views else returned)
        if out is None or out[-1] != term(contraction.column):
            return None
        form = cls(kernel, contraction, in_views)
        return form if form.is_traceable([form.left, form.right]) else None

    @property
    def returned(self) -> ir.Value:
        """What the last op makes."""
        return _of_rows(super().returned) if self.in_views else super().returned

    @property
    def left(self) -> ir.Value:
        """The factor with the rows."""
        return self.contraction.heart.inputs[1 - self.contraction.weight]

    @property
    def right(self) -> ir.Value:
        """The factor with the columns."""
        return self.contraction.heart.inputs[self.contraction.weight]

    @property
    def left_index(self) -> Index:
        """The index of an element of the left factor."""
        return self._index(1 - self.contraction.weight)

    @property
    def right_index(self) -> Index:
        """The index of an element of the right factor."""
        return self._index(self.contraction.weight)

    @property
    def terms(self) -> Index:
        """The index of an element of the product."""
        return self._index(2)

    @property
    def out(self) -> Index:
        """The index of an element of the kernel's result, whose last term is the column."""
        return present(_out(self.contraction, self.returned))

    @property
    def result(self) -> ir.Value:
        """The product."""
        return self.contraction.op.results[0]

    @property
    def outer(self) -> list[int]:
        """The loops around those of a product of two matrices."""
        form = self.contraction
        return sorted([*form.batch, *form.rows[:-1], *form.columns[:-1]])

    @property
    def depth(self) -> int:
        """The elements that are summed."""
        return self.contraction.extents[self.contraction.reductions[0]] or 0

    def _index(self, operand: int) -> Index:
        heart = self.contraction.heart
        return place(heart.maps[operand], {loop: term(loop) for loop in range(len(heart.extents))})


def term(loop: int) -> str:
    """The name of a loop of the product in indices."""
    return f"loop{loop}"


def in_order(op: StructuredOp, form: ContractionForm, kind: type[ir.Type] = ir.BF16Type, packed: bool = False) -> bool:
    """Whether a contraction sums products of two factors of a kind in f32, from zero on, along one reduction of known size, neighbours in
    the factor with the rows being elements along the reduction, and in the other one columns, unless that will be ``packed``."""
    element = kind.get()
    types = [value.type.element_type for value in op.op.operands]
    if types != [element, element, ir.F32Type.get()] or op.summed_product is None or form.is_window or len(form.reductions) != 1:
        return False
    plain = op.plain and starts_at_zero(op.op) and form.extents[form.reductions[0]] is not None
    of_weight = packed or op.loops_of(form.weight)[-1] == form.column
    return plain and of_weight and op.loops_of(1 - form.weight)[-1] == form.reductions[0]


def _of_rows(value: ir.Value) -> ir.Value:
    """The matrix of which a value is a view with more dimensions of rows; other values as they are."""
    op = defining_op(value)
    if op is None or op.name != "tensor.expand_shape" or ir.RankedTensorType(op.operands[0].type).rank != 2:
        return value
    _, columns = op.attributes["reassociation"]
    return op.operands[0] if len(ir.ArrayAttr(columns)) == 1 else value


def _out(form: ContractionForm, returned: ir.Value) -> Index | None:
    """The index of the returned value; None where it is a view of what the last op makes."""
    if defining_op(returned) != form.last.op:
        return None
    by_dim = {dim: term(loop) for loop, dim in form.dims.items()}
    return tuple(by_dim.get(dim, 0) if dim is not None else 0 for dim in form.last.out_loops)
