"""Convolutions as products of matrices: by AMX, whose sums are written to memory, and read again by the ops after the convolution."""
from __future__ import annotations

from collections.abc import Sequence

from legato.analysis.structured import ConvolutionForm
from legato.analysis.structured.grouped_convolution import ImageConvolutionForm
from legato.analysis.structured.groups import depth_of
from legato.core.ir_helpers import present
from legato.core.matrix_steps import contracted, no_sums, read_matrix, write_sums
from legato.core.mlir import arith, ir
from legato.core.vector_loops import Size, below, loop, minus, plus, scratch, times, value_of, when
from legato.passes.cpu.elements import Elements
from legato.passes.cpu.matrices.convolution import PairConvolution, TilePlace
from legato.passes.cpu.matrices.geometry import CopyGeometry
from legato.passes.cpu.matrices.packing import COLUMNS, PAIR, PairTiles
from legato.passes.cpu.matrices.products import SIDE
from legato.passes.cpu.next_blocks import is_cold


def matrix_tiles(form: ConvolutionForm) -> PairTiles:
    """The sizes of a step: two by two matrices, or one of either where that is all there is."""
    geometry = MatrixConvolution.geometry_of(form)
    rows, features = (COLUMNS if extent > SIDE else SIDE for extent in (geometry.positions, form.filter_shape[3]))
    return PairTiles(rows, features, present(depth_of(geometry.run // PAIR))) if geometry.column else PairTiles(rows, features)


class MatrixConvolution(PairConvolution):
    """The loops of one kernel, in the form that ``tir-lower-matrix-products`` makes AMX's instructions of."""

    worth_it = 1 << 22

    @classmethod
    def geometry_of(cls, form: ImageConvolutionForm) -> CopyGeometry:
        return CopyGeometry.of(form, overlapping=True)

    def build(self) -> None:
        """Builds all loops."""
        self.sums = scratch(self.threads, self.tiles.positions, self.tiles.features)
        super().build()

    def stays(self, share: int) -> bool:
        """Fewer do than on vectors: a matrix takes long to come from the third cache, and little time to be multiplied."""
        return not is_cold(self.weights)

    def tile(self, image: ir.Value, place: TilePlace, panel: Size, thread: Size) -> None:
        """Builds the products of a tile with a panel of features, and what writes their sums."""
        positions, depth, features = self.tiles.positions, self.tiles.depth, self.tiles.features

        def step(first: Size, matrix: Size, block: ir.Value, sums: Sequence[ir.Value]) -> list[ir.Value]:
            self.fetch(place, panel, matrix)
            left = read_matrix(self.pairs, [first, times(block, depth), 0], [positions, depth, PAIR])
            right = read_matrix(self.weights, [panel, matrix, 0, 0, 0], [depth, features, PAIR])
            return [contracted(left, right, *sums)]

        write_sums(self.sums_of(place, step, [no_sums(positions, features)])[0], self.sums, thread, 0, 0)
        self._outputs(image, place, panel, thread)

    def _outputs(self, image: ir.Value, tile: TilePlace, panel: Size, thread: Size) -> None:
        """Writes the positions of a tile that lie in the result, through the elementwise ops after the convolution; not the first ones,
        which another tile writes: their memory may be that of an operand."""
        lanes, columns, geometry = self.vectors.lanes, self.tiles.features, self.geometry
        feature, some = times(panel, columns), bool(self.features % columns)

        def one(number: ir.Value, h: ir.Value, w: ir.Value) -> list[ir.Value]:
            def write() -> None:
                for j in range(0, columns, lanes):
                    place = plus(feature, j)
                    count = minus(self.features, place) if some else None
                    places: dict[str | int, Size] = {"n": image, "h": h, "w": w, "f": place}
                    value = self.vectors.load(self.sums, thread, number, j)
                    elements = Elements(self.form.kernel, self.buffers, self.vectors, places, "f", count, {self.form.result: value})
                    result = self.narrowed(elements.tensor(self.form.returned, self.form.out))
                    at = [term if isinstance(term, int) else places[term] for term in self.form.out]
                    self.vectors.store_if(None if count is None else self.vectors.mask(count), result, self.out, *at)

            inside = arith.andi(below(h, geometry.rows), below(w, geometry.columns))
            when(arith.andi(inside, below(minus(tile.written, 1), number)) if self.overlaps else inside, write)
            next_ = value_of(plus(w, 1))
            ends = arith.cmpi(arith.CmpIPredicate.eq, next_, value_of(geometry.pitch))
            return [arith.select(ends, value_of(plus(h, 1)), h), arith.select(ends, value_of(0), next_)]

        loop(0, self.tiles.positions, 1, one, [value_of(tile.h), value_of(tile.w)])
