"""Loops over the windows of channels-last images whose lanes are channels: what depthwise convolutions and pools share."""
from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

from legato.analysis.structured.kernel_ops import KernelOps
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir
from legato.core.vector_loops import Size, loop, plus, times
from legato.passes.cpu.elements import Buffers, Elements
from legato.passes.cpu.row_tiles import Positions
from legato.passes.cpu.window_loops import MOST_TAPS, WindowedForm, WindowLine, WindowLoops, WindowRow


class ChannelForm(WindowedForm, Protocol):
    """What these loops ask of a form besides."""

    kernel: KernelOps

    @property
    def channels(self) -> int:
        """The number of channels."""
        ...

    @property
    def result(self) -> ir.Value:
        """The result of the op over windows, of which elementwise ops make the kernel's."""
        ...

    @property
    def returned(self) -> ir.Value:
        """The kernel's result."""
        ...


class ChannelLoops(WindowLoops):
    """Builds the loops of one kernel at the insertion point. ``tiles``: of a row; ``units``: parts of the channels."""

    neutral: float = 0
    """What the elements of a window are combined with at first."""

    def __init__(self, form: ChannelForm, machine: CpuMachine, tiles: Sequence[Positions], buffers: Buffers, units: int = 1):
        super().__init__(form, machine, tiles, buffers, list(form.kernel.function.arguments)[-1], units)
        self.form: ChannelForm = form

    @abstractmethod
    def combine(self, value: ir.Value, factor: ir.Value | None, so_far: ir.Value) -> ir.Value:
        """A vector of elements with what was combined before. ``factor``: of the tap, None where taps have none."""

    def factor(self, line: WindowLine, tap: int, channel: Size, mask: ir.Value | None) -> ir.Value | None:
        """What a tap of a window's row is multiplied with, for a vector of channels of which a mask tells those that exist."""
        return None

    def build_row(self, row: WindowRow) -> None:
        """All tiles of a row, each through all channels of a unit."""
        lanes, channels = self.vectors.lanes, self.form.channels // self.units
        whole = channels - channels % lanes
        first = times(row.unit, channels)

        def through_channels(tile: Positions, start: Size) -> None:
            loop(first, plus(first, whole), lanes, lambda channel: self._tile(row, tile, start, channel, None))
            if whole < channels:
                self._tile(row, tile, start, whole, channels - whole)

        self.each_tile(row, through_channels)

    def _tile(self, row: WindowRow, tile: Positions, start: Size, channel: Size, count: int | None) -> None:
        """The positions from ``start`` on, for a vector of channels, of which ``count`` exist (None: all)."""
        v = self.vectors
        mask = None if count is None else v.mask(count)

        def window_row(line: WindowLine, *sums: ir.Value) -> list[ir.Value]:
            near, taps = self.near(line, tile, start), self.columns.taps
            factors = {tap: self.factor(line, tap, channel, mask) for tap in range(taps if taps <= MOST_TAPS else 0)}

            def factor_of(tap: int) -> ir.Value | None:
                """More factors than registers hold are loaded where they are used: neighbouring columns share most of theirs."""
                if tap in factors:
                    return factors[tap]
                found = self.factor(line, tap, channel, mask)
                if not tile.clipped:    # whose columns have branches of their own
                    factors[tap] = found
                return found

            def add(column: int, uses: Sequence[tuple[int, int]], found: list[ir.Value]) -> None:
                source, at = self.source_at(near, start, column, channel)
                value = v.load_if(mask, source, *at)
                for position, tap in uses:
                    found[position] = self.combine(value, factor_of(tap), found[position])

            return self.add_columns(tile, start, sums, add)

        sums = self.taps_of(row, [v.splat(self.neutral)] * tile.positions, window_row)
        for position, value in enumerate(sums):
            self._write(value, {**row.places, "w": plus(start, position), "f": channel}, count)

    def _write(self, value: ir.Value, places: dict[str | int, Size], count: int | None) -> None:
        """Writes a vector of the result, through the elementwise ops on it."""
        elements = Elements(self.form.kernel, self.buffers, self.vectors, places, "f", count, {self.form.result: value})
        result, at = elements.tensor(self.form.returned, self.form.terms), [places[term] for term in self.form.terms]
        self.vectors.store_if(None if count is None else self.vectors.mask(count), result, self.out, *at)
