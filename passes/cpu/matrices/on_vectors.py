"""Convolutions as products of pairs in the lanes of vectors: by AVX512-BF16, whose sums stay in registers."""
from __future__ import annotations

from collections.abc import Sequence

from legato.analysis.structured.elements import Index, Term
from legato.analysis.structured.grouped_convolution import GroupedConvolutionForm, ImageConvolutionForm
from legato.core.interfaces import CpuMachine
from legato.core.mlir import arith, ir, memref
from legato.core.register_costs import step_time
from legato.core.vector_loops import Size, below, minus, plus, times, value_of, when
from legato.passes.cpu.direct.loops import FlatElements
from legato.passes.cpu.elements import Elements
from legato.passes.cpu.matrices.convolution import PairConvolution, TilePlace
from legato.passes.cpu.matrices.geometry import CopyGeometry
from legato.passes.cpu.matrices.packing import PAIR, PairTiles
from legato.passes.cpu.matrices.steps import add_products, load_pairs, spread_pair

WIDTHS = (2, 4, 3, 5, 1)        # vectors of features in a tile: of equally fast ones, the first


def vector_tiles(form: ImageConvolutionForm, machine: CpuMachine) -> PairTiles:
    """The sizes of a step: as many sums as registers hold, of so many positions that few are computed twice."""
    geometry, lanes = CopyGeometry.of(form), machine.lanes(32)
    in_rows = geometry.pitch > geometry.columns
    length, repeats = (geometry.columns, geometry.rows) if in_rows else (geometry.positions, 1)

    def time(vectors: int, positions: int) -> float:
        panels = -(-form.filter_shape[3] // (vectors * lanes))
        return -(-length // positions) * repeats * panels * step_time(positions, vectors)

    sizes = [(vectors, positions) for vectors in WIDTHS for positions in range(1, min(length, (machine.registers - 1) // vectors - 1) + 1)]
    vectors, positions = min(sizes, key=lambda size: time(*size))
    return PairTiles(positions, vectors * lanes, 1, in_rows)


class VectorConvolution(PairConvolution):
    """The loops of one kernel: each step multiplies a pair of channels of every position with those of all features, and fetches a part of
    the next panel's filters."""

    worth_it = 1 << 20

    @property
    def overlaps(self) -> bool:
        return True

    def build(self) -> None:
        """Builds all loops."""
        panels, steps, *tile = self.weights.type.shape
        type_ = ir.MemRefType.get([panels, steps, tile[0] * tile[1] * tile[2]], self.weights.type.element_type)
        self.rows = memref.CollapseShapeOp(type_, self.weights, [[0], [1], [2, 3, 4]]).result
        super().build()

    def tile(self, image: ir.Value, place: TilePlace, panel: Size, thread: Size) -> None:
        """Builds the products of a tile with a panel of features, and what writes their sums."""
        v, lanes, vectors = self.vectors, self.vectors.lanes, self.tiles.features // self.vectors.lanes
        panel_of_all = plus(times(place.group, self.panels), panel)

        def step(first: Size, matrix: Size, block: ir.Value, sums: Sequence[ir.Value]) -> list[ir.Value]:
            self.fetch(place, panel_of_all, matrix)
            filters = [load_pairs(v, self.rows, panel_of_all, matrix, PAIR * lanes * j) for j in range(vectors)]
            inputs = [spread_pair(v, self.read, plus(first, position), times(block, PAIR)) for position in range(self.tiles.positions)]
            return add_products(inputs, filters, sums)

        sums = self.sums_of(place, step, [v.splat(0)] * (self.tiles.positions * vectors))
        for j in range(vectors):
            self._write(image, place, plus(times(panel, self.tiles.features), j * lanes), sums[j::vectors])

    def _write(self, image: ir.Value, tile: TilePlace, feature: Size, sums: Sequence[ir.Value]) -> None:
        """Writes a vector of the result for each position of a tile, through the elementwise ops after the convolution; not the first
        ones, which another tile writes: their memory may be that of an operand."""
        form, geometry = self.form, self.geometry
        count = minus(self.features, feature) if self.features % self.tiles.features else None
        feature = plus(times(tile.group, self.features), feature)
        mask = None if count is None else self.vectors.mask(count)

        def elements(places: dict[Term, Size], known: dict[ir.Value, ir.Value]) -> Elements:
            if isinstance(form, GroupedConvolutionForm):
                return FlatElements(form.direct, self.buffers, self.vectors, places, count, known)
            return Elements(form.kernel, self.buffers, self.vectors, places, "f", count, known)

        shared = self._read_once(elements({"n": image, "f": feature}, {}))
        h, w = tile.h, tile.w
        for number, value in enumerate(sums):
            places: dict[Term, Size] = {"n": image, "h": h, "w": w, "f": feature}

            def write(places: dict[Term, Size] = places, value: ir.Value = value) -> None:
                result = self.narrowed(elements(places, shared | {form.result: value}).tensor(form.returned, form.made))
                self.vectors.store_if(mask, result, self.out, *(term if isinstance(term, int) else places[term] for term in form.out))

            when(isinstance(tile.written, int) or below(minus(tile.written, 1), number), write)
            w = plus(w, 1)
            if not self.tiles.in_rows and geometry.rows > 1:
                ends = arith.cmpi(arith.CmpIPredicate.eq, value_of(w), value_of(geometry.columns))
                h, w = arith.select(ends, value_of(plus(h, 1)), value_of(h)), arith.select(ends, value_of(0), value_of(w))

    def _read_once(self, elements: Elements) -> dict[ir.Value, ir.Value]:
        """The vectors that the ops after the convolution read for all positions alike."""
        indices: dict[ir.Value, set[Index]] = {}
        for tensor, index in self.form.reads:
            indices.setdefault(tensor, set()).add(index)
        return {tensor: elements.tensor(tensor, next(iter(found))) for tensor, found in indices.items()
                if len(found) == 1 and not {"h", "w"} & set(next(iter(found)))}
