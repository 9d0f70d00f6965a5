"""What the loops of direct convolutions share: tiles of positions, and the elementwise ops on their sums."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod

from legato.analysis.structured.direct import DirectForm
from legato.analysis.structured.elements import Index, Term
from legato.core.cpu_table import LINE
from legato.core.dtypes import element_bytes
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import present
from legato.core.mlir import ir, memref
from legato.core.vector_loops import Size, Vectors, minus, plus, quotient, remainder, times, value_of
from legato.passes.cpu.direct.blocks import SHARE
from legato.passes.cpu.elements import Buffers, Elements
from legato.passes.cpu.row_tiles import Positions, count_of
from legato.passes.cpu.window_loops import WindowLine, WindowLoops, WindowRow

MANY = 1 << 20      # tiles

# (tile, start, tap, line, sums) -> sums
Products = Callable[[Positions, Size, Size, WindowLine, Sequence[ir.Value]], list[ir.Value]]


class FlatElements(Elements):
    """Elements of the tensors of a form's kernel, whose groups and features are one dimension."""

    def __init__(self, form: DirectForm, buffers: Buffers, vectors: Vectors, places: Mapping[Term, Size], count: Size | None,
                 known: Mapping[ir.Value, ir.Value]):
        super().__init__(form.kernel, buffers, vectors, places, "f", count, known)
        self.form = form

    def _load(self, tensor: ir.Value, at: Index) -> ir.Value:
        return super()._load(*present(self.form.flat(tensor, at)))


class DirectLoops(WindowLoops):
    """Builds the loops of one kernel at the insertion point. ``tiles``: of a row; ``filters``: the packed ones."""

    def __init__(self, form: DirectForm, machine: CpuMachine, tiles: Sequence[Positions], buffers: Buffers, filters: ir.Value,
                 units: int = 1, chunk: int = 0, pieces: int = 1):
        super().__init__(form, machine, tiles, buffers, list(form.kernel.function.arguments)[-1], units, chunk, pieces)
        self.form: DirectForm = form
        self.filters = filters
        image = prod(form.source.type.shape[1:]) * element_bytes(form.source.type.element_type)
        self.is_far = form.groups > 1 and len(self.across) > 0 and (not self.has_known_sizes or image > machine.l2_bytes // SHARE)

    def sums_of(self, row: WindowRow, tile: Positions, start: Size, vectors: int, products: Products,
                begin: Sequence[ir.Value] = ()) -> list[ir.Value]:
        """``vectors`` sums for each position from ``start`` on; ``products`` adds those of a window's row, ``tap`` being
        its number. ``begin``: what they are added to, zeros where there is nothing."""
        def window_row(line: WindowLine, *sums: ir.Value) -> list[ir.Value]:
            tap: Size = 0
            for axis, place in zip(self.across, line.taps):
                tap = plus(times(tap, axis.taps), place)
            return products(tile, start, tap, self.near(line, tile, start), sums)

        return self.taps_of(row, begin or [self.vectors.splat(0)] * (tile.positions * vectors), window_row)

    def visit(self, row: WindowRow, tile: Positions, start: Size) -> tuple[int, Size]:
        """The number of tiles of an image, and that of the one that starts at ``start``. Of images of unknown size there may be many tiles,
        and those of a row have numbers from its own on."""
        if not (self.has_known_sizes and isinstance(self.rows, int)):
            return MANY, plus(row.number, quotient(start, self.tiles[0].positions))
        each, before = map(count_of, (self.tiles, self.tiles[:self.tiles.index(tile)]))
        number = plus(quotient(minus(minus(start, row.start), tile.start), tile.positions), before)
        return each * self.rows, plus(times(row.number, each), number)

    def turns(self, row: WindowRow, tile: Positions, start: Size, count: int) -> list[Size]:
        """Which of the next ``count`` pieces of a filter the tile that starts at ``start`` fetches: each tile others, in turns, so that all
        tiles of an image fetch all."""
        visits, visit = self.visit(row, tile, start)
        each = -(-count // visits)
        return [remainder(plus(times(visit, each), number), count) for number in range(each)]

    def fetch_row(self, tile: Positions, start: Size, line: WindowLine, channel: Size, count: int) -> None:
        """Fetches ``count`` neighbouring channels of the columns of a tile that starts at ``start`` into the second cache, in the row that
        the windows of the next row of the result take where these take ``line``, unless the whole image stays there. The hardware's
        prefetching does not follow so many columns at once. Behind the image's end that does no harm."""
        if not self.is_far:
            return
        *before, y = line.places
        size = LINE // element_bytes(self.source.type.element_type)
        below = WindowLine(line.taps, (*before, plus(y, self.across[-1].stride)))
        for column in self.columns_of(tile):
            for first in range(0, count, size):
                source, at = self.source_at(below, start, column, plus(channel, first))
                memref.PrefetchOp(source, [*map(value_of, at)], False, 2, True)

    def write(self, sums: Sequence[ir.Value], start: Size, places: dict[Term, Size], count: int | None) -> None:
        """Writes a vector of the result for each position from ``start`` on, through the elementwise ops after the convolution."""
        vectors = Vectors(sums[0].type.shape[0])
        form, elements_at = self.form, partial(FlatElements, self.form, self.buffers, vectors)
        indices: dict[ir.Value, set[Index]] = {}
        for tensor, index in form.reads:
            indices.setdefault(tensor, set()).add(index)
        of_features = elements_at(places, count, {})
        known = {tensor: of_features.tensor(tensor, next(iter(found))) for tensor, found in indices.items()
                 if len(found) == 1 and "w" not in next(iter(found))}   # read once for all positions
        for position, value in enumerate(sums):
            here = {**places, "w": plus(start, position)}
            result = elements_at(here, count, known | {form.result: value}).tensor(form.returned, form.own_terms)
            self.store(count, result, here)

    def store(self, count: int | None, value: ir.Value, here: Mapping[Term, Size]) -> None:
        """Stores a vector of the result, or the first ``count`` of its elements."""
        vectors = Vectors(value.type.shape[0])
        if count is None:
            vectors.store(value, self.out, *self.place(here))
        else:
            vectors.store_some(count, value, self.out, *self.place(here))

    def place(self, here: Mapping[Term, Size]) -> list[Size]:
        """Where an element of the result is written."""
        return [here[term] for term in self.form.terms]
