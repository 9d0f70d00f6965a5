"""Products of rows by constant weights, found in kernels: what passes replace by loops of their own."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from legato.analysis.structured import ConvolutionForm, StructuredKernel
from legato.analysis.structured.elements import Term
from legato.analysis.structured.epilogue import Epilogue
from legato.analysis.structured.pair_product import PairProductForm, term
from legato.core.ir_helpers import index, present
from legato.core.mlir import ir, memref
from legato.core.vector_loops import Size, plus, quotient, remainder, times
from legato.passes.graph.functions import has_one_use


@dataclass(frozen=True)
class RowProduct:
    """A product of rows of ``left``, whose dimensions but the last are rows, by a weight [depth, columns], and the elementwise ops on its
    result. ``each``: the rows of the product for each of the first dimension of ``left``, whose size may be known only when the product
    runs; ``places``: the terms of a row by its number; ``column``: the term of a column; ``source``: where an element of a row is among all
    of ``left``, if the rows are not those of ``left``, in order."""

    form: Epilogue
    left: ir.Value
    each: int
    depth: int
    columns: int
    places: Callable[[Size], dict[Term, Size]]
    column: Term
    source: Callable[[Size, Size], Size] | None = None

    @property
    def rows(self) -> int | None:
        """The number of rows, if it is known."""
        first = self.left.type.shape[0]
        return first * self.each if first >= 0 else None

    def rows_of(self, left: ir.Value) -> Size:
        """The number of rows, of the buffer of ``left``."""
        return times(memref.dim(left, index(0)), self.each) if self.rows is None else self.rows

    def in_rows(self, left: ir.Value) -> ir.Value:
        """The buffer of ``left`` as a matrix of the rows."""
        if left.type.rank == 2:
            return left
        outer, rows = [*range(left.type.rank - 1)], ir.ShapedType.get_dynamic_size() if self.rows is None else self.rows
        type_ = ir.MemRefType.get([rows, self.depth], left.type.element_type)
        return memref.CollapseShapeOp(type_, left, [outer, [len(outer)]]).result


def is_weight(value: ir.Value) -> bool:
    """Whether a factor is an argument that only its product reads: other ops would read its parts, too."""
    return isinstance(value, ir.BlockArgument) and has_one_use(value)


def product_of_matrices(kernel: StructuredKernel, packed: bool = False) -> tuple[RowProduct, ir.Value] | None:
    """A product of two matrices. ``packed``: whether the weight will be, which may be transposed then."""
    form = PairProductForm.of(kernel, kernel.contraction, ir.F32Type, packed)
    if form is None or form.outer:
        return None
    row, column = present(form.contraction.row), form.contraction.column
    columns = form.contraction.extents[column]
    plain = form.left.type.rank == form.right.type.rank == 2 and form.left_index[0] == term(row)
    if not plain or columns is None:
        return None
    return RowProduct(form, form.left, 1, form.depth, columns, lambda at: {term(row): at}, term(column)), form.right


def product_of_windows(form: ConvolutionForm | None, step: int) -> tuple[RowProduct, ir.Value] | None:
    """A convolution in images of known size, all of whose windows lie inside. The rows of a window are runs of neighbours in memory, which
    have to be whole steps, of ``step`` elements, where there are several."""
    if form is None or form.depth is not None:
        return None
    high, wide, channels, features = form.filter_shape
    _, height, width, _ = form.result_shape
    sides, (down, right), (apart, beside) = form.source_shape[1:3], form.strides, form.dilations
    known = min([*sides, channels]) >= 0 and tuple(form.begins) == (0, 0) and form.filter.type.element_type == ir.F32Type.get()
    run, of_row = wide * channels, sides[1] * channels
    in_runs = (wide == 1 or beside == 1) and (high == 1 or run % step == 0)
    inside = (height - 1) * down + (high - 1) * apart < sides[0] and (width - 1) * right + wide <= sides[1]
    if not known or not in_runs or not inside:
        return None

    def position(row: Size) -> tuple[Size, Size, Size]:
        image, place = quotient(row, height * width), remainder(row, height * width)
        return image, quotient(place, width), remainder(place, width)

    def source(row: Size, column: Size) -> Size:
        image, y, x = position(row)
        lines = plus(times(image, sides[0]), times(y, down))
        if high > 1:
            lines, column = plus(lines, times(quotient(column, run), apart)), remainder(column, run)
        return plus(plus(times(lines, of_row), times(x, right * channels)), column)

    def places(row: Size) -> dict[Term, Size]:
        return dict(zip("nhw", position(row)))

    all_rows = (high, wide, down, right) == (1, 1, 1, 1) and (height, width) == tuple(sides)
    product = RowProduct(form, form.source, height * width, high * run, features, places, "f", None if all_rows else source)
    return product, form.filter
