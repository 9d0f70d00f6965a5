"""The products of tiles transformed back, and the epilogue of the convolution on the result."""
from __future__ import annotations

from legato.analysis.structured.elements import Term
from legato.analysis.structured.grouped_convolution import GroupedConvolutionForm, ImageConvolutionForm
from legato.core.interfaces import WinogradTilesLike
from legato.core.mlir import arith, ir
from legato.core.vector_loops import Size, Vectors, below, if_else, least, loop, minus, plus, quotient, remainder, times, when
from legato.passes.cpu.direct.loops import FlatElements
from legato.passes.cpu.elements import Buffers, Elements
from legato.passes.cpu.winograd.position import Segment, WinogradSizes
from legato.passes.cpu.winograd.transforms import transforms_of


class WinogradOutputs:
    """Writes the outputs of segments of tiles."""

    def __init__(self, form: ImageConvolutionForm, tiles: WinogradTilesLike, buffers: Buffers, sizes: WinogradSizes):
        self.form, self.tiles, self.buffers, self.sizes = form, tiles, buffers, sizes
        self.vectors = Vectors(tiles.lanes)
        self.transforms = transforms_of(tiles, self.vectors)
        self.panel = tiles.lanes * tiles.vectors
        self.features = form.filter_shape[3] * form.groups
        self.out = buffers.of(list(form.kernel.function.arguments)[-1])

    def build(self, products: ir.Value, slot: Size, panel: Size, segment: Segment) -> None:
        """Writes the outputs of one segment and one panel of features. ``slot``: where the panel's products lie."""
        def tile(number: ir.Value) -> None:
            row = times(plus(times(segment.number, self.sizes.length), number), self.panel)

            def features(lane: ir.Value) -> None:
                values = self._transformed(products, slot, plus(row, lane))
                self._tile(values, segment, number, plus(times(panel, self.panel), lane))

            loop(0, self.panel, self.tiles.lanes, features)

        loop(0, least(minus(self.sizes.tile_columns, segment.column), self.sizes.length), 1, tile)

    def _transformed(self, products: ir.Value, slot: Size, at: Size) -> list[list[ir.Value]]:
        """The outputs of a tile, by row and column."""
        side, columns = self.sizes.side, []
        for w in range(side):
            column = [self.vectors.load(products, slot, u * side + w, at) for u in range(side)]
            columns.append(self.transforms.of_products(column))
        rows = [self.transforms.of_products([column[i] for column in columns]) for i in range(self.tiles.outputs)]
        return [[self.transforms.output(value, i, j) for j, value in enumerate(row)] for i, row in enumerate(rows)]

    def _tile(self, values: list[list[ir.Value]], segment: Segment, number: ir.Value, feature: Size) -> None:
        """Writes one tile for a vector of features: whole, or what lies inside of the result."""
        m, sizes = self.tiles.outputs, self.sizes
        row, column = times(segment.row, m), times(plus(segment.column, number), m)
        count = minus(self.features, feature) if self.features % self.tiles.lanes or self.features % self.panel else None
        image, depth = segment.image, self.form.depth
        places: dict[Term, Size] = {"n": image, "f": feature}
        if depth is not None:
            places |= {"n": quotient(image, depth.count), "d": remainder(image, depth.count)}

        def write(rows: list[int], columns: list[int]) -> None:
            found = [(plus(row, i), plus(column, j), values[i][j]) for i in rows for j in columns]
            results = [self._result(value, {**places, "h": h, "w": w}, count) for h, w, value in found]
            for (h, w, _), result in zip(found, results):
                self._write(result, {**places, "h": h, "w": w}, count)

        def some() -> None:
            for i in range(m):
                for j in range(m):
                    inside = arith.andi(below(plus(row, i), sizes.out_rows), below(plus(column, j), sizes.out_columns))
                    when(inside, lambda i=i, j=j: write([i], [j]))

        every = list(range(m))
        if isinstance(sizes.out_rows, int) and isinstance(sizes.out_columns, int) and not sizes.out_rows % m and not sizes.out_columns % m:
            write(every, every)
            return
        whole = arith.andi(below(plus(row, m - 1), sizes.out_rows), below(plus(column, m - 1), sizes.out_columns))
        if_else(whole, lambda: write(every, every), some)

    def _result(self, value: ir.Value, places: dict[Term, Size], count: Size | None) -> ir.Value:
        """A vector of the result, through the elementwise ops after the convolution."""
        form, known = self.form, {self.form.result: value}
        if isinstance(form, GroupedConvolutionForm):
            return FlatElements(form.direct, self.buffers, self.vectors, places, None, known).tensor(form.returned, form.made)
        return Elements(form.kernel, self.buffers, self.vectors, places, "f", count, known).tensor(form.returned, form.made)

    def _write(self, value: ir.Value, places: dict[Term, Size], count: Size | None) -> None:
        at = [term if isinstance(term, int) else places[term] for term in self.form.out]
        self.vectors.store_if(None if count is None else self.vectors.mask(count), value, self.out, *at)
