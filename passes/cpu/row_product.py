"""Products of rows by constant weights, found in kernels: what passes replace by loops of their own."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from legato.analysis.structured import StructuredKernel
from legato.analysis.structured.elements import Index, Term
from legato.analysis.structured.epilogue import Epilogue
from legato.analysis.structured.pair_product import PairProductForm, term
from legato.core.cpu_table import LINE
from legato.core.dtypes import element_bytes
from legato.core.ir_helpers import index, present
from legato.core.mlir import ir, memref
from legato.core.vector_loops import Size, Vectors, below, if_else, loop, minus, plus, times, value_of
from legato.passes.cpu.elements import Buffers, Elements, RowBuffers, rows_of
from legato.passes.cpu.matrices.steps import rounded
from legato.passes.cpu.next_blocks import may_be_cold
from legato.passes.cpu.outer_loops import element_at
from legato.passes.graph.functions import has_one_use


@dataclass(frozen=True)
class ProductResult:
    """The rows of a product that are written through the elementwise ops on it. ``columns``: their length; ``places``: the terms of a row
    by its number; ``column``: the term of a column."""

    form: Epilogue
    columns: Size
    places: Callable[[Size], dict[Term, Size]]
    column: Term

    def write(self, buffers: Buffers, vectors: Vectors, sums: ir.Value, at: Sequence[Size], row: Size, count: Size, column: Size,
              width: int) -> None:
        """Builds what writes so many rows of ``width`` columns, from a row and a column of the product on, through the elementwise ops
        after it. ``sums``: the buffer of its sums, which lie there from the place ``at`` on."""
        form = self.form
        out, written = buffers.element(list(form.kernel.function.arguments)[-1], form.out)

        def rows(are_inside: bool) -> None:
            def one(i: ir.Value) -> None:
                number = plus(row, i)
                of_row = {**self.places(number), RowBuffers.ROW: number}
                for j in range(0, width, vectors.lanes):
                    place = plus(column, j)
                    inside = None if are_inside else minus(self.columns, place)
                    places = {**of_row, self.column: place}
                    value = vectors.load(sums, plus(at[0], i), plus(at[1], j))
                    elements = Elements(form.kernel, buffers, vectors, places, self.column, inside, {form.result: value})
                    result = elements.tensor(form.returned, form.out)
                    if result.type.element_type != out.type.element_type:   # only products of pairs read it
                        result = rounded(vectors, result)
                    mask = None if inside is None else vectors.mask(inside)
                    vectors.store_if(mask, result, out, *element_at(written, places))

            loop(0, count, 1, one)

        if isinstance(self.columns, int) and self.columns % width == 0:
            rows(are_inside=True)
        else:
            if_else(below(self.columns, plus(column, width)), lambda: rows(are_inside=False), lambda: rows(are_inside=True))

    def fetch(self, buffers: Buffers, row: Size, count: Size, column: Size, width: int) -> None:
        """Builds what fetches into the second-level cache that ``write`` reads besides sums, from buffers that may lie beyond it."""
        large = [(value, at) for value, at in self.form.reads if at and at[-1] == self.column and may_be_cold(value)]

        def one(i: ir.Value) -> None:
            places = self.places(plus(row, i))
            for value, at in large:
                for j in range(0, width, LINE // element_bytes(value.type.element_type)):
                    where = element_at(at, {**places, self.column: plus(column, j)})
                    memref.PrefetchOp(buffers.of(value), [*map(value_of, where)], False, 2, True)

        if large:
            loop(0, count, 1, one)


@dataclass(frozen=True)
class RowProduct(ProductResult):
    """A product of rows of ``left``, whose dimensions but the last are rows, by a weight [depth, columns], and the elementwise ops on its
    result. ``each``: the rows of the product for each of the first dimension of ``left``, whose size may be known only when the product
    runs; ``source``: where an element of a row is among all of ``left``, if the rows are not those of ``left``, in order; ``loops``:
    the terms that rows go through, if they are several, and how many steps each but the first has."""

    columns: int
    left: ir.Value
    each: int
    depth: int
    source: Callable[[Size, Size], Size] | None = None
    loops: tuple[Index, Sequence[int]] | None = None

    @property
    def rows(self) -> int | None:
        """The number of rows, if it is known."""
        first = self.left.type.shape[0]
        return first * self.each if first >= 0 else None

    def rows_of(self, left: ir.Value) -> Size:
        """The number of rows, of the buffer of ``left``."""
        return times(memref.dim(left, index(0)), self.each) if self.rows is None else self.rows

    def by_rows(self, buffers: Buffers) -> Buffers:
        """The same buffers, where ``write`` need not take the number of a row apart to find what lies in the order of the rows."""
        if self.loops is not None:
            return RowBuffers(buffers, *self.loops)
        return buffers.with_rows(list(self.form.kernel.function.arguments)[-1]) if self.in_views else buffers

    @property
    def in_views(self) -> bool:
        """Whether the kernel's result has several dimensions of rows."""
        return isinstance(self.form, PairProductForm) and self.form.in_views

    def in_rows(self, left: ir.Value) -> ir.Value:
        """The buffer of ``left`` as a matrix of the rows."""
        if left.type.rank == 2:
            return left
        return rows_of(left, left.type.rank - 1)


def is_weight(value: ir.Value) -> bool:
    """Whether a factor is an argument that only its product reads: other ops would read its parts, too."""
    return isinstance(value, ir.BlockArgument) and has_one_use(value)


def product_of_matrices(kernel: StructuredKernel, packed: bool = False, views: bool = False) -> tuple[RowProduct, ir.Value] | None:
    """A product of two matrices. ``packed``: whether the weight will be, which may be transposed then; ``views``: whether the kernel's
    result may be a view of the product's."""
    form = PairProductForm.of(kernel, kernel.contraction, ir.F32Type, packed, views=views)
    if form is None or form.outer:
        return None
    row, column = present(form.contraction.row), form.contraction.column
    columns = form.contraction.extents[column]
    plain = form.left.type.rank == form.right.type.rank == 2 and form.left_index[0] == term(row)
    if not plain or columns is None:
        return None
    return RowProduct(form, columns, lambda at: {term(row): at}, term(column), form.left, 1, form.depth), form.right
