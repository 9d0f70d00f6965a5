"""How the copy of an image lies in memory, of which products of pairs read the windows of a convolution."""
from __future__ import annotations

from dataclasses import dataclass

from legato.analysis.structured.grouped_convolution import ImageConvolutionForm
from legato.core.vector_loops import Size, plus, quotient, remainder, times
from legato.passes.cpu.matrices.packing import overlapping_column, overlapping_shape, read_shape


@dataclass(frozen=True)
class CopyGeometry:
    """The inputs of neighbouring positions of the result follow each other in the copy for each tap of the window, through all rows.

    ``taps``: of the window, whose inputs are read apart; ``run``: the elements of one, those of a column, or of all columns where channels
    are few; ``rows`` by ``columns``: of the result; ``step``, ``dilation``: between windows, and between taps; ``column``: the elements of
    one in a copy whose windows overlap, 0 where each position has its own.
    """

    taps: tuple[int, int]
    run: int
    rows: int
    columns: int
    step: tuple[int, int]
    dilation: tuple[int, int]
    column: int = 0

    @classmethod
    def of(cls, form: ImageConvolutionForm, overlapping: bool = False) -> CopyGeometry:
        """That of a convolution of images, whose sizes are known. ``overlapping``: whether windows of few channels may overlap."""
        given = form.filter_shape, form.dilations, form.groups
        height, width, run, _ = (overlapping_shape if overlapping else read_shape)(*given)
        rows, columns = form.result_shape[1:3]
        column = overlapping_column(*given) if overlapping else 0
        return cls((height, width), run, rows, columns, form.strides, form.dilations, column)

    @property
    def reach(self) -> tuple[int, int]:
        """Down and right, from the first tap to the last."""
        down, right = ((taps - 1) * dilation for taps, dilation in zip(self.taps, self.dilation))
        return down, right

    @property
    def phases(self) -> tuple[int, int]:
        """The copies down and across, one for each place in a step between windows."""
        down, right = (min(step, one + 1) for step, one in zip(self.step, self.reach))
        return down, right

    @property
    def pitch(self) -> int:
        """Positions of a copy in a row."""
        if self.column:
            return self.columns + max(0, -(-(self.run // self.column) // self.step[1]) - 1)
        return self.columns + self.reach[1] // self.step[1]

    @property
    def height(self) -> int:
        """Rows of a copy."""
        return self.rows + self.reach[0] // self.step[0]

    @property
    def positions(self) -> int:
        """Positions from the first of the result to the last, with those between two rows."""
        return (self.rows - 1) * self.pitch + self.columns

    def shifted(self, position: Size, i: Size, j: Size) -> tuple[Size, Size]:
        """Where the input of tap (i, j) lies, in its phase; and the phase."""
        down, right = times(i, self.dilation[0]), times(j, self.dilation[1])
        phase = plus(times(remainder(down, self.step[0]), self.phases[1]), remainder(right, self.step[1]))
        shift = plus(times(quotient(down, self.step[0]), self.pitch), quotient(right, self.step[1]))
        return plus(position, shift), phase
