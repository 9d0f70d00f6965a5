"""The softmax of some rows of an attention over one block of keys, with what earlier blocks left."""
from __future__ import annotations

from collections.abc import Callable
from math import inf

from legato.core.ir_helpers import marked
from legato.core.mlir import arith, ir, math
from legato.core.vector_loops import Size, joined, loop, plus, read, rounded_up, times, write
from legato.dialects.tir.markers import WEIGHS
from legato.passes.cpu.attention.state import AttentionState

Score = Callable[[Size, ir.Value, int, Size | None], ir.Value]
Keep = Callable[[ir.Value, Size, ir.Value, int], None]


class RowSoftmax:
    """Builds the exponentials of the scores of some rows of a tile, and their sums.

    ``score(line, panel, j, rest)``: vector j of a panel of a row's scores, by default what lies in the tile's scores; it is called once for
    each vector, ``rest`` being the keys in a panel that is not whole. What it gives has to be stored there before the exponentials are
    computed. ``keep(power, line, panel, j)`` stores an exponential, by default in place of the score.
    """

    def __init__(self, state: AttentionState, score: Score | None = None, keep: Keep | None = None):
        self.state, self.at, self.vectors, self.tiles = state, state.at, state.vectors, range(state.tiles.vectors)
        self.score, self.keep = score or self._stored, keep or self._put

    def build(self, row: ir.Value, i: Size, together: int) -> None:
        """``together`` rows from row ``i`` of the tile on that begins at ``row``."""
        lines = [plus(i, r) for r in range(together)]
        shifts = self._shifts(row, lines)
        v = self.vectors

        def powers(panel: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            found = []
            for line, shift in zip(lines, shifts):
                for j in self.tiles:
                    power = marked(math.exp(arith.subf(self._stored(line, panel, j, None), shift)), WEIGHS)
                    self.keep(power, line, panel, j)
                    found.append(arith.addf(sums[len(found)], power))
            return found

        panels = rounded_up(self.at.keys, self.state.panel)
        sums = loop(0, panels, 1, powers, [v.splat(0)] * (together * len(self.tiles)))
        for r, line in enumerate(lines):
            total = v.reduce("add", joined(arith.addf, self._of_row(sums, r)))
            at = plus(line, row)
            if not self.state.single:
                total = math.fma(read(self.state.total, at), read(self.state.factor, line), total)
            write(total, self.state.total, at)

    def _shifts(self, row: ir.Value, lines: list[Size]) -> list[ir.Value]:
        """What the scores of each row are reduced by: the maximum so far. Earlier sums are to be scaled by the exponential of what it
        grew by."""
        v, state, shifts = self.vectors, self.state, []
        for r, tops in enumerate(self._tops(lines)):
            top = v.reduce("maxnumf", joined(arith.maxnumf, tops))
            at = plus(lines[r], row)
            before = None if state.single else read(state.top, at)
            if before is not None:
                top = arith.maxnumf(before, top)
                write(top, state.top, at)
            # of -inf alone, exponentials are 0 and their sum too, which makes the result NaN, as -inf - -inf would
            shift = arith.select(arith.cmpf(arith.CmpFPredicate.OEQ, top, v.number(-inf)), v.number(0), top)
            if before is not None:
                write(math.exp(arith.subf(before, shift)), state.factor, lines[r])
            shifts.append(v.spread(shift))
        return shifts

    def _tops(self, lines: list[Size]) -> list[list[ir.Value]]:
        """For each row vectors of which the greatest element is the row's."""
        def greatest(panel: ir.Value, tops: tuple[ir.Value, ...], rest: Size | None) -> list[ir.Value]:
            scores = [self.score(line, panel, j, rest) for line in lines for j in self.tiles]
            return [arith.maxnumf(score, top) for score, top in zip(scores, tops)]

        (full, rest), end = self.state.operands.panels(), rounded_up(self.at.keys, self.state.panel)
        if self.score == self._stored:
            full = end
        tops = [self.vectors.splat(-inf)] * (len(lines) * len(self.tiles))
        tops = loop(0, full, 1, lambda panel, *tops: greatest(panel, tops, None), tops)
        if full is not end and rest != 0:   # the last panel, where there is one that is not whole
            tops = loop(full, end, 1, lambda panel, *tops: greatest(panel, tops, rest), tops)
        return [self._of_row(tops, r) for r in range(len(lines))]

    def _of_row(self, values: list[ir.Value], r: int) -> list[ir.Value]:
        return values[r * len(self.tiles): (r + 1) * len(self.tiles)]

    def _place(self, panel: ir.Value, j: int) -> Size:
        return plus(times(panel, self.state.panel), j * self.vectors.lanes)

    def _stored(self, line: Size, panel: ir.Value, j: int, rest: Size | None) -> ir.Value:
        return self.vectors.load(self.state.s, line, self._place(panel, j))

    def _put(self, power: ir.Value, line: Size, panel: ir.Value, j: int) -> None:
        self.vectors.store(power, self.state.s, line, self._place(panel, j))
